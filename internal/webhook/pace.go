package webhook

import (
	"container/heap"
	"time"
)

// Whoever sends slower than this is not waited for: a body of 512 KiB may take 13 s.
const (
	defaultPatience = 5 * time.Second // a lost packet is sent again within three
	minRate         = 64 << 10        // bytes a second, once patience is used up
)

// wait is how long a sender is waited for. Every byte makes it longer, up to its patience
// from now: to send a lot and then nothing does not help.
type wait struct {
	patience time.Duration
	due      time.Time
	verified bool // the sender, by an earlier delivery: it goes after all others
	place    int  // in its queue, from 1; 0: nobody waits for this sender now
}

func (w *wait) before(other *wait) bool {
	if w.verified != other.verified {
		return other.verified
	}
	return w.due.Before(other.due)
}

func (w *wait) begin(now time.Time) { w.due = now.Add(w.patience) }

func (w *wait) received(n int, now time.Time) {
	w.due = w.due.Add(time.Duration(n) * time.Second / minRate)
	if latest := now.Add(w.patience); w.due.After(latest) {
		w.due = latest
	}
}

func (w *wait) waiting() *wait { return w }

// queue has those whose senders are waited for; the one that is due first, which made the
// least progress longest ago, comes first. Its owner guards it.
type queue[T interface{ waiting() *wait }] struct{ heap waits[T] }

func (q *queue[T]) add(x T)  { heap.Push(&q.heap, x) }
func (q *queue[T]) next() T  { return heap.Pop(&q.heap).(T) }
func (q *queue[T]) len() int { return len(q.heap) }

// remove does nothing where x is not in the queue.
func (q *queue[T]) remove(x T) {
	if place := x.waiting().place; place > 0 {
		heap.Remove(&q.heap, place-1)
	}
}

// waits implements heap.Interface.
type waits[T interface{ waiting() *wait }] []T

func (w waits[T]) Len() int           { return len(w) }
func (w waits[T]) Less(i, j int) bool { return w[i].waiting().before(w[j].waiting()) }

func (w waits[T]) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].waiting().place, w[j].waiting().place = i+1, j+1
}

func (w *waits[T]) Push(x any) {
	*w = append(*w, x.(T))
	x.(T).waiting().place = len(*w)
}

func (w *waits[T]) Pop() any {
	var none T
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last], *w = none, (*w)[:last]
	x.waiting().place = 0
	return x
}
