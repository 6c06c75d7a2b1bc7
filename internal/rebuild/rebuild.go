package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/pipeline"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Log is what a rebuild needs of the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
	StoredBy(ctx context.Context, info eventlog.Info, moment time.Time) (uint64, error)
}

// Rebuild folds the log into tables that no other process writes. It holds no lease.
type Rebuild struct {
	Log      Log
	Store    *store.Store // of the tables' schema, prepared
	Rules    projections.Rules
	Logger   *slog.Logger
	Progress func(position, until uint64) // called now and then with the position; not nil
	Chunk    uint64                       // maximum of messages of one transaction; 0: as memory allows. Only tests set it
	Grace    time.Duration                // how long Run may continue after its context ends, to save what it has folded

	UpTo  identity.Positions                 // later messages are left out; nil: no message is left out
	Look  func(events.Message, events.Event) // called concurrently for each folded message; with Scratch once for each; may be nil
	Stage tables.Stage                       // the indexes of this stage are made at the end

	// Scratch is for tables that are compared and dropped: a refused event is an error, and no index
	// is made at the end.
	Scratch bool
	// More may be set only with Scratch. Run calls it once, after the messages up to until are folded. More returns the
	// new UpTo. Run also folds the messages up to there, in the open transaction if there is one.
	More func(context.Context) (identity.Positions, error)

	quarantine store.Quarantine
}

// Run folds the messages from the position of the tables up to until. After an error the tables are
// consistent at an earlier position. Another Run continues from there.
func (r *Rebuild) Run(ctx context.Context, until uint64) error {
	size := r.chunkSize()
	for {
		begin, err := r.run(ctx, until, size)
		var refused *store.RefusedError
		switch {
		case r.Scratch:
			return err
		case errors.Is(err, store.ErrFenced): // another rebuild, or the end of a killed one: continue from its position
			continue
		case !errors.As(err, &refused):
			return err
		case refused.Seq == 0 && size > 1:
			size = max(1, size/10) // until the refused event is found
			continue
		case refused.Seq == 0:
			refused.Seq = begin + 1
		}
		if len(r.Rules.Extras) > 0 { // rules without extras may fold it
			return fmt.Errorf("the event at seq %d cannot be folded with %s: %w", refused.Seq, strings.Join(r.Rules.Extras, ", "), refused.Cause)
		}
		if err := r.quarantine.Add(refused); err != nil {
			return err
		}
		size = r.chunkSize()
	}
}

// chunkSize returns how many events are folded in memory before they are committed. A killed
// rebuild repeats at most these: about ten seconds of work for a million.
func (r *Rebuild) chunkSize() uint64 { return cmp.Or(r.Chunk, uint64(chunkMemory()/eventMemory)) }

// decode leaves out the messages that the tables have, and those after UpTo. The mark of a message that the tables have
// (events.Lost) can be in a partition whose position is before it.
func (r *Rebuild) decode(ctx context.Context, at identity.Positions) pipeline.Decoder {
	return func(to []events.Event, m events.Message) ([]events.Event, error) {
		if m.Partition < 0 || m.Partition >= len(at) {
			return nil, fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(at))
		}
		if m.Seq <= at[m.Partition] || r.UpTo != nil && m.Seq > r.UpTo[m.Partition] {
			return to, nil
		}
		if m.Seq <= at.Highest() && m.Lost() {
			if known, err := store.Applied(ctx, r.Store.Pool(), []uint64{m.Seq}); len(known) > 0 || err != nil {
				return to, err
			}
		}
		event := providers.Decode(m)
		if r.Look != nil {
			r.Look(m, event)
		}
		return append(to, event), nil
	}
}

