package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// An order that is the transaction of another payment leads to that payment's
// subscription, though no event of the batch names the payment or the subscription.
func TestTheSubscriptionOfAMergedPaymentIsLoaded(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	log, whole := fixture.OneFold(t, fixture.AnyMode, []string{
		`{"id":"e1","eventType":"refund.created","object":{"refund_amount":100,"order":{"id":"o1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s2","last_transaction_id":"t1","metadata":{"credits":5}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"refund_amount":100,"order":{"id":"o1"},"transaction":{"id":"t1","order":"o1"}}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
	})
	foldOneByOne(ctx, t, s, fixture.AnyMode, log, whole)
}

// The reversal of a payment that two users claimed has ledger lines of both users. A later
// reversal that names only one of the merged rows loads the lines of both.
func TestTheLinesOfBothUsersOfAMergedPaymentAreLoaded(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	log, whole := fixture.OneFold(t, fixture.AnyMode, []string{
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340000000,"object":{"order":{"id":"o1","amount_paid":100},"metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340001000,"object":{"transaction":"t1","metadata":{"kind":"one_time","user_id":"u2","credits":50}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"refund_amount":40,"transaction":{"id":"t1","amount_paid":100}}}`,
		`{"id":"e4","eventType":"refund.created","object":{"refund_amount":10,"transaction":{"id":"t1","order":"o1","amount_paid":100}}}`,
		`{"id":"e5","eventType":"subscription.paid","object":{"last_transaction_id":"t1","metadata":{"user_id":"u1","credits":80}}}`,
		`{"id":"e6","eventType":"refund.created","object":{"refund_amount":50,"order":{"id":"o1"}}}`,
	})
	require.Len(t, whole.Ledger.Inserted(), 8)
	foldOneByOne(ctx, t, s, fixture.AnyMode, log, whole)
}

// A later refund names only one of the merged rows.
func TestWhatBelongsToBothRowsOfAMergedPaymentIsLoaded(t *testing.T) {
	t.Parallel()
	refund := `{"id":"%s","eventType":"refund.created","object":{"refund_amount":%d,%s}}`
	sold := `{"id":"%s","eventType":"checkout.completed","object":{%s,"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`
	const transaction, order = `"transaction":{"id":"t1","amount_paid":100}`, `"order":{"id":"o1","amount_paid":100}`
	for name, bodies := range map[string][]string{
		"reversals": {
			fmt.Sprintf(refund, "e1", 30, order), fmt.Sprintf(refund, "e2", 20, transaction),
			fmt.Sprintf(sold, "e3", `"order":{"id":"o1","transaction":"t1","amount_paid":100}`),
		},
		"ledger lines": {
			fmt.Sprintf(sold, "e1", order), fmt.Sprintf(sold, "e2", transaction),
			fmt.Sprintf(refund, "e3", 50, `"transaction":{"id":"t1","order":"o1","amount_paid":100}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			log, whole := fixture.OneFold(t, fixture.AnyMode, append(bodies, fmt.Sprintf(refund, "e4", 10, transaction), fmt.Sprintf(refund, "e5", 5, order)))
			foldOneByOne(ctx, t, s, fixture.AnyMode, log, whole)
			require.EqualValues(t, 35, fixture.Number(ctx, t, s, "select balance from credits"))
		})
	}
}

func foldOneByOne(ctx context.Context, t *testing.T, s *store.Store, rules projections.Rules, log []events.Event, whole *projections.State) {
	t.Helper()
	for i, e := range log {
		_, err := live.Apply(ctx, s, rules, []events.Event{e}, store.Advance{LogID: "log-1", From: fixture.From(0, uint64(i)), To: e.Seq})
		require.NoError(t, err, e.ID)
	}
	fixture.RequireTablesOf(ctx, t, s, whole)
	fixture.RequireSound(ctx, t, s, len(log))
}

// A second checkout says that the subscription sold a licence, so its payment, which had granted credits, is
// one from then on. It cannot become another user's.
func TestAPaymentWhoseCreditsWereGrantedStaysWithItsUser(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Reset(ctx, t, s, fixture.Sold)
	log, whole := fixture.OneFold(t, fixture.Sold, []string{
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t1","subscription":"s1","metadata":{"kind":"one_time","key":"pack","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"refund.created","created_at":1767340001000,"object":{"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":500}}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340002000,"object":{"order":{"id":"o9"},"subscription":"s1","product":"licence","metadata":{"user_id":"u1"}}}`,
		`{"id":"e4","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t1","product":"pack","metadata":{"kind":"one_time","user_id":"u2"}}}`,
		`{"id":"e5","eventType":"checkout.completed","created_at":1767340004000,"object":{"provider_payment_id":"t1","product":"pack","units":200,"metadata":{"kind":"one_time","user_id":"u2"}}}`,
	})
	for _, e := range whole.Events.Inserted()[3:] {
		require.Equal(t, string(projections.PaymentConflict), e.Reason, e.EventID)
	}
	foldOneByOne(ctx, t, s, fixture.Sold, log, whole)
}
