// Package schedules_test runs the real archivers and trimmers of one log in orders that seeds decide: a scheduler lets one of
// them take the next step that the others can see, or lets it fail, kills it, or cuts the power.
package schedules_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
)

const (
	logID = "log-1"
	file  = 3 // so many messages are in a file of the log, which removes whole ones
)

// world is a log, its archive and the processes that work on them. Only the scheduler changes it while a step is taken.
type world struct {
	t      testing.TB
	random *rand.Rand
	disk   *disk
	calm   bool // nothing fails any more

	records []archive.Record // of the log from its beginning
	first   uint64           // the oldest message that the log has

	broken    error // what a trim has found
	mu        sync.Mutex
	waiting   []*request
	processes []*process
	history   []string
}

type request struct {
	by     *process
	step   string
	answer chan fault
}

// process is an ingest: an archiver, and a trimmer of the log.
type process struct {
	name   int
	killed bool
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), disk: newDisk(), first: 1}
}

// take waits until the scheduler lets a process take a step, which do does.
func (w *world) take(ctx context.Context, by *process, step string, do func(fault) error) error {
	asked := &request{by: by, step: step, answer: make(chan fault, 1)}
	w.mu.Lock()
	w.waiting = append(w.waiting, asked)
	w.mu.Unlock()
	select {
	case got := <-asked.answer:
		w.mu.Lock()
		defer w.mu.Unlock()
		return do(got)
	case <-ctx.Done():
		w.mu.Lock()
		w.waiting = slices.DeleteFunc(w.waiting, func(one *request) bool { return one == asked })
		w.mu.Unlock()
		return ctx.Err()
	}
}

// start starts a process that sees the world as it is.
func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{name: len(w.processes), cancel: cancel}
	w.processes = append(w.processes, p)
	at := &place{disk: w.disk, turn: func(ctx context.Context, step string, do func(fault) error) error { return w.take(ctx, p, step, do) }}
	quiet := slog.New(slog.DiscardHandler)
	archiver := archive.NewArchiver(archive.Config{
		Place: at, Source: source{w, p}, Interval: time.Second, Logger: quiet, Registerer: prometheus.NewRegistry(),
		SegmentBytes: 4000, FrameBytes: 300, PollInterval: time.Second, MinWait: time.Second,
	})
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: at, Log: source{w, p}, Keep: archive.Keep{Messages: 4}, Interval: 3 * time.Second, Logger: quiet, Registerer: prometheus.NewRegistry(),
	})
	p.ended.Go(func() { _ = archiver.Run(ctx) })
	p.ended.Go(func() { _ = trimmer.Run(ctx) })
}

// kill ends a process before it takes another step.
func (w *world) kill(p *process) {
	p.killed = true
	p.cancel()
	p.ended.Wait()
}

// deliver appends messages to the log.
func (w *world) deliver(count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range count {
		seq := uint64(len(w.records) + 1)
		w.records = append(w.records, archive.Record{
			Seq: seq, Partition: int(seq % 4), StoredAt: time.Unix(0, time.Now().UnixNano()), Header: []events.Header{{Name: "Nats-Msg-Id", Value: fmt.Sprint("evt_", seq)}},
			Body: bytes.Repeat([]byte{byte('a' + seq%26)}, 20+int(seq*37%400)),
		})
	}
}

func (w *world) last() uint64 { return uint64(len(w.records)) }

// run takes that many random steps.
func (w *world) run(steps int) {
	for range steps {
		synctest.Wait()
		w.mu.Lock()
		waiting, broken := slices.Clone(w.waiting), w.broken
		w.mu.Unlock()
		require.NoError(w.t, broken)
		switch {
		case len(waiting) == 0:
			time.Sleep(100 * time.Millisecond) // until a timer of a process ends
		case w.calm || coin(w.random, 0.9):
			w.letTakeAStep(waiting)
		default:
			w.disturb()
		}
	}
}

func (w *world) letTakeAStep(waiting []*request) {
	slices.SortFunc(waiting, func(a, b *request) int { // they asked in any order
		return cmp.Or(cmp.Compare(a.by.name, b.by.name), cmp.Compare(a.step, b.step))
	})
	one, goesWrong := waiting[w.random.IntN(len(waiting))], none
	if !w.calm && coin(w.random, 0.03) {
		goesWrong = fault(1 + w.random.IntN(2))
	}
	w.mu.Lock()
	w.waiting = slices.DeleteFunc(w.waiting, func(other *request) bool { return other == one })
	w.mu.Unlock()
	w.note("%d: %s, fault %d", one.by.name, one.step, goesWrong)
	one.answer <- goesWrong
}

// disturb delivers, lets time pass, kills a process, or cuts the power.
func (w *world) disturb() {
	switch what := w.random.IntN(20); {
	case what < 10:
		w.deliver(1 + w.random.IntN(4))
	case what < 15:
		time.Sleep(time.Duration(w.random.IntN(5)) * time.Second)
	case what < 19:
		p := w.processes[w.random.IntN(len(w.processes))]
		if !p.killed {
			w.note("kill %d", p.name)
			w.kill(p)
			w.start()
		}
	default:
		w.note("power cut")
		w.end()
		w.disk.cutPower(func() bool { return coin(w.random, 0.5) })
		require.NoError(w.t, w.archived(w.disk, w.first-1))
		w.start()
		w.start()
	}
}

