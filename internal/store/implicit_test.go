package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// A user's implicit subscription whose payment turned out to be another one's is
// not shown, and found again when the user buys again.
func TestAnImplicitSubscriptionIsFoundAgainWhenItWasMerged(t *testing.T) {
	t.Parallel()
	log := []string{
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"p1","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"p1","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"provider_payment_id":"p3","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
	}
	ctx, s := setup(t)
	for i, body := range log {
		seq := uint64(i + 1)
		_, err := s.Apply(ctx, anyMode, []events.Event{event(t, seq, body)}, Advance{LogID: "log-1", From: from(0, seq-1), To: seq})
		require.NoError(t, err)
		if i == 1 {
			require.EqualValues(t, 1, number(ctx, t, s, "select count(*) from subscription_state where subscription_id = 'implicit:u1' and status = 'merged'"))
		}
	}
	next := beside(ctx, t, s, 0)
	for i, body := range log {
		bulk, err := next.NewBulk(ctx, anyMode, uint64(len(log)), nil)
		require.NoError(t, err)
		folded, saved := bulk.Fold(ctx, []events.Event{event(t, uint64(i+1), body)}), bulk.Save(ctx, uint64(i+1), nil)
		bulk.Close()
		require.NoError(t, folded)
		require.NoError(t, saved)
	}
	const rows = "select string_agg(r::text, ' ' order by subscription_id) from "
	var live, rebuilt string
	require.NoError(t, s.pool.QueryRow(ctx, rows+"portal.subscription_state r").Scan(&live))
	require.NoError(t, s.pool.QueryRow(ctx, rows+"portal_next.subscription_state r").Scan(&rebuilt))
	require.Equal(t, live, rebuilt)
}
