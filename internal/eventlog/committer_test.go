package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// script is a server and a disk that do what the test says, when it says it.
type script struct {
	refuse  error // of the next publish
	answers []*answer
	flushed chan error // ends the flush under way
	busy    bool       // a flush is under way
}

// answer is the server's answer to one message.
type answer struct {
	ok     chan *jetstream.PubAck
	failed chan error
}

func (a *answer) Ok() <-chan *jetstream.PubAck { return a.ok }
func (a *answer) Err() <-chan error            { return a.failed }
func (a *answer) Msg() *nats.Msg               { return nil }

// stored makes the server say that it has the message. Nobody may wait for it any more.
func (a *answer) stored(seq uint64, duplicate bool) {
	a.ok <- &jetstream.PubAck{Stream: "PAYMENTS", Sequence: seq, Duplicate: duplicate}
}

func (s *script) PublishMsgAsync(*nats.Msg, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	if err := s.refuse; err != nil {
		return nil, err
	}
	a := &answer{make(chan *jetstream.PubAck, 1), make(chan error, 1)}
	s.answers = append(s.answers, a)
	return a, nil
}

func (s *script) flush(uint64) error {
	s.busy = true
	defer func() { s.busy = false }()
	return <-s.flushed
}

// delivery is what the model knows of one append.
type delivery struct {
	answer *answer
	cancel context.CancelFunc
	ended  chan struct{}
	got    string // what append returned

	place place
	want  string // what it must have returned, in place ended
	ack   string // what it returns after the flush
}

type place int

const (
	published place = iota // the server has not answered
	waiting                // for a flush that begins after the answer
	flushing               // by a flush that began after the answer
	ended
)

// model says, step by step, what each delivery must have been told.
type model struct {
	script     *script
	committer  *committer
	deliveries []*delivery
	busy       bool   // a flush is under way
	failed     string // what every delivery is told from now on
}

var errDisk, errServer, errSend = errors.New("disk"), errors.New("server"), errors.New("send")

const confirmed, confirmedDuplicate = "stored", "duplicate"

func (m *model) append(refuse bool) {
	d := &delivery{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	if m.script.refuse = nil; refuse {
		m.script.refuse = errSend
	}
	before := len(m.script.answers)
	go func() {
		defer close(d.ended)
		duplicate, err := m.committer.append(ctx, &nats.Msg{})
		d.got = outcome(duplicate, err)
	}()
	synctest.Wait()
	switch {
	case m.failed != "":
		d.place, d.want = ended, m.failed
	case refuse:
		d.place, d.want = ended, refused(errSend).Error()
	default:
		d.answer = m.script.answers[before]
	}
	m.deliveries = append(m.deliveries, d)
}

func outcome(duplicate bool, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case duplicate:
		return confirmedDuplicate
	}
	return confirmed
}