// run commits chunks of size messages and returns the position at which the last one
// began.
func (r *Rebuild) run(ctx context.Context, until, size uint64) (begin uint64, err error) {
	info, err := r.Log.Info(ctx)
	if err != nil {
		return 0, err
	}
	at, err := identity.Check(ctx, r.Log, r.Store, info)
	if err != nil {
		return 0, err
	}
	bulk, err := NewBulk(ctx, r.Store, r.Rules, until, maps.Clone(r.quarantine.Pending))
	if err != nil {
		return 0, err
	}
	defer bulk.Close()
	if !bulk.standAt(at) {
		return 0, store.ErrFenced
	}
	begun := max(at.Lowest(), info.First-1) // a log that was adopted does not begin at 1
	s := folded{bulk: bulk, begin: begun, end: begun}
	work, stop := WithGrace(ctx, r.Grace)
	defer stop()
	fold := func(until uint64) error {
		return r.foldUntil(ctx, work, &s, pipeline.Pipeline{Log: r.Log, From: s.end + 1, Until: until, MaxMessages: size, Decode: r.decode(ctx, at)})
	}
	if err = fold(until); err == nil && r.More != nil {
		err = r.foldMore(ctx, bulk, fold)
	}
	if err == nil || !r.Scratch { // what was folded before an error need not be folded again
		err = cmp.Or(err, r.save(work, &s))
	}
	if err == nil && !r.Scratch {
		err = bulk.Finish(ctx, r.Stage)
	}
	return s.begin, err
}

// foldMore folds the messages up to the positions that More returns.
func (r *Rebuild) foldMore(ctx context.Context, bulk *Bulk, fold func(until uint64) error) (err error) {
	if r.UpTo, err = r.More(ctx); err != nil {
		return err
	}
	if err := bulk.requarantine(ctx); err != nil {
		return err
	}
	return fold(r.UpTo.Highest())
}

// foldUntil folds all messages of the pipeline, and commits each full chunk. When ctx ends, no more
// messages are read. work is the context of folds and commits, which may continue for the grace
// period.
func (r *Rebuild) foldUntil(ctx, work context.Context, s *folded, all pipeline.Pipeline) error {
	r.Progress(min(s.end, all.Until), all.Until)
	return all.Run(ctx, func(some []*pipeline.Batch) func() error {
		batches := make([][]events.Event, len(some))
		for i, b := range some {
			batches[i] = b.Events
		}
		last := some[len(some)-1]
		ahead, err := s.bulk.ReadAhead(work, batches...)
		return func() error {
			if err != nil {
				return err
			}
			if err := s.fold(work, ahead, last); err != nil {
				return err
			}
			if s.end-s.begin >= all.MaxMessages || s.bulk.Full() {
				if err := r.save(work, s); err != nil {
					return err
				}
			}
			r.Progress(s.end, all.Until)
			return nil
		}
	})
}

// folded is the part of the log that was folded since the last commit.
type folded struct {
	bulk   *Bulk
	begin  uint64 // the position of the tables
	end    uint64 // the last message that was folded
	digest []byte // of that message
	failed error  // error of bulk, after which bulk cannot be used
}

// fold folds the events of ahead. last is their last batch.
func (s *folded) fold(ctx context.Context, ahead Ahead, last *pipeline.Batch) error {
	if s.failed = s.bulk.Fold(ctx, ahead); s.failed == nil {
		s.end, s.digest = last.Seq(), last.Digest
	}
	return s.failed
}

// save commits the chunk, if there is one, and begins the next.
func (r *Rebuild) save(ctx context.Context, s *folded) error {
	if s.failed != nil || s.end <= s.begin {
		return s.failed
	}
	if s.failed = s.bulk.Save(ctx, s.end, s.digest); s.failed != nil {
		return s.failed
	}
	s.begin = s.end
	for seq := range r.quarantine.Pending {
		if seq <= s.begin {
			r.quarantine.Committed(ctx, r.Logger, seq)
		}
	}
	return nil
}

// WithGrace returns a context that ends grace after ctx.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if grace == 0 {
		return ctx, func() {}
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return work, func() {
		stop()
		cancel()
	}
}
