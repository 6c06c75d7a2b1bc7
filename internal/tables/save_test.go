package tables

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

// One batch of live events removes, changes and inserts rows of one table. An order moves from one payment to another,
// which is new or not, in any order of the rows.
func TestABatchChangesRowsThatShareAName(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := pgx.Connect(ctx, testenv.Database(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	RegisterArrays(db.TypeMap())
	_, err = db.Exec(ctx, "create schema portal; "+Payments.DDL())
	require.NoError(t, err)
	for _, on := range Payments.indexes {
		for _, statement := range []string{on("payment_facts").Create, on("payment_facts").Key} {
			_, err = db.Exec(ctx, statement)
			require.NoError(t, err)
		}
	}
	payment := func(id, order string) projections.Payment {
		return projections.Payment{ProviderPaymentID: id, Provider: "creem", OrderID: order, EventID: "e", OccurredAt: time.Unix(1_800_000_000, 0), StreamSeq: 1}
	}
	write := func(loaded, now []projections.Payment, gone ...string) {
		rows, batch := &projections.Rows[string, projections.Payment]{}, &pgx.Batch{}
		for _, p := range loaded {
			rows.Load(p.ProviderPaymentID, &p)
		}
		for _, p := range now {
			rows.Put(p.ProviderPaymentID, p)
		}
		for _, id := range gone {
			rows.Remove(id)
		}
		changes[projections.Payment]{Payments, rows}.Queue(batch)
		require.NoError(t, db.SendBatch(ctx, batch).Close())
	}
	write(nil, []projections.Payment{payment("a", "o1"), payment("b", ""), payment("c", ""), payment("gone", "")})
	write([]projections.Payment{payment("a", "o1"), payment("b", "")}, []projections.Payment{payment("b", "o1"), payment("a", "")})
	write([]projections.Payment{payment("a", ""), payment("b", "o1")}, []projections.Payment{payment("b", ""), payment("a", "o1")})
	write([]projections.Payment{payment("a", "o1"), payment("gone", "")}, []projections.Payment{payment("a", ""), payment("d", "o1")}, "gone")
	rows, err := db.Query(ctx, "select provider_payment_id || coalesce(order_id, '') from payment_facts order by 1")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "do1"}, names)
}
