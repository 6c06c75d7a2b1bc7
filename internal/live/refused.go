package live

import (
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
	var cause error
	orReject := func(ctx context.Context, rules projections.Rules, one []events.Event, advance store.Advance) (result Result, err error) {
		result, cause, err = p.batches.applyOrQuarantine(ctx, rules, one[0], advance)
		return result, err
	}
	err := f.write(ctx, batch, orReject)
	if err != nil || cause == nil {
		return err
	}
	p.quarantine.Recorded(ctx, p.Logger, batch[0].Seq, cause)
	p.metrics.quarantined.Inc()
	return nil
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
		cause = nil
		err = transact(ctx, s, rules, advance, func(tx pgx.Tx, _ store.RowsID) (*pgx.Batch, error) {
			try := trial{store: s, rules: rules, event: []events.Event{event}, logID: advance.LogID, result: &result}
			if _, err := tx.Exec(ctx, "lock table "+tables.Names()+" in row exclusive mode"); err != nil {
				return nil, fmt.Errorf("lock the tables: %w", err)
			}
			if err := try.rejection(ctx, tx); err != nil {
				return nil, err
			}
			err := try.own(ctx, tx)
			if cause = causeIn(err, attempt); cause != nil {
				return try.reject(ctx, tx, cause)
			}
			return &pgx.Batch{}, err
		})
		if store.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		if ofRejection := causeIn(err, attempt); ofRejection != nil {
			err = store.NotTheEvent(event.Seq, ofRejection)
		}
		return result, cause, err
	}
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
	store  *store.Store
	rules  projections.Rules
	event  []events.Event
	logID  string
	result *Result // of what was written last
}

// errTaken makes pgx.BeginFunc roll back to the savepoint.
var errTaken = errors.New("the database takes these rows")

// rejection writes the rejection of the event and rolls back to where it began.
func (t trial) rejection(ctx context.Context, tx pgx.Tx) error {
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		writes, err := t.reject(ctx, tx, errTaken)
		if err == nil {
			err = writeNow(ctx, tx, writes)
		}
		if err == nil {
			err = errTaken
		}
		return err
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// own writes the event's own rows. After an error the transaction is where it began.
func (t trial) own(ctx context.Context, tx pgx.Tx) error {
	return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		writes, err := loadAndFold(ctx, t.store, tx, t.rules, t.event, t.result)
		if err != nil {
			return err
		}
		return writeNow(ctx, tx, writes)
	})
}

// reject records that the event is quarantined, and returns the statements that write its rejection.
func (t trial) reject(ctx context.Context, tx pgx.Tx, cause error) (*pgx.Batch, error) {
	if err := store.RecordQuarantined(ctx, tx, t.logID, t.event[0].Seq, cause); err != nil {
		return nil, err
	}
	return loadAndFold(ctx, t.store, tx, t.rules, t.event, t.result)
}

// writeNow sends the statements. It also checks what Postgres would check only at the commit.
func writeNow(ctx context.Context, tx pgx.Tx, writes *pgx.Batch) error {
	writes.Queue("set constraints all immediate")
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	return nil
}
