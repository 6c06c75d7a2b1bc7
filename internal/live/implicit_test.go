package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// The implicit subscription of a user is not shown after its payment was merged into another one.
// It is found again when the user buys again.
func TestAnImplicitSubscriptionIsFoundAgainWhenItWasMerged(t *testing.T) {
	t.Parallel()
	log := []string{
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"p1","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"p1","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"provider_payment_id":"p3","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
	}
	ctx, s := fixture.Tables(t)
	for i, body := range log {
		seq := uint64(i + 1)
		_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, seq, body)}, store.Advance{LogID: "log-1", From: fixture.From(0, seq-1), To: seq})
		require.NoError(t, err)
		if i == 1 {
			require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from subscription_facts where subscription_id = 'implicit:u1' and status is null"))
		}
	}
	next := fixture.Candidate(ctx, t, s, 0)
	fold := rebuild.Rebuild{Log: fixture.TapeOf(log...), Store: next, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}}
	for i := range log {
		require.NoError(t, fold.Run(ctx, uint64(i+1)))
	}
	const rows = "select string_agg(r::text, ' ' order by subscription_id) from "
	var live, rebuilt string
	require.NoError(t, s.Pool().QueryRow(ctx, rows+"portal.subscription_state r").Scan(&live))
	require.NoError(t, s.Pool().QueryRow(ctx, rows+"portal_next.subscription_state r").Scan(&rebuilt))
	require.Equal(t, live, rebuilt)
}
