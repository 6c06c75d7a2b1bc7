package verify

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// After a promotion the snapshot reads other tables with the same names, so the differences
// that it finds mean nothing.
func TestASnapshotOfReplacedTablesReturnsAnError(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.NoError(t, err)
	next, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, next.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	before, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer before.Close()

	frozen, err := freeze(ctx, s)
	require.NoError(t, err)
	defer frozen.Close()
	_, err = s.Pool().Exec(ctx, "alter schema portal rename to portal_prev; alter schema portal_next rename to portal")
	require.NoError(t, err)
	found := 0
	require.ErrorIs(t, frozen.Compare(ctx, before, fixture.AnyMode, func(Difference) { found++ }), store.ErrReplaced)
	require.NotZero(t, found, "differences were found")
	_, err = frozen.Sums(ctx)
	require.ErrorIs(t, err, store.ErrReplaced)
}

// The rows that one side does not send any more are not missing.
func TestAConnectionThatEndsDuringTheComparisonIsNoDifference(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next := fixture.Candidate(ctx, t, s, 0)
	for _, schema := range []string{"portal", "portal_next"} {
		_, err := s.Pool().Exec(ctx, "insert into "+schema+".credits select 'u' || i, 0, 0, 0, case when i = 100000 then length('"+schema+"') else 1 end from generate_series(100000, 150000) i")
		require.NoError(t, err)
	}
	frozen, err := freeze(ctx, s)
	require.NoError(t, err)
	defer frozen.Close()
	found := 0
	err = frozen.Compare(ctx, next, fixture.AnyMode, func(Difference) {
		if found++; found == 1 {
			_, err := s.Pool().Exec(ctx, "select pg_terminate_backend($1)", frozen.tx.Conn().PgConn().PID())
			require.NoError(t, err)
		}
	})
	require.True(t, store.ConnectionLost(err), err)
	require.Equal(t, 1, found)
}

func TestAnEmptyTextIsNotNull(t *testing.T) {
	t.Parallel()
	columns := tables.Credits.Columns()[:1]
	require.Len(t, changedColumns(columns, [][]byte{nil}, [][]byte{{}}), 1)
	require.Empty(t, changedColumns(columns, [][]byte{nil}, [][]byte{nil}))
}

// A change breaks one rule, and its reversal restores the rule.
func TestEveryBrokenSumIsFound(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{
		fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 10)), fixture.Event(t, 2, fixture.Pack("e2", "p2", "u2", 20)), fixture.Event(t, 3, fixture.Pro("e3", "p3", "u1", "octocat")),
		// one payment with two names, under each of which it has ledger lines; those of the order are corrected to nothing
		fixture.Event(t, 4, `{"id":"e4","eventType":"checkout.completed","object":{"order":{"id":"o4","amount_paid":100},"metadata":{"kind":"one_time","user_id":"u4","credits":50}}}`),
		fixture.Event(t, 5, `{"id":"e5","eventType":"checkout.completed","object":{"transaction":"t4","metadata":{"kind":"one_time","user_id":"u4","credits":50}}}`),
		fixture.Event(t, 6, `{"id":"e6","eventType":"refund.created","object":{"refund_amount":10,"transaction":{"id":"t4","order":"o4","amount_paid":100}}}`),
	}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 6})
	require.NoError(t, err)
	fixture.RequireSound(ctx, t, s, 6)
	const refund = `insert into credit_ledger select provider_payment_id, 2, user_id, kind, 'refund', -11, line, available_at, null, 'r1', occurred_at, 4
		from credit_ledger where event_id = 'e1'`
	const noRefund = "delete from credit_ledger where event_id = 'r1'"
	const again = `insert into credit_ledger select provider_payment_id, 2, user_id, kind, entry, delta, null, available_at, null, 'again', occurred_at, 4
		from credit_ledger where event_id = 'e1'`
	for _, c := range []struct {
		rows               int
		rule, wrong, right string
	}{
		{1, "a balance is the sum of its ledger", "update credits set balance = 11, granted = 11 where user_id = 'u1'", "update credits set balance = 10, granted = 10 where user_id = 'u1'"},
		{1, "a balance is the sum of its ledger", refund, noRefund},
		{1, "a payment has granted its credits, once", again, "delete from credit_ledger where event_id = 'again'"},
		{1, "a ledger line is of a payment of its user", "update payment_facts set user_id = 'u3' where provider_payment_id = 'p1'", "update payment_facts set user_id = 'u1' where provider_payment_id = 'p1'"},
		{1, "a ledger line is of a payment of its user", "update payment_facts set provider_payment_id = 'p4' where provider_payment_id = 'p1'", "update payment_facts set provider_payment_id = 'p1' where provider_payment_id = 'p4'"},
		{0, "a payment has granted its credits, once", "update payment_facts set provider_payment_id = 'p4' where provider_payment_id = 'p1'", "update payment_facts set provider_payment_id = 'p1' where provider_payment_id = 'p4'"},
		{1, "a ledger line is of a payment of its user", "update payment_facts set user_id = 'u3' where provider_payment_id = 't4'", "update payment_facts set user_id = 'u4' where provider_payment_id = 't4'"},
		{1, "a ledger line is of a payment of its user", "update payment_facts set user_id = null where provider_payment_id = 'p1'", "update payment_facts set user_id = 'u1' where provider_payment_id = 'p1'"},
		{1, "a payment has granted its credits, once", "update payment_facts set credits = 11 where provider_payment_id = 'p1'", "update payment_facts set credits = 10 where provider_payment_id = 'p1'"},
		{1, "a payment has granted its credits, once", "update payment_facts set credits = null where provider_payment_id = 'p1'", "update payment_facts set credits = 10 where provider_payment_id = 'p1'"},
		{1, "a payment has granted its credits, once", "update payment_facts set user_id = 'u3' where provider_payment_id = 'p1'", "update payment_facts set user_id = 'u1' where provider_payment_id = 'p1'"},
		{1, "a payment is reversed at most once over, and wholly where it says so", refund, noRefund},
		{1, "a payment is reversed at most once over, and wholly where it says so", "update payment_facts set reversed_at = now() where provider_payment_id = 'p1'", "update payment_facts set reversed_at = null"},
		{1, "a licence is active while a payment gives it", "update payment_facts set reversed_at = now() where provider_payment_id = 'p3'", "update payment_facts set reversed_at = null"},
	} {
		_, err := s.Pool().Exec(ctx, c.wrong)
		require.NoError(t, err)
		require.EqualValues(t, c.rows, sumsOf(ctx, t, s)[c.rule], "%s: %s", c.rule, c.wrong)
		_, err = s.Pool().Exec(ctx, c.right)
		require.NoError(t, err)
		fixture.RequireSound(ctx, t, s, 6)
	}
}

func sumsOf(ctx context.Context, t *testing.T, s *store.Store) map[string]int64 {
	t.Helper()
	frozen, err := freeze(ctx, s)
	require.NoError(t, err)
	defer frozen.Close()
	sums, err := frozen.Sums(ctx)
	require.NoError(t, err)
	wrong := map[string]int64{}
	for _, sum := range sums {
		wrong[sum.Rule] = sum.Wrong
	}
	return wrong
}
