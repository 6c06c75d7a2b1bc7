package store

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

//go:embed record_out_of_order.sql
var recordOutOfOrderSQL string

// RecordOutOfOrder queues a statement that records the out-of-order events of the batch in the live tables: those for
// which a later event of the log, with a name in common, was applied before. It must run when the
// rows are locked and before the batch's own rows of processed_event are written. Events without an
// effect are never out of order. When the batch has been sent, recorded has the number of new
// records.
//
// It does not see a later event that another transaction has not committed. If the two
// events share a row, one transaction waits for the other.
func RecordOutOfOrder(batch *pgx.Batch, state *projections.State, recorded *int) {
	var seqs []int64
	var ids, users, subscriptions, payments []string // "" if it does not matter
	for _, e := range state.Events.Inserted() {      // their ids are new
		if e.HasEffect() { // also an ignored event: it may have named the user of a subscription
			seqs, ids, users = append(seqs, e.StreamSeq), append(ids, ""), append(users, e.UserID)
			subscriptions, payments = append(subscriptions, e.SubscriptionID), append(payments, e.ProviderPaymentID)
		}
	}
	for _, d := range state.Duplicates { // their ids are all that matters
		seqs, ids, users = append(seqs, d.StreamSeq), append(ids, d.EventID), append(users, "")
		subscriptions, payments = append(subscriptions, ""), append(payments, "")
	}
	if len(seqs) == 0 {
		return
	}
	batch.Queue(recordOutOfOrderSQL, LiveSchema, seqs, tables.Texts(ids), tables.Texts(users), tables.Texts(subscriptions), tables.Texts(payments)).
		Exec(func(tag pgconn.CommandTag) error { *recorded = int(tag.RowsAffected()); return nil })
}

//go:embed out_of_order.sql
var outOfOrderSQL string

// OutOfOrderEvent is an event that was applied after a later event of the log.
type OutOfOrderEvent struct {
	Seq   uint64
	Later uint64 // the sequence of the later event
}

// OutOfOrder lists the out-of-order events of the schema's tables.
func OutOfOrder(ctx context.Context, q Querier, schema string) ([]OutOfOrderEvent, error) {
	return Collect(ctx, q, "read the out-of-order events", pgx.RowToStructByPos[OutOfOrderEvent], outOfOrderSQL, schema)
}

// CountOutOfOrder counts the out-of-order events of the schema's tables.
func CountOutOfOrder(ctx context.Context, tx pgx.Tx, schema string) (count int64, err error) {
	err = tx.QueryRow(ctx, "select count(*) from ("+outOfOrderSQL+") d", schema).Scan(&count)
	return count, err
}
