package webhook

import (
	"container/heap"
	"time"
)

// The handler does not wait for slower senders. A body of 512 KiB may take 13 s.
const (
	defaultStallTimeout = 5 * time.Second // a lost packet is sent again within three seconds
	minRate             = 64 << 10        // bytes a second, once the timeout is used up
)

// progress has the deadline for a sender's next bytes. Every byte moves the deadline, but never
// further than timeout from now. So a sender gains nothing by sending much at once and then
// nothing.
type progress struct {
	timeout  time.Duration
	deadline time.Time
	verified bool // the sender signed an earlier delivery: it is evicted after all others
	index    int  // position in its queue, from 1; 0 while nothing waits for this sender
}

// slowerThan reports whether p is to be evicted before other.
func (p *progress) slowerThan(other *progress) bool {
	if p.verified != other.verified {
		return other.verified
	}
	return p.deadline.Before(other.deadline)
}

func (p *progress) begin(now time.Time) { p.deadline = now.Add(p.timeout) }

func (p *progress) received(n int, now time.Time) {
	p.deadline = p.deadline.Add(time.Duration(n) * time.Second / minRate)
	if latest := now.Add(p.timeout); p.deadline.After(latest) {
		p.deadline = latest
	}
}

func (p *progress) state() *progress { return p }

type sender interface{ state() *progress }

// queue holds the senders for whose bytes a reader waits, the slowest sender first. Its owner's
// lock guards it.
type queue[T sender] struct{ heap senders[T] }

func (q *queue[T]) add(x T)       { heap.Push(&q.heap, x) }
func (q *queue[T]) popSlowest() T { return heap.Pop(&q.heap).(T) }
func (q *queue[T]) slowest() T    { return q.heap[0] }
func (q *queue[T]) len() int      { return len(q.heap) }

// remove does nothing if x is not in the queue.
func (q *queue[T]) remove(x T) {
	if index := x.state().index; index > 0 {
		heap.Remove(&q.heap, index-1)
	}
}

// senders implements heap.Interface.
type senders[T sender] []T

func (s senders[T]) Len() int           { return len(s) }
func (s senders[T]) Less(i, j int) bool { return s[i].state().slowerThan(s[j].state()) }

func (s senders[T]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].state().index, s[j].state().index = i+1, j+1
}

func (s *senders[T]) Push(x any) {
	*s = append(*s, x.(T))
	x.(T).state().index = len(*s)
}

func (s *senders[T]) Pop() any {
	var none T
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last], *s = none, (*s)[:last]
	x.state().index = 0
	return x
}
