package verify

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

var (
	// errNotSettled means that out-of-order events can be settled only by a rebuild.
	errNotSettled = errors.New("not settled; projector rebuild --promote folds everything anew")
	// errNotRetried means that a quarantined event can be tried again only in a rebuild.
	errNotRetried = errors.New("only a rebuild can try it again: delete its row from payfold.quarantined_event, then projector rebuild --promote")
	// errBusy means that batches or readers held locks for too long. A retry may succeed.
	errBusy = errors.New("the live tables are busy; try again")
	// errMoreConnected means that new events connect further customers. A retry includes them.
	errMoreConnected = errors.New("more customers are connected")
)

// Settled counts what Settle has changed.
type Settled struct {
	OutOfOrder int `json:"out_of_order"` // out-of-order events that were settled
	Events     int `json:"events"`       // events that were folded again
	Users      int `json:"users"`        // users whose rows were written again
}

// replace replaces the rows of some customers by those of a fold of their events in the order of the log, in one
// transaction. Batches wait for it as they wait for a promotion. The error is errMoreConnected if further out-of-order
// events have been recorded, or new events connect further customers, and errBusy if it did not get the locks.
func (s *Settle) replace(ctx context.Context) (done Settled, err error) {
	err = pgx.BeginFunc(ctx, s.Tables.Pool(), func(tx pgx.Tx) error {
		if err := store.HoldBatches(ctx, tx); err != nil {
			return err
		}
		working, cancel := context.WithTimeoutCause(ctx, store.CatchUpTimeout, fmt.Errorf("%w: it took longer than %s, for which live work waits", s.errRebuild(), store.CatchUpTimeout))
		defer cancel()
		done, err = s.replaceLocked(working, tx)
		if err != nil && working.Err() != nil && ctx.Err() == nil {
			return context.Cause(working)
		}
		return err
	})
	if store.TimedOut(err) {
		return Settled{}, fmt.Errorf("%w: %w", errBusy, err)
	}
	return done, err
}

func (s *Settle) replaceLocked(ctx context.Context, tx pgx.Tx) (Settled, error) {
	if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
		return Settled{}, err
	}
	if _, err := store.CheckRules(ctx, tx, s.Tables.Schema(), s.Rules); err != nil {
		return Settled{}, err
	}
	cause, err := s.cause(ctx, tx)
	if err != nil {
		return Settled{}, err
	}
	if len(cause) == 0 {
		return Settled{}, nil // somebody has deleted the records
	}
	for _, e := range cause {
		if !s.customers.hasMessage(e.Seq) || !s.customers.hasMessage(e.Later) {
			return Settled{}, errMoreConnected
		}
	}
	now, err := store.PositionsIn(ctx, tx)
	if err != nil {
		return Settled{}, err
	}
	if err := s.read(ctx, now); err != nil {
		return Settled{}, err
	}
	settled := Settled{Events: len(s.customers.events), Users: len(s.customers.named(tables.OfUser))}
	return settled, s.refold(ctx, tx, &settled.OutOfOrder)
}

// errRebuild is the error that names the rebuild to do instead.
func (s *Settle) errRebuild() error {
	if s.retried != 0 {
		return errNotRetried
	}
	return errNotSettled
}

// refold removes the customers' rows and writes those of a fold of their events. A quarantined event that is tried
// again is released first.
func (s *Settle) refold(ctx context.Context, tx pgx.Tx, outOfOrder *int) error {
	state, theirs := projections.NewState(), s.customers.inOrder()
	writes, removed, others := &pgx.Batch{}, int64(0), int64(0)
	if s.retried != 0 {
		store.QueueRelease(writes, s.Tables.Schema(), s.retried)
	}
	tables.QueueQuarantined(writes, s.Tables.Schema(), state, theirs[0].Seq, theirs[len(theirs)-1].Seq)
	s.customers.remove(writes, s.Tables.Schema(), &removed, outOfOrder)
	s.customers.countOthers(writes, &others)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("remove the rows: %w", err)
	}
	if removed != int64(len(theirs)) {
		return fmt.Errorf("%w: the tables have records of %d of these %d messages, so they are wrong for another reason", s.errRebuild(), removed, len(theirs))
	}
	if others > 0 {
		return fmt.Errorf("%w: the tables have %d events of these customers that the log does not have; first have the provider send them again", s.errRebuild(), others)
	}
	if err := s.Rules.FoldAll(state, slices.Values(theirs)); err != nil {
		return s.refused(err)
	}
	writes = &pgx.Batch{}
	tables.QueueChanges(writes, state)
	writes.Queue(store.NotifyAll) // the removed rows may have been of any user
	writes.Queue("update payfold.schema_state set settled_at = clock_timestamp() where schema_name = $1", s.Tables.Schema())
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return s.refused(fmt.Errorf("write the rows: %w", err))
	}
	s.folded = state
	return nil
}

// refused returns the error of rows that were not written. A rebuild cannot write those of a quarantined event, either.
func (s *Settle) refused(err error) error {
	if s.retried != 0 {
		return err
	}
	return fmt.Errorf("%w: %w", errNotSettled, err)
}

//go:embed events_of_customers.sql
var eventsOfCustomers string

// countOthers queues a query for the events of the customers that remain in the tables after remove. The log does not
// have them, so a fold would take back what they gave: a restored log has marks in their place (events.Lost).
func (c *customers) countOthers(batch *pgx.Batch, others *int64) {
	batch.Queue(eventsOfCustomers, c.named(tables.OfPayment), c.named(tables.OfUser), c.named(tables.OfSubscription)).
		QueryRow(func(row pgx.Row) error { return row.Scan(others) })
}

// remove queues the removal of every row that an event of the customers may have written.
// When the batch has been sent, records has the number of removed rows of processed_event
// and duplicate_event, and outOfOrder that of removed records of out-of-order events.
func (c *customers) remove(batch *pgx.Batch, schema string, records *int64, outOfOrder *int) {
	count := func(tag pgconn.CommandTag) error { *records += tag.RowsAffected(); return nil }
	subscriptions := c.named(tables.OfSubscription)
	for _, user := range c.named(tables.OfUser) {
		subscriptions = append(subscriptions, projections.ImplicitSubscription(user))
	}
	seqs := make([]int64, 0, len(c.events))
	for seq := range c.events {
		seqs = append(seqs, int64(seq))
	}
	keys := map[tables.NameKind]any{
		tables.OfEvent: c.named(tables.OfEvent), tables.OfPayment: c.named(tables.OfPayment), tables.OfSubscription: subscriptions, tables.OfUser: c.named(tables.OfUser), tables.OfMessage: seqs,
	}
	for _, t := range tables.All {
		if t.About().Extra || t.About().Shared { // the same events give a shared row again
			continue
		}
		removal := batch.Queue(fmt.Sprintf("delete from %s where %s = any($1)", t.About().Name, t.Columns()[0].Name), keys[t.About().Key])
		if t == tables.AnyTable(tables.ProcessedEvents) || t == tables.AnyTable(tables.DuplicateEvents) {
			removal.Exec(count)
		}
	}
	batch.Queue(`delete from payfold.out_of_order_event o using payfold.schema_state s
		where s.schema_name = $1 and s.log_id = o.log_id and s.created_at = o.schema_created_at and o.stream_seq = any($2)`, schema, seqs).
		Exec(func(tag pgconn.CommandTag) error { *outOfOrder = int(tag.RowsAffected()); return nil })
}
