package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	Progress func(position, until uint64) // called now and then, one call at a time; see progress; not nil
	Batch    uint64                       // maximum of messages of one transaction, in tables that have rows; 0: the usual

	UpTo  identity.Positions                 // later messages are left out; nil: no message is left out
	Look  func(events.Message, events.Event) // called concurrently for each folded message; with Scratch once for each; may be nil
	Stage tables.Stage                       // the indexes of this stage are made at the end

	// Scratch is for tables that are compared and dropped: a refused event is an error, and no index
	// is made at the end.
	Scratch bool

	quarantine store.Quarantine
	memory     int    // see usualMemory; 0: the usual. Only tests set it
	bucket     uint64 // events of a bucket; 0: the usual. Only tests set it
}

// usualBatch is how many messages one transaction has in tables that have rows.
const usualBatch = 1000

// Run folds the messages from the position of the tables up to until. Empty tables are filled in one go: if that fails,
// they are empty as before. Other tables are consistent at a later position after an error, and another Run continues
// from there. If the database refuses rows, they are applied in ever smaller transactions, as a projector does it, until
// the event is found and quarantined.
func (r *Rebuild) Run(ctx context.Context, until uint64) error {
	usual := cmp.Or(r.Batch, usualBatch)
	size, fills := usual, true
	for {
		err := r.run(ctx, until, size, fills)
		var refused *store.RefusedError
		switch {
		case r.Scratch:
			return err
		case errors.Is(err, store.ErrFenced): // another rebuild, or the end of a killed one: continue from its position
		case errors.Is(err, errQuarantined):
			size = usual
		case !errors.As(err, &refused):
			return err
		case len(r.Rules.Extras) > 0: // rules without extras may fold it
			return fmt.Errorf("%s cannot be folded with %s: %w", nameOf(refused), strings.Join(r.Rules.Extras, ", "), refused.Cause)
		case fills:
			r.Logger.WarnContext(ctx, "the database refuses rows; the events are applied as a projector does it, which takes longer", "error", refused.Cause)
			fills = false
		case size > 1:
			size = max(1, size/10)
		default:
			return err
		}
	}
}

// errQuarantined means that an event was quarantined, and the tables are at its position.
var errQuarantined = errors.New("an event was quarantined")

func nameOf(refused *store.RefusedError) string {
	if refused.Seq == 0 {
		return "the events"
	}
	return fmt.Sprintf("the event at seq %d", refused.Seq)
}

func (r *Rebuild) run(ctx context.Context, until, size uint64, fills bool) error {
	info, err := r.Log.Info(ctx)
	if err != nil {
		return err
	}
	at, err := identity.Check(ctx, r.Log, r.Store, info)
	if err != nil {
		return err
	}
	if at.Highest() == 0 {
		if err := r.Store.WarnSubscribers(ctx, r.Logger); err != nil {
			return err
		}
	}
	t, err := openTarget(ctx, r.Store, r.Rules, at)
	if err != nil {
		return err
	}
	defer t.close()
	begin := max(at.Lowest(), info.First-1) // a log that was adopted does not begin at 1
	switch {
	case begin >= until:
	case fills && at.Highest() == 0:
		err = r.fill(ctx, t, begin, until)
	default:
		err = r.catchUp(ctx, t, at, until, size)
	}
	if err != nil || r.Scratch {
		return err
	}
	if err := t.makeIndexes(ctx, r.Stage); err != nil {
		return err
	}
	return store.StartAutovacuum(ctx, t.schema, t.connections[0])
}

// decode leaves out the messages that the tables have, and those after UpTo.
func (r *Rebuild) decode(at identity.Positions) pipeline.Decoder {
	return func(to []events.Event, m events.Message) ([]events.Event, error) {
		if m.Partition < 0 || m.Partition >= len(at) {
			return nil, fmt.Errorf("the message at seq %d is in partition %d of %d", m.Seq, m.Partition, len(at))
		}
		if m.Seq <= at[m.Partition] || r.UpTo != nil && m.Seq > r.UpTo[m.Partition] {
			return to, nil
		}
		event := providers.Decode(m)
		if r.Look != nil {
			r.Look(m, event)
		}
		return append(to, event), nil
	}
}
