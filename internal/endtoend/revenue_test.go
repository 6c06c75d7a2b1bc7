package endtoend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestRevenueByDayIsRebuiltInItsOwnSchema(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	for i := range 60 {
		w.deliver(t, testenv.ShopEvent(i))
	}
	rejected := `{"id":"evt_rejected","eventType":"checkout.completed","created_at":1767225600000,
		"object":{"order":{"id":"o1","amount_paid":999,"currency":"USD"},"metadata":{"kind":"other"}}}`
	w.deliver(t, rejected)
	w.awaitProjected(t)
	sales := func() {
		w.runWithExit(t, 0, "rebuild", "--schema", "sales", "--with", "revenue_daily")
		require.Contains(t, w.runWithExit(t, 0, "verify", "--schema", "sales", "--with", "revenue_daily"), "sales is what the log gives")
		require.Zero(t, mustQuery[int64](t, w.database, `select (select sum(amount) - sum(coalesce(refunded_amount, 0)) from portal.payment where kind is not null)
			- (select sum(net) from sales.revenue_daily)`))
	}
	sales()
	require.EqualValues(t, 999, mustQuery[int64](t, w.database, "select rejected from sales.revenue_daily where currency = 'USD'"))
	for i := range 60 {
		w.deliver(t, testenv.ShopEvent(60+i))
	}
	w.awaitProjected(t)
	sales() // continues the schema
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from information_schema.tables where table_schema = 'portal' and table_name = 'revenue_daily'"))
	require.Contains(t, w.runWithExit(t, 1, "promote", "sales"), "was folded under")
	require.Contains(t, w.runWithExit(t, 1, "rebuild", "--schema", "sales"), "add --with revenue_daily, or remove it: projector drop sales")
	require.Contains(t, w.runWithExit(t, 1, "verify", "--schema", "sales"), "add --with revenue_daily")
	require.Contains(t, w.runWithExit(t, 1, "verify", "--with", "revenue_daily"), "leave out --with")
	require.Contains(t, w.runWithExit(t, 2, "rebuild", "--with", "revenue"), "--with revenue: there is no such projection")
	require.Contains(t, w.runWithExit(t, 2, "rebuild", "--with", "revenue_daily", "--promote"), "projectors do not update revenue_daily")
	require.Contains(t, w.runWithExit(t, 0, "rebuild", "--schema", "before", "--with", "revenue_daily", "--until-seq", "2"),
		"before holds the tables as of seq 2, with revenue_daily.")
}
