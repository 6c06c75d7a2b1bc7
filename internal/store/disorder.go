package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed note_disorder.sql
var noteDisorderSQL string

// NoteDisorder queues the note of every event of the batch that comes after a
// later event it shares a name with. It must run after the rows are locked and
// before the batch's own records are there. Events without an effect have no
// order to keep.
//
// It cannot see a later event that another transaction is about to commit
// unless the two share a row; those that do wait for each other.
func NoteDisorder(batch *pgx.Batch, schema string, state *projections.State, noted *int) {
	var seqs []int64
	var ids, users, subscriptions, payments []*string
	add := func(e projections.ProcessedEvent) {
		seqs, ids = append(seqs, e.StreamSeq), append(ids, optional(e.EventID))
		users, subscriptions = append(users, optional(e.UserID)), append(subscriptions, optional(e.SubscriptionID))
		payments = append(payments, optional(e.ProviderPaymentID))
	}
	for _, e := range state.Events.Inserted() {
		if e.Outcome != string(projections.Ignored) {
			add(e)
		}
	}
	for _, d := range state.Duplicates {
		add(projections.ProcessedEvent{StreamSeq: d.StreamSeq, EventID: d.EventID})
	}
	if len(seqs) == 0 {
		return
	}
	first := seqs[0]
	for _, seq := range seqs {
		first = min(first, seq)
	}
	batch.Queue(noteDisorderSQL, schema, first, seqs, ids, users, subscriptions, payments).
		Exec(func(tag pgconn.CommandTag) error { *noted = int(tag.RowsAffected()); return nil })
}

//go:embed out_of_order.sql
var outOfOrderSQL string

// OutOfOrder lists the messages of the records that noteDisorder made for the schema's
// tables, each with the later one.
func OutOfOrder(ctx context.Context, q Querier, schema string) ([]uint64, error) {
	rows, err := q.Query(ctx, outOfOrderSQL, schema)
	if err != nil {
		return nil, fmt.Errorf("read the out-of-order events: %w", err)
	}
	var out []uint64
	var seq, later int64
	_, err = pgx.ForEachRow(rows, []any{&seq, &later}, func() error {
		out = append(out, uint64(seq), uint64(later))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the out-of-order events: %w", err)
	}
	return out, nil
}

// CountOutOfOrder is how many such records there are.
func CountOutOfOrder(ctx context.Context, tx pgx.Tx, schema string) (count int64, err error) {
	err = tx.QueryRow(ctx, "select count(*) from ("+outOfOrderSQL+") d", schema).Scan(&count)
	return count, err
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// OutOfOrder lists the messages that were applied out of the log's order to the tables,
// and the later ones that were applied before.
func (s *Store) OutOfOrder(ctx context.Context) ([]uint64, error) {
	return OutOfOrder(ctx, s.pool, s.schema)
}
