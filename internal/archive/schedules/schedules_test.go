// Package schedules_test runs the real archivers and trimmers of one log in orders that seeds decide: a scheduler lets one of
// them take the next step that the others can see, or lets it fail, kills it, or cuts the power.
package schedules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/schedule"
)

const (
	logID = "log-1"
	file  = 3 // so many messages are in a file of the log, which removes whole ones
)

// world is a log, its archive and the processes that work on them. Only the scheduler changes it while a step is taken.
type world struct {
	*schedule.Scheduler
	t    testing.TB
	disk *disk

	records []archive.Record // of the log from its beginning
	first   uint64           // the oldest message that the log has
	broken  error            // what a trim has found
}

// start starts an ingest, an archiver and a trimmer of the log, that sees the world as it is.
func (w *world) start() {
	w.Start(func(p *schedule.Process) []func(context.Context) {
		quiet := slog.New(slog.DiscardHandler)
		turnOf := func(who string) turn { // the steps of both have other names, so that the order of a seed is always the same
			return func(ctx context.Context, step string, do func(schedule.Fault) error) error {
				return p.Take(ctx, who+" "+step, do)
			}
		}
		archives, trims := turnOf("archiver"), turnOf("trimmer")
		archiver := archive.NewArchiver(archive.Config{
			Place: &place{w.disk, archives}, Source: source{w, archives}, Interval: time.Second, Logger: quiet,
			// Random parts of a wait do not matter: the wait is short.
			SegmentBytes: 4000, FrameBytes: 300, PollInterval: time.Second, MinWait: time.Nanosecond,
		})
		trimmer := archive.NewTrimmer(archive.TrimConfig{
			Place: &place{w.disk, trims}, Log: source{w, trims}, Keep: archive.Keep{Messages: 4}, Interval: 3 * time.Second, Logger: quiet,
		})
		return []func(context.Context){
			func(ctx context.Context) { _ = archiver.Run(ctx) },
			func(ctx context.Context) { _ = trimmer.Run(ctx) },
		}
	})
}

// deliver appends messages to the log.
func (w *world) deliver(count int) {
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
		switch {
		case !w.Calm && w.Coin(0.1):
			w.disturb()
		case !w.Step():
			time.Sleep(100 * time.Millisecond) // until a timer of a process ends
		}
	}
	w.Do(func() { require.NoError(w.t, w.broken) })
}

// disturb delivers, lets time pass, kills a process, or cuts the power.
func (w *world) disturb() {
	switch what := w.Random.IntN(20); {
	case what < 10:
		w.Do(func() { w.deliver(1 + w.Random.IntN(4)) })
	case what < 15:
		time.Sleep(time.Duration(w.Random.IntN(5)) * time.Second)
	case what < 19:
		alive := w.Alive()
		w.Kill(alive[w.Random.IntN(len(alive))])
		w.start()
	default:
		w.Note("power cut")
		w.KillAll()
		w.disk.cutPower(func() bool { return w.Coin(0.5) })
		require.NoError(w.t, w.archived(w.disk, w.first-1))
		w.start()
		w.start()
	}
}

// source is the log as a process sees it.
type source struct {
	*world
	turn turn
}

var errForgotten = errors.New("the log does not have it any more")

// Head implements archive.Source.
func (s source) Head(ctx context.Context) (head archive.Head, err error) {
	err = s.turn(ctx, "head", func(schedule.Fault) error {
		head = archive.Head{LogID: logID, Partitions: 4, Begin: 1, First: s.first, Last: s.last(), Bytes: s.last() * 200, Trimmable: true}
		return nil
	})
	return head, err
}

// ReadRecords implements archive.Source.
func (s source) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	var records []archive.Record
	err := s.turn(ctx, fmt.Sprintf("read %d to %d", from, until), func(schedule.Fault) error {
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
	err = s.turn(ctx, "trim point", func(schedule.Fault) error {
		point = max(s.first, seq-seq%file)
		return nil
	})
	return point, err
}

// Trim implements archive.Log. What goes must be in the archive, also if the power is cut now.
func (s source) Trim(ctx context.Context, seq uint64) (first uint64, err error) {
	err = s.turn(ctx, fmt.Sprintf("trim to %d", seq), func(schedule.Fault) error {
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
	return &place{disk: d, turn: func(_ context.Context, _ string, do func(schedule.Fault) error) error { return do(schedule.None) }}
}

// withTime returns a record whose time has the location of those of the log.
func withTime(r archive.Record) archive.Record {
	r.StoredAt = time.Unix(0, r.StoredAt.UnixNano())
	return r
}

// finish lets everything go well until the archive has the whole log, and ends all processes.
func (w *world) finish() {
	w.Calm = true
	w.Do(func() { w.deliver(1) })
	for tries := 0; ; tries++ {
		w.run(100)
		var have *archive.Archive
		w.Do(func() {
			var err error
			have, err = archive.Open(context.Background(), alone(w.disk), logID)
			require.NoError(w.t, err)
		})
		if have.Last() == w.last() && len(have.Faults()) == 0 {
			break
		}
		require.Less(w.t, tries, 1000, "the archive does not get whole: it ends with %d of %d, %v", have.Last(), w.last(), have.Faults())
	}
	w.KillAll()
	require.NoError(w.t, w.archived(w.disk, w.last()))
}

func TestNoScheduleLosesAMessage(t *testing.T) {
	t.Parallel()
	var trimmed atomic.Int64
	schedule.Run(t, 100, func(t *testing.T, s *schedule.Scheduler) {
		w := &world{Scheduler: s, t: t, disk: newDisk(), first: 1}
		w.deliver(3)
		w.start()
		w.start()
		w.run(100 + w.Random.IntN(400))
		w.finish()
		trimmed.Add(int64(w.first - 1))
	})
	require.Positive(t, trimmed.Load(), "no schedule trimmed anything")
}
