package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Two projectors load their rows for the last two events before either writes. Either one sees the
// changes of the other, or neither affects the other.
func TestTwoProjectorsAtOnceGiveTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.Sold}).Draw(r, "rules")
		bodies := fixture.Bodies(r)
		if len(bodies) < 2 {
			r.Skip("one event has no other")
		}
		fixture.Reset(ctx, t, s, rules)
		log, whole := fixture.OneFold(t, rules, bodies)
		before := log[:len(log)-2]
		if len(before) > 0 {
			_, err := live.Apply(ctx, s, rules, before, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(before))})
			require.NoError(t, err)
		}
		last := log[len(log)-2:]
		if inOrder := rapid.Bool().Draw(r, "in order"); inOrder {
			writeTogether(ctx, t, s, rules, last[0], last[1])
			fixture.RequireMoneyOf(ctx, r, s, whole) // the record of a rejected event can lack what it would have inherited
			return
		}
		writeTogether(ctx, t, s, rules, last[1], last[0])
		if fixture.Number(ctx, t, s, "with gone as (delete from payfold.out_of_order_event returning 1) select count(*) from gone") == 0 {
			fixture.RequireRows(ctx, r, s, tables.Credits, whole.Credits.Inserted())
		} // otherwise settle folds the two again
	})
}

// writeTogether applies two events, each in a transaction of its own. Both have loaded their rows, or the
// second waits for a row of the first, when the first writes.
func writeTogether(ctx context.Context, t *testing.T, s *store.Store, rules projections.Rules, first, second events.Event) {
	t.Helper()
	loaded := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	written := make(chan struct{})
	apply := func(i int, e events.Event, mayWrite func()) error {
		advance := store.Advance{LogID: "log-1", From: fixture.From(i+1, 0), To: e.Seq}
		err := applyWith(ctx, s, rules, e, advance, func() {
			close(loaded[i])
			mayWrite()
		})
		if store.IsConflict(err) {
			_, err = live.Apply(ctx, s, rules, []events.Event{e}, advance)
		}
		return err
	}
	ended := make(chan error, 1)
	require.NoError(t, apply(0, first, func() {
		go func() { ended <- apply(1, second, func() { <-written }) }()
		wait.Until(t, func() bool {
			select {
			case <-loaded[1]:
				return true
			default:
				return fixture.Number(ctx, t, s, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0
			}
		})
	}))
	close(written)
	require.NoError(t, <-ended)
}

// One event has the transaction, the other the user and the product. Together they grant.
func TestAConcurrentPaidEventAndCheckoutGrantTogether(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} {
		ctx, s := fixture.Tables(t)
		fixture.Reset(ctx, t, s, fixture.Sold)
		log, whole := fixture.OneFold(t, fixture.Sold, []string{
			`{"id":"e1","eventType":"subscription.paid","created_at":1767340000000,"object":{"id":"s1","last_transaction_id":"t1"}}`,
			`{"id":"e2","eventType":"checkout.completed","created_at":1767340001000,"object":{"order":{"id":"o1"},"subscription":"s1","metadata":{"key":"pack","kind":"one_time","user_id":"u1"}}}`,
		})
		require.NotEmpty(t, whole.Ledger.Inserted())
		writeTogether(ctx, t, s, fixture.Sold, log[first], log[1-first])
		fixture.RequireRows(ctx, t, s, tables.Credits, whole.Credits.Inserted())
	}
}

// The second transaction finds no subscription. Then it waits for the user's credits, which the first one has locked.
// Then the subscription is there, with a payment.
func TestASubscriptionThatAppearsWhileItsUserIsWaitedForIsLoadedWithItsPayments(t *testing.T) {
	t.Parallel()
	paid := `{"id":"e2","eventType":"subscription.paid","created_at":1767340001000,"object":{"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","credits":10}}}`
	for _, other := range []string{
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340002000,"object":{"subscription":"s1","order":"o1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		`{"id":"e3","eventType":"subscription.active","created_at":1767340002000,"object":{"id":"s1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		// The ledger line of t0 is loaded before and after the wait.
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340002000,"object":{"subscription":"s1","provider_payment_id":"t0","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
	} {
		ctx, s := fixture.Tables(t)
		log, whole := fixture.OneFold(t, fixture.AnyMode, []string{fixture.Pack("e1", "t0", "u1", 5), paid, other})
		_, err := live.Apply(ctx, s, fixture.AnyMode, log[:1], store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
		require.NoError(t, err)
		writeTogether(ctx, t, s, fixture.AnyMode, log[1], log[2])
		fixture.RequireMoneyOf(ctx, t, s, whole)
	}
}

// All pairs of claims of one payment that was refunded before. For example, the second transaction finds no payment t1.
// Then it waits for the subscription, which the first one has locked. Then the first one has made t1 a licence of the
// user, and a refund has taken it back.
func TestAnyTwoClaimsOfAPaymentAtOnceGiveTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	var claims []string
	for _, names := range []string{`"order":"o1"`, `"last_transaction":{"id":"t1"}`, `"order":{"id":"o1","transaction":"t1"}`} {
		for _, product := range []string{"pack", "licence"} {
			claims = append(claims, fmt.Sprintf(`"eventType":"subscription.paid","created_at":1767340002000,"object":{"id":"s1",%s,"product":%q}}`, names, product))
		}
	}
	for _, first := range claims {
		for _, second := range claims {
			fixture.Reset(ctx, t, s, fixture.Sold)
			log, whole := fixture.OneFold(t, fixture.Sold, []string{
				`{"id":"e1","eventType":"refund.created","created_at":1767340000000,"object":{"order":"o1"}}`,
				`{"id":"e2","eventType":"subscription.active","created_at":1767340001000,"object":{"id":"s1","metadata":{"user_id":"u1"}}}`,
				`{"id":"e3",` + first,
				`{"id":"e4",` + second,
			})
			_, err := live.Apply(ctx, s, fixture.Sold, log[:2], store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 2})
			require.NoError(t, err)
			writeTogether(ctx, t, s, fixture.Sold, log[2], log[3])
			fixture.RequireMoneyOf(ctx, t, s, whole)
		}
	}
}
