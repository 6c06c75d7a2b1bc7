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
	write := func(c changes[projections.Payment]) {
		batch := &pgx.Batch{}
		c.table = Payments
		c.Queue(batch)
		require.NoError(t, db.SendBatch(ctx, batch).Close())
	}
	write(changes[projections.Payment]{inserted: []projections.Payment{payment("a", "o1"), payment("b", ""), payment("c", ""), payment("gone", "")}})
	write(changes[projections.Payment]{updated: []projections.Payment{payment("b", "o1"), payment("a", "")}})
	write(changes[projections.Payment]{updated: []projections.Payment{payment("b", ""), payment("a", "o1")}})
	write(changes[projections.Payment]{
		removed: []projections.Payment{payment("gone", "")}, updated: []projections.Payment{payment("a", "")}, inserted: []projections.Payment{payment("d", "o1")},
	})
	rows, err := db.Query(ctx, "select provider_payment_id || coalesce(order_id, '') from payment_facts order by 1")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "do1"}, names)
}