func (w *world) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf(format, args...))
}

// source is the log as a process sees it.
type source struct {
	*world
	by *process
}

var errForgotten = errors.New("the log does not have it any more")

// Head implements archive.Source.
func (s source) Head(ctx context.Context) (head archive.Head, err error) {
	err = s.take(ctx, s.by, "head", func(fault) error {
		head = archive.Head{LogID: logID, Partitions: 4, Begin: 1, First: s.first, Last: s.last(), Bytes: s.last() * 200, Trimmable: true}
		return nil
	})
	return head, err
}

// ReadRecords implements archive.Source.
func (s source) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	var records []archive.Record
	err := s.take(ctx, s.by, fmt.Sprintf("read %d to %d", from, until), func(fault) error {
		if from < s.first {
			return errForgotten
		}
		records = s.records[from-1 : until]
		return nil
	})
	for _, r := range records {
		if err := deliver(r); err != nil {
			return err
		}
	}
	return err
}

// TrimPoint implements archive.Log.
func (s source) TrimPoint(ctx context.Context, seq uint64) (point uint64, err error) {
	err = s.take(ctx, s.by, "trim point", func(fault) error {
		point = max(s.first, seq-seq%file)
		return nil
	})
	return point, err
}

// Trim implements archive.Log. What goes must be in the archive, also if the power is cut now.
func (s source) Trim(ctx context.Context, seq uint64) (first uint64, err error) {
	err = s.take(ctx, s.by, fmt.Sprintf("trim to %d", seq), func(fault) error {
		s.first = max(s.first, seq-seq%file)
		s.broken = errors.Join(s.broken, s.archived(s.disk.worst(), s.first-1))
		first = s.first
		return nil
	})
	return first, err
}

// archived says whether a disk has the messages up to last, byte by byte.
func (w *world) archived(left *disk, last uint64) error {
	have, err := archive.Open(context.Background(), alone(left), logID)
	if err != nil || last == 0 {
		return err
	}
	next := uint64(1)
	err = have.Read(context.Background(), 1, last, func(r archive.Record) error {
		if want := w.records[next-1]; !reflect.DeepEqual(want, withTime(r)) {
			return fmt.Errorf("%+v is archived as %+v", want, r)
		}
		next++
		return nil
	})
	if err != nil {
		err = fmt.Errorf("the archive has not all up to %d: %w; it has %v", last, err, slices.Sorted(maps.Keys(left.objects)))
	}
	return err
}

// alone is a disk on which nobody else works.
func alone(d *disk) *place {
	return &place{disk: d, turn: func(_ context.Context, _ string, do func(fault) error) error { return do(none) }}
}

// withTime returns a record whose time has the location of those of the log.
func withTime(r archive.Record) archive.Record {
	r.StoredAt = time.Unix(0, r.StoredAt.UnixNano())
	return r
}

// finish lets everything go well until the archive has the whole log, and ends all processes.
func (w *world) finish() {
	w.calm = true
	w.deliver(1)
	for tries := 0; ; tries++ {
		w.run(100)
		synctest.Wait()
		w.mu.Lock()
		have, err := archive.Open(context.Background(), alone(w.disk), logID)
		w.mu.Unlock()
		require.NoError(w.t, err)
		if have.Last() == w.last() && len(have.Faults()) == 0 {
			break
		}
		require.Less(w.t, tries, 1000, "the archive does not get whole: it ends with %d of %d, %v", have.Last(), w.last(), have.Faults())
	}
	w.end()
	require.NoError(w.t, w.archived(w.disk, w.last()))
}

// end ends all processes.
func (w *world) end() {
	for _, p := range w.processes {
		if !p.killed {
			w.kill(p)
		}
	}
}

// TestNoScheduleLosesAMessage runs SCHEDULES seeds from SCHEDULE_SEED on; by default 100 of the time. The log of a failure ends
// with the steps that were taken.
func TestNoScheduleLosesAMessage(t *testing.T) {
	count := testenv.Number(t, "SCHEDULES", 100)
	from := testenv.Number(t, "SCHEDULE_SEED", int(time.Now().UnixNano()>>20))
	steps, trimmed := 0, 0
	synctest.Test(t, func(t *testing.T) {
		for seed := range count {
			w := newWorld(t, uint64(from+seed))
			func() {
				defer w.end()
				defer func() {
					if t.Failed() {
						for _, step := range w.history {
							t.Log(step)
						}
						t.Logf("SCHEDULES=1 SCHEDULE_SEED=%d", from+seed)
					}
				}()
				w.deliver(3)
				w.start()
				w.start()
				w.run(100 + w.random.IntN(400))
				w.finish()
			}()
			steps += len(w.history)
			trimmed += int(w.first - 1)
		}
	})
	require.Positive(t, trimmed, "no schedule trimmed anything")
	t.Logf("SCHEDULES=%d SCHEDULE_SEED=%d: %d steps, %d messages trimmed", count, from, steps, trimmed)
}