// some picks a delivery in that place, if there is one.
func (m *model) some(pick int, in ...place) *delivery {
	var found []*delivery
	for _, d := range m.deliveries {
		for _, p := range in {
			if d.place == p && d.answer != nil {
				found = append(found, d)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[pick%len(found)]
}

func (m *model) move(from, to place, want func(*delivery) string) {
	for _, d := range m.deliveries {
		if d.place == from {
			d.place = to
			if to == ended {
				d.want = want(d)
			}
		}
	}
}

func (m *model) step(op, pick int) {
	switch op {
	case 0, 1, 2:
		m.append(false)
	case 3:
		m.append(true)
	case 4, 5, 6: // the server answers
		if d := m.some(pick, published); d != nil {
			d.place, d.ack = waiting, confirmed
			if op == 6 {
				d.ack = confirmedDuplicate
			}
			d.answer.stored(uint64(1+pick), op == 6)
		}
	case 7:
		if d := m.some(pick, published); d != nil {
			d.place, d.want = ended, refused(errServer).Error()
			d.answer.failed <- errServer
		}
	case 8, 9: // the flush ends
		if m.busy {
			m.busy = false
			m.move(flushing, ended, func(d *delivery) string { return d.ack })
			m.script.flushed <- nil
		}
	case 10:
		if m.busy {
			m.busy = false
			m.end(fmt.Errorf("%w: %w", errFailed, errDisk).Error())
			m.script.flushed <- errDisk
		}
	case 11:
		if d := m.some(pick, published, waiting, flushing); d != nil {
			d.place, d.want = ended, context.Canceled.Error()
			d.cancel()
		}
	}
	synctest.Wait()
	if m.script.busy && !m.busy {
		m.busy = true
		m.move(waiting, flushing, nil)
	}
}

func (m *model) end(reason string) {
	m.failed = reason
	for _, p := range []place{published, waiting, flushing} {
		m.move(p, ended, func(*delivery) string { return reason })
	}
}

// check compares what each delivery was told with what it must have been told.
func (m *model) check() error {
	for i, d := range m.deliveries {
		select {
		case <-d.ended:
			if d.place != ended || d.got != d.want {
				return fmt.Errorf("delivery %d was told %q, must be told %q (place %d)", i, d.got, d.want, d.place)
			}
		default:
			if d.place == ended {
				return fmt.Errorf("delivery %d was told nothing, must be told %q", i, d.want)
			}
			if d.place == waiting && !m.busy && m.failed == "" {
				return fmt.Errorf("delivery %d waits, and no flush is under way", i)
			}
		}
	}
	return nil
}

// Whatever the server and the disk do, and in any order, each delivery is told its own
// result. It is told that it is stored only after a successful flush that began after the
// server's answer.
func TestEachDeliveryIsToldItsOwnResultAfterItsFlush(t *testing.T) {
	t.Parallel()
	type step struct{ Op, Pick int }
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, 11).Draw(t, "op"), rapid.IntRange(0, 20).Draw(t, "pick")}
	}), 1, 60)
	rapid.Check(t, func(rt *rapid.T) {
		plan := steps.Draw(rt, "steps")
		var fault error
		synctest.Test(t, func(*testing.T) {
			s := &script{flushed: make(chan error)}
			m := &model{script: s, committer: newCommitter(s, s.flush)}
			for i, step := range plan {
				if m.step(step.Op, step.Pick); fault == nil {
					if fault = m.check(); fault != nil {
						fault = fmt.Errorf("after step %d: %w", i, fault)
					}
				}
			}
			// At the end a flush under way succeeds. All other deliveries are told that the log is closed.
			if m.busy {
				close(s.flushed)
			}
			m.committer.close()
			for _, d := range m.deliveries {
				<-d.ended
				d.cancel()
			}
		})
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

func TestAReaderIsToldWhatIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{flushed: make(chan error)}
		c := newCommitter(s, s.flush)
		defer c.close()
		c.begin(7)
		durable, err := c.confirm(t.Context(), 7)
		require.NoError(t, err)
		require.EqualValues(t, 7, durable, "what was there at the start needs no flush")

		go func() { _, _ = c.append(t.Context(), &nats.Msg{}) }()
		synctest.Wait()
		s.answers[0].stored(8, false)
		synctest.Wait() // its flush is under way
		asked := make(chan uint64)
		go func() {
			durable, _ := c.confirm(t.Context(), 8)
			asked <- durable
		}()
		synctest.Wait()
		require.True(t, s.busy)
		s.flushed <- nil
		require.EqualValues(t, 8, <-asked, "the flush under way covers it, since its answer came before")
		synctest.Wait()
		require.False(t, s.busy)

		go func() { // the server delivers a message to readers before its answer arrives here
			durable, _ := c.confirm(t.Context(), 9)
			asked <- durable
		}()
		synctest.Wait()
		require.True(t, s.busy)
		s.flushed <- nil
		require.EqualValues(t, 9, <-asked)

		go func() { _, err := c.confirm(t.Context(), 10); require.ErrorIs(t, err, errDisk); close(asked) }()
		synctest.Wait()
		s.flushed <- errDisk
		<-asked
		_, err = c.confirm(t.Context(), 7)
		require.ErrorIs(t, err, errDisk)
	})
}

// What the server has answered during a flush is durable after the next one.
func TestAReaderIsNotToldOfWhatCameDuringAFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{flushed: make(chan error)}
		c := newCommitter(s, s.flush)
		defer c.close()
		var ended sync.WaitGroup
		for range 2 {
			ended.Go(func() { _, _ = c.append(t.Context(), &nats.Msg{}) })
			synctest.Wait()
		}
		s.answers[0].stored(1, false)
		synctest.Wait() // its flush is under way
		s.answers[1].stored(2, false)
		asked := make(chan uint64, 2)
		ask := func() {
			durable, _ := c.confirm(t.Context(), 2)
			asked <- durable
		}
		ended.Go(ask)
		synctest.Wait()
		s.flushed <- nil
		synctest.Wait()
		ended.Go(ask)
		synctest.Wait()
		require.Empty(t, asked)
		s.flushed <- nil
		ended.Wait()
		require.EqualValues(t, 2, <-asked)
		require.EqualValues(t, 2, <-asked)
	})
}

// Deliveries that gave up must not take memory until a disk that hangs is back.
func TestAFlushThatHangsKeepsNothingOfDeliveriesThatGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{flushed: make(chan error)}
		c := newCommitter(s, s.flush)
		var ended sync.WaitGroup
		start := func(ctx context.Context) {
			ended.Go(func() { _, _ = c.append(ctx, &nats.Msg{}) })
			synctest.Wait()
		}
		for i := range 10 { // the first one is in the flush that hangs
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start(ctx)
			s.answers[i].stored(uint64(i+1), false)
			synctest.Wait()
			require.True(t, s.busy)
			ended.Wait()
			require.Empty(t, c.waiting)
			cancel()
		}
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := c.confirm(ctx, 100)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Empty(t, c.waiting, "readers' questions neither")
			cancel()
		}

		start(t.Context())
		s.answers[10].stored(11, false)
		s.flushed <- nil
		synctest.Wait()
		require.True(t, s.busy, "for the delivery that waits")
		s.flushed <- nil
		ended.Wait()
		durable, err := c.confirm(t.Context(), 11)
		require.NoError(t, err)
		require.EqualValues(t, 11, durable)
		c.close()
	})
}
