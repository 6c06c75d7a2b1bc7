package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// applyRefused applies a batch of one message, which the database has refused, or quarantines its event.
func (f *follower) applyRefused(ctx context.Context, batch []message, refused *store.RefusedError) error {
	if fresh, _ := f.fresh(batch); len(fresh) == 0 {
		return refused // no event was written
	}
	p := f.projector
	if err := p.quarantine.CheckRoom(refused.Cause); err != nil {
		return err
	}
	cause, err := f.applyFresh(ctx, batch, true)
	if err != nil || cause == nil {
		return err
	}
	p.quarantine.Recorded(ctx, p.Logger, batch[0].Seq, cause)
	p.metrics.quarantined.Inc()
	return nil
}

func (p postgres) applyOrQuarantine(
	ctx context.Context, rules projections.Rules, event events.Event, advance store.Advance,
) (result Result, cause, err error) {
	return ApplyOrQuarantine(ctx, p.store, rules, event, advance)
}

// ApplyOrQuarantine is Apply for one event whose rows the database has refused when they were alone. Since then somebody
// may have repaired a database that refused everything. So one transaction finds out what the cause is, and does this
// in this order:
//
//  1. The database must take the rejection of the event, which is rolled back. If it does not, the database is the
//     cause, and the error says so.
//  2. It is given the event's own rows. If it takes them, the event is applied.
//  3. It has refused them. The rejection is written and recorded in payfold.quarantined_event. cause is the reason.
//
// A database that refuses everything until its repair refuses the first step, or takes the second, at whatever moment
// the repair comes. Nobody can change the definitions of the tables between the steps, because the transaction has
// locked the tables.
func ApplyOrQuarantine(
	ctx context.Context, s *store.Store, rules projections.Rules, event events.Event, advance store.Advance,
) (result Result, cause, err error) {
	for attempt := 1; ; attempt++ {
		result, cause, err = applyOrQuarantineOnce(ctx, s, rules, event, advance, attempt)
		if store.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		if ofRejection := causeIn(err, attempt); ofRejection != nil {
			err = store.NotTheEvent(event.Seq, ofRejection)
		}
		return result, cause, err
	}
}

func applyOrQuarantineOnce(
	ctx context.Context, s *store.Store, rules projections.Rules, event events.Event, advance store.Advance, attempt int,
) (result Result, cause, err error) {
	t, err := begin(ctx, s, rules, advance)
	if err != nil {
		return Result{}, nil, err
	}
	defer t.end(ctx)
	try := trial{store: s, rules: rules, event: event, logID: advance.LogID}
	if _, err := t.tx.Exec(ctx, "lock table "+tables.Names()+" in row exclusive mode"); err != nil {
		return Result{}, nil, fmt.Errorf("lock the tables: %w", err)
	}
	if err := try.rejection(ctx, t.tx); err != nil {
		return Result{}, nil, err
	}
	result, err = try.own(ctx, t.tx)
	if cause = causeIn(err, attempt); cause != nil {
		result, err = try.reject(ctx, t.tx, cause)
	}
	if err == nil {
		err = t.commit(ctx, &pgx.Batch{})
	}
	return result, cause, err
}

// causeIn returns why the database has refused rows. It returns nil for another error, and for a conflict after which the
// event is tried again.
func causeIn(err error, attempt int) error {
	var refused *store.RefusedError
	if store.IsConflict(err) && attempt < maxConflicts || !errors.As(store.AsRefused(err), &refused) {
		return nil
	}
	return refused.Cause
}

// trial writes the rows of one event in parts of a transaction.
type trial struct {
	store *store.Store
	rules projections.Rules
	event events.Event
	logID string
}

// errTaken makes pgx.BeginFunc roll back to the savepoint.
var errTaken = errors.New("the database takes these rows")

// rejection writes the rejection of the event and rolls back to where it began.
func (t trial) rejection(ctx context.Context, tx pgx.Tx) error {
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := t.reject(ctx, tx, errTaken)
		return cmp.Or(err, errTaken)
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// own writes the event's own rows. After an error the transaction is where it began.
func (t trial) own(ctx context.Context, tx pgx.Tx) (result Result, err error) {
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		result, err = t.write(ctx, tx)
		return err
	})
	return result, err
}

// reject records that the event is quarantined, and writes its rejection.
func (t trial) reject(ctx context.Context, tx pgx.Tx, cause error) (Result, error) {
	if err := store.RecordQuarantined(ctx, tx, t.logID, t.event.Seq, cause); err != nil {
		return Result{}, err
	}
	return t.write(ctx, tx)
}

// write writes the rows of the event. It also checks what Postgres would check only at the commit.
func (t trial) write(ctx context.Context, tx pgx.Tx) (Result, error) {
	writes, result, err := loadAndFold(ctx, t.store, tx, t.rules, []events.Event{t.event})
	if err != nil {
		return Result{}, err
	}
	writes.Queue("set constraints all immediate")
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return Result{}, fmt.Errorf("write the rows: %w", err)
	}
	return *result, nil
}
