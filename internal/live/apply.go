package live

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// maxConflicts bounds the tries of one batch that conflicts with other projectors. Chance conflicts
// need far fewer tries, and a conflict that never ends is noticed soon.
const maxConflicts = 20

func (p postgres) apply(ctx context.Context, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	return Apply(ctx, p.store, rules, batch, advance)
}

// Apply folds the events, which are in the order of the log, and moves the checkpoints, in one
// transaction. Out-of-order events of the live tables are recorded. After a conflict with another projector it tries
// again on the rows that the other one has committed. The error may be store.ErrFenced, store.ErrFoldID, or a
// store.RefusedError if the database would refuse the same rows again.
func Apply(
	ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance,
) (Result, error) {
	for attempt := 1; ; attempt++ {
		result, err := applyOnce(ctx, s, rules, batch, advance)
		if store.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		return result, store.AsRefused(err)
	}
}

func applyOnce(
	ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance,
) (Result, error) {
	t, err := begin(ctx, s, rules, advance)
	if err != nil {
		return Result{}, err
	}
	defer t.end(ctx)
	writes, result, err := loadAndFold(ctx, s, t.tx, rules, batch)
	if err != nil {
		return Result{}, err
	}
	if err := t.commit(ctx, writes); err != nil {
		return Result{}, err
	}
	return *result, nil
}

// Result is what a committed batch did.
type Result struct {
	Events     []projections.ProcessedEvent
	Duplicates int
	OutOfOrder int // out-of-order events that were recorded
}

// loadAndFold returns the statements that write what the events change. The result is complete when they have been sent.
func loadAndFold(
	ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, batch []events.Event,
) (writes *pgx.Batch, result *Result, err error) {
	batch, err = withoutKnownMarks(ctx, tx, batch)
	if err != nil {
		return nil, nil, err
	}
	if len(batch) == 0 {
		return &pgx.Batch{}, &Result{}, nil
	}
	state, err := tables.Load(ctx, tx, s.Schema(), rules, batch)
	if err != nil {
		return nil, nil, err
	}
	return fold(s, rules, state, batch)
}

// withoutKnownMarks returns the events without the marks (events.Lost) of messages that the tables have. The tables can
// have a lost message although the checkpoint of its mark's partition is before it: the checkpoint of an idle partition
// moves only now and then. A backlog never has such a mark, because all its partitions are at one position.
func withoutKnownMarks(ctx context.Context, tx pgx.Tx, batch []events.Event) ([]events.Event, error) {
	var marks []uint64
	for i := range batch {
		if batch[i].Type == events.LostType {
			marks = append(marks, batch[i].Seq)
		}
	}
	if len(marks) == 0 {
		return batch, nil
	}
	known, err := store.Applied(ctx, tx, marks)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(batch), func(e events.Event) bool { return slices.Contains(known, e.Seq) }), nil
}

// fold is loadAndFold of events whose rows the state has.
func fold(
	s *store.Store, rules projections.Rules, state *projections.State, batch []events.Event,
) (writes *pgx.Batch, result *Result, err error) {
	if err := rules.FoldAll(state, slices.Values(batch)); err != nil {
		return nil, nil, err
	}
	writes, result = &pgx.Batch{}, resultOf(state)
	isLive := s.Schema() == store.LiveSchema
	if isLive { // a candidate lacks the indexes that this needs
		store.RecordOutOfOrder(writes, state, &result.OutOfOrder)
	}
	tables.QueueChanges(writes, state)
	if isLive {
		store.QueueNotifications(writes, state)
	}
	return writes, result, nil
}

// resultOf returns what a fold has done, except for the out-of-order events.
func resultOf(state *projections.State) *Result {
	return &Result{Events: state.Events.Inserted(), Duplicates: len(state.Duplicates)}
}
