package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
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

// OutOfOrder lists the messages that were applied out of the log's order to the tables,
// and the later ones that were applied before.
func (s *Store) OutOfOrder(ctx context.Context) ([]uint64, error) {
	return outOfOrder(ctx, s.pool, s.schema)
}

// Positions is up to where the tables hold each partition.
func (s *Store) Positions(ctx context.Context) (map[int]uint64, error) { return positions(ctx, s.pool) }

// Settle replaces the rows of some customers by those of a fold of their events in the
// order of the log, in one transaction; readers see the ones or the others. Batches wait
// as they do for a promotion, and no longer. read must return all events of the customers
// up to these positions, where no batch moves them on. ErrMoreConnected where other
// out-of-order events are recorded by now, ErrBusy where it waited in vain.
func (s *Store) Settle(ctx context.Context, rules projections.Rules, customers *Connected, read func(context.Context, map[int]uint64) ([]events.Event, error)) (done Settled, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := bound(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(promoteLock)); err != nil {
			return fmt.Errorf("wait for the batches under way: %w", err)
		}
		working, cancel := context.WithTimeoutCause(ctx, catchUpWait, fmt.Errorf("%w: it took longer than %s, for which live work waits", ErrNotSettled, catchUpWait))
		defer cancel()
		done, err = s.settle(working, tx, rules, customers, read)
		if err != nil && working.Err() != nil && ctx.Err() == nil {
			return context.Cause(working)
		}
		return err
	})
	if timedOut(err) {
		return Settled{}, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return done, err
}

func (s *Store) settle(ctx context.Context, tx pgx.Tx, rules projections.Rules, customers *Connected, read func(context.Context, map[int]uint64) ([]events.Event, error)) (Settled, error) {
	if _, err := tx.Exec(ctx, byKeys); err != nil {
		return Settled{}, err
	}
	var inForce string
	if err := tx.QueryRow(ctx, "select fold_id from payfold.schema_state where schema_name = $1", s.schema).Scan(&inForce); err != nil {
		return Settled{}, fmt.Errorf("read the schema's state: %w", err)
	}
	if inForce != rules.FoldID() {
		return Settled{}, otherRules(s.schema, inForce, rules.FoldID())
	}
	recorded, err := outOfOrder(ctx, tx, s.schema)
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
	at, err := positions(ctx, tx)
	if err != nil {
		return Settled{}, err
	}
	theirs, err := read(ctx, at)
	if err != nil {
		return Settled{}, err
	}
	if err := s.foldAnew(ctx, tx, rules, customers, theirs); err != nil {
		return Settled{}, err
	}
	return Settled{OutOfOrder: len(recorded) / 2, Events: len(theirs), Users: len(customers.named(ofUser))}, nil
}

// foldAnew removes the customers' rows and writes those of a fold of their events.
func (s *Store) foldAnew(ctx context.Context, tx pgx.Tx, rules projections.Rules, customers *Connected, theirs []events.Event) error {
	state := projections.NewState()
	writes, removed := &pgx.Batch{}, int64(0)
	queuePoison(writes, s.schema, state, theirs[0].Seq, theirs[len(theirs)-1].Seq)
	customers.remove(writes, s.schema, &removed)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("remove the rows: %w", err)
	}
	if removed != int64(len(theirs)) {
		return fmt.Errorf("%w: the tables have records of %d of these %d messages, so they are wrong for another reason", ErrNotSettled, removed, len(theirs))
	}
	for _, event := range theirs {
		if err := fold(rules, state, event); err != nil {
			return fmt.Errorf("%w: %w", ErrNotSettled, err)
		}
	}
	writes = &pgx.Batch{}
	s.queueChanges(writes, state)
	if err := tx.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("%w: write the rows: %w", ErrNotSettled, err)
	}
	return nil
}

// remove queues the removal of every row that an event of the customers may have made,
// and counts the records of messages.
func (c *Connected) remove(batch *pgx.Batch, schema string, records *int64) {
	count := func(tag pgconn.CommandTag) error { *records += tag.RowsAffected(); return nil }
	subscriptions := c.named(ofSubscription)
	for _, user := range c.named(ofUser) {
		subscriptions = append(subscriptions, projections.ImplicitSubscription(user))
	}
	seqs := make([]int64, 0, c.Len())
	for _, seq := range c.Seqs() {
		seqs = append(seqs, int64(seq))
	}
	keys := map[nameKind]any{
		ofEvent: c.named(ofEvent), ofPayment: c.named(ofPayment), ofSubscription: subscriptions, ofUser: c.named(ofUser), ofMessage: seqs,
	}
	for _, t := range derived {
		if t.about().extra {
			continue
		}
		removal := batch.Queue(fmt.Sprintf("delete from %s where %s = any($1)", t.about().name, t.columns()[0].name), keys[t.about().key])
		if t == anyTable(ProcessedEvents) || t == anyTable(DuplicateEvents) {
			removal.Exec(count)
		}
	}
	batch.Queue(`delete from payfold.disorder d using payfold.schema_state s
		where s.schema_name = $1 and s.log_id = d.log_id and s.created_at = d.schema_created_at and d.stream_seq = any($2)`, schema, seqs)
}
