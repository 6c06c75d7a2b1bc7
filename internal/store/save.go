package store

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// changesOf lists what the fold changed. A new table is one line here, its row
// struct and its DDL.
func changesOf(s *projections.State) []change {
	return slices.Concat(added(s), []change{
		changes[projections.Reversal]{"reversal", s.Reversals.Inserted(), nil},
		changes[projections.Payment]{"payment", s.Payments.Inserted(), s.Payments.Updated()},
		changes[projections.SubscriptionState]{"subscription_state", s.Subscriptions.Inserted(), s.Subscriptions.Updated()},
		changes[projections.Subscription]{"subscription", s.Current.Inserted(), s.Current.Updated()},
		changes[projections.Credits]{"credits", s.Credits.Inserted(), s.Credits.Updated()},
		changes[projections.ProLicense]{"pro_license", s.Licenses.Inserted(), s.Licenses.Updated()},
	}, extrasOf(s))
}

// extrasOf lists what the fold changed of the tables that only rebuilds have.
func extrasOf(s *projections.State) []change {
	return []change{changes[projections.RevenueDay]{"revenue_daily", s.Revenue.Inserted(), s.Revenue.Updated()}}
}

// added lists the new rows of tables whose rows are only ever added.
func added(s *projections.State) []change {
	return []change{
		changes[projections.ProcessedEvent]{"processed_event", s.Events.Inserted(), nil},
		changes[projections.DuplicateEvent]{"duplicate_event", s.Duplicates, nil},
		changes[projections.LedgerLine]{"credit_ledger", s.Ledger.Inserted(), nil},
	}
}

// tables lists those that every schema has, but for checkpoint.
func tables() (list []string) {
	for _, c := range changesOf(projections.NewState()) {
		if table, _ := c.layout(); !projections.IsExtra(table) {
			list = append(list, table)
		}
	}
	return list
}

// change is what is to be written to one table.
type change interface {
	// queue adds one or two statements.
	queue(batch *pgx.Batch)
	// copy writes many rows at once.
	copy(ctx context.Context, tx pgx.Tx) error
	// rows are the new ones.
	rows() someRows
	// layout is the table's name and columns.
	layout() (table string, columns []column)
}

type changes[R any] struct {
	table             string
	inserted, updated []R
}

func (c changes[R]) layout() (string, []column) { return c.table, columnsOf[R]() }

func (c changes[R]) rows() someRows { return someOf(columnsOf[R](), c.inserted) }

func (c changes[R]) queue(batch *pgx.Batch) {
	insert(batch, c.table, c.inserted)
	update(batch, c.table, c.updated)
}

func (c changes[R]) copy(ctx context.Context, tx pgx.Tx) error {
	if err := copyIn(ctx, tx, c.table, columnsOf[R](), false, c.rows()); err != nil {
		return err
	}
	return updateIn(ctx, tx, c.table, slices.Values(c.updated))
}

// updatesAtOnce bounds the arrays of one statement.
const updatesAtOnce = 10_000

// updateIn writes changed rows, however many.
func updateIn[R any](ctx context.Context, tx pgx.Tx, table string, rows iter.Seq[R]) error {
	var some []R
	write := func() error {
		batch := &pgx.Batch{}
		update(batch, table, some)
		some = some[:0]
		return tx.SendBatch(ctx, batch).Close()
	}
	for row := range rows {
		if some = append(some, row); len(some) == updatesAtOnce {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if len(some) == 0 {
		return nil
	}
	return write()
}
