package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

var (
	// ErrNotSettled says why out-of-order events were not settled; a rebuild settles them.
	ErrNotSettled = errors.New("not settled; projector rebuild --promote folds everything anew")
	// ErrBusy: batches under way, or readers, hold the tables for too long; try again.
	ErrBusy = errors.New("the live tables are busy; try again")
	// ErrMoreConnected: other customers are connected as well.
	ErrMoreConnected = errors.New("more customers are connected")
)

// Settled is what was done.
type Settled struct {
	OutOfOrder int `json:"out_of_order"` // events that were recorded so, and are no more
	Events     int `json:"events"`       // that were folded anew
	Users      int `json:"users"`        // whose rows were made anew
}

// replace replaces the rows of some customers by those of a fold of their events in the
// order of the log, in one transaction; readers see the ones or the others. Batches wait
// as they do for a promotion, and no longer. read must return all events of the customers
// up to these positions, where no batch moves them on. ErrMoreConnected where other
// out-of-order events are recorded by now, ErrBusy where it waited in vain.
func replace(ctx context.Context, s *store.Store, rules projections.Rules, customers *customers, read func(context.Context, map[int]uint64) ([]events.Event, error)) (done Settled, err error) {
	err = pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		if err := store.HoldBatches(ctx, tx); err != nil {
			return err
		}
		working, cancel := context.WithTimeoutCause(ctx, store.CatchUpTimeout, fmt.Errorf("%w: it took longer than %s, for which live work waits", ErrNotSettled, store.CatchUpTimeout))
		defer cancel()
		done, err = replaceLocked(working, s, tx, rules, customers, read)
		if err != nil && working.Err() != nil && ctx.Err() == nil {
			return context.Cause(working)
		}
		return err
	})
	if store.TimedOut(err) {
		return Settled{}, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return done, err
}

func replaceLocked(ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, customers *customers, read func(context.Context, map[int]uint64) ([]events.Event, error)) (Settled, error) {
	if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
		return Settled{}, err
	}
	var inForce string
	if err := tx.QueryRow(ctx, "select fold_id from payfold.schema_state where schema_name = $1", s.Schema()).Scan(&inForce); err != nil {
		return Settled{}, fmt.Errorf("read the schema's state: %w", err)
	}
	if inForce != rules.FoldID() {
		return Settled{}, store.OtherRulesError(s.Schema(), inForce, rules.FoldID())
	}
	recorded, err := store.OutOfOrder(ctx, tx, s.Schema())
	if err != nil {
		return Settled{}, err
	}
	if len(recorded) == 0 {
		return Settled{}, nil // by another command
	}
	for _, seq := range recorded {
		if !customers.Has(seq) {
			return Settled{}, ErrMoreConnected
		}
	}
	at, err := store.PositionsIn(ctx, tx)
	if err != nil {
		return Settled{}, err
	}
	theirs, err := read(ctx, at)
	if err != nil {
		return Settled{}, err
	}
	if err := foldAnew(ctx, s, tx, rules, customers, theirs); err != nil {
		return Settled{}, err
	}
	return Settled{OutOfOrder: len(recorded) / 2, Events: len(theirs), Users: len(customers.named(tables.OfUser))}, nil
}

// foldAnew removes the customers' rows and writes those of a fold of their events.
func foldAnew(ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, customers *customers, theirs []events.Event) error {
	state := projections.NewState()
	writes, removed := &pgx.Batch{}, int64(0)
	tables.QueueQuarantined(writes, s.Schema(), state, theirs[0].Seq, theirs[len(theirs)-1].Seq)
	customers.remove(writes, s.Schema(), &removed)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("remove the rows: %w", err)
	}
	if removed != int64(len(theirs)) {
		return fmt.Errorf("%w: the tables have records of %d of these %d messages, so they are wrong for another reason", ErrNotSettled, removed, len(theirs))
	}
	for _, event := range theirs {
		if err := store.Fold(rules, state, event); err != nil {
			return fmt.Errorf("%w: %w", ErrNotSettled, err)
		}
	}
	writes = &pgx.Batch{}
	s.QueueChanges(writes, state)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("%w: write the rows: %w", ErrNotSettled, err)
	}
	return nil
}

// remove queues the removal of every row that an event of the customers may have made,
// and counts the records of messages.
func (c *customers) remove(batch *pgx.Batch, schema string, records *int64) {
	count := func(tag pgconn.CommandTag) error { *records += tag.RowsAffected(); return nil }
	subscriptions := c.named(tables.OfSubscription)
	for _, user := range c.named(tables.OfUser) {
		subscriptions = append(subscriptions, projections.ImplicitSubscription(user))
	}
	seqs := make([]int64, 0, c.Len())
	for _, seq := range c.Seqs() {
		seqs = append(seqs, int64(seq))
	}
	keys := map[tables.NameKind]any{
		tables.OfEvent: c.named(tables.OfEvent), tables.OfPayment: c.named(tables.OfPayment), tables.OfSubscription: subscriptions, tables.OfUser: c.named(tables.OfUser), tables.OfMessage: seqs,
	}
	for _, t := range tables.All {
		if t.About().Extra {
			continue
		}
		removal := batch.Queue(fmt.Sprintf("delete from %s where %s = any($1)", t.About().Name, t.Columns()[0].Name), keys[t.About().Key])
		if t == tables.AnyTable(tables.ProcessedEvents) || t == tables.AnyTable(tables.DuplicateEvents) {
			removal.Exec(count)
		}
	}
	batch.Queue(`delete from payfold.disorder d using payfold.schema_state s
		where s.schema_name = $1 and s.log_id = d.log_id and s.created_at = d.schema_created_at and d.stream_seq = any($2)`, schema, seqs)
}
