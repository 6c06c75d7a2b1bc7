package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// An order that turned out to be a transaction leads to that payment's subscription,
// though no event of the batch names either.
func TestTheSubscriptionOfAMergedPaymentIsLoaded(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	log, whole := oneFold(t, anyMode, []string{
		`{"id":"e1","eventType":"refund.created","object":{"refund_amount":100,"order":{"id":"o1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s2","last_transaction_id":"t1","metadata":{"credits":5}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"refund_amount":100,"order":{"id":"o1"},"transaction":{"id":"t1","order":"o1"}}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
	})
	for i, e := range log {
		_, err := s.Apply(ctx, anyMode, []events.Event{e}, Advance{LogID: "log-1", From: from(0, uint64(i)), To: e.Seq})
		require.NoError(t, err, e.ID)
	}
	requireSameTables(ctx, t, s, whole)
	requireSound(ctx, t, s, len(log))
}
