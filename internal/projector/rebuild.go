package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

// Rebuild folds the log into tables that nobody else writes. It holds no lease.
type Rebuild struct {
	Log      log
	Store    *store.Store // of the tables' schema, prepared
	Rules    projections.Rules
	Logger   *slog.Logger
	Progress func(position, until uint64) // called now and then with what is folded
	Stretch  uint64                       // how many messages are committed at once, if memory allows; 0: as many as are quickest

	upto     positions            // what lies beyond is left out; nil: nothing does
	look     func(events.Message) // called once with every message, by several at a time; may be nil
	scratch  bool                 // the tables are to be compared and dropped: no poison is recorded, no late index made
	poisoned poisoned
}

// stretchEvents is how much of the log is folded in memory before it is committed,
// and what a rebuild that is killed does again: about ten seconds of work.
const stretchEvents = 1_000_000

// Run goes on from where the tables stand up to that message of the log. After
// an error they stand at some message before it, whole, and Run goes on there.
func (r *Rebuild) Run(ctx context.Context, until uint64) error {
	size := r.stretch()
	for {
		begin, err := r.run(ctx, until, size)
		var refused *store.RefusedError
		switch {
		case r.scratch:
			return err
		case errors.Is(err, store.ErrFenced): // another rebuild, or the end of a killed one: on from where that left off
			continue
		case !errors.As(err, &refused):
			return err
		case refused.Seq == 0 && size > 1:
			size = max(1, size/10) // until it is found which event is refused
			continue
		case refused.Seq == 0:
			refused.Seq = begin + 1
		}
		if len(r.Rules.Extras) > 0 { // others may well fold it
			return fmt.Errorf("the event at seq %d cannot be folded with %s: %w", refused.Seq, strings.Join(r.Rules.Extras, ", "), refused.Cause)
		}
		if err := r.poisoned.add(refused); err != nil {
			return err
		}
		size = r.stretch()
	}
}

func (r *Rebuild) stretch() uint64 { return cmp.Or(r.Stretch, stretchEvents) }

// choose looks at a message and says whether it is to be folded.
func (r *Rebuild) choose(at positions) func(m events.Message) (bool, error) {
	return func(m events.Message) (bool, error) {
		if m.Partition < 0 || m.Partition >= len(at) {
			return false, fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(at))
		}
		if m.Seq <= at[m.Partition] || r.upto != nil && m.Seq > r.upto[m.Partition] {
			return false, nil
		}
		if r.look != nil {
			r.look(m)
		}
		return true, nil
	}
}

// run commits stretch after stretch of that many messages and returns where the
// last one began.
func (r *Rebuild) run(ctx context.Context, until, size uint64) (begin uint64, err error) {
	info, err := r.Log.Info(ctx)
	if err != nil {
		return 0, err
	}
	at, err := checkIdentity(ctx, r.Log, r.Store, info)
	if err != nil {
		return 0, err
	}
	bulk, err := r.Store.NewBulk(ctx, r.Rules, until, maps.Clone(r.poisoned.refused))
	if err != nil {
		return 0, err
	}
	defer bulk.Close()
	if !bulk.StandAt(at) {
		return 0, store.ErrFenced
	}
	begin = max(at.least(), info.First-1) // a log that was adopted begins late
	r.Progress(min(begin, until), until)
	err = decodeAll(ctx, r.Log, begin+1, until, size, r.choose(at), func(d decoded) error {
		if err := bulk.Fold(ctx, d.events); err != nil {
			return err
		}
		if d.seq-begin >= size || d.seq == until || bulk.Full() {
			if err := bulk.Save(ctx, d.seq, d.digest); err != nil {
				return err
			}
			begin = d.seq
			for seq := range r.poisoned.refused {
				if seq <= d.seq {
					r.poisoned.folded(ctx, r.Logger, seq)
				}
			}
		}
		r.Progress(d.seq, until)
		return nil
	})
	if err == nil && !r.scratch {
		err = bulk.Finish(ctx)
	}
	return begin, err
}
