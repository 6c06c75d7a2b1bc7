package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
)

// Random months of a random shop, in any order, end in what the model says.
func TestAMonthOfAShopComesOutRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := month(t)
		state := projections.NewState()
		rules := projections.Rules{Mode: projections.ModeAny}
		for i, h := range log {
			rules.Fold(state, h.event(t, i+1))
		}
		m := newModel(log)
		require.Len(t, state.Events.Inserted(), len(m.log))
		require.Len(t, state.Duplicates, len(log)-len(m.log))
		for _, e := range state.Events.Inserted() {
			require.NotEqual(t, "rejected", e.Outcome, "%s %s: %s", e.EventID, e.EventType, e.Reason)
		}
		requireCredits(t, m, state)
		requireLicenses(t, m, state)
		requireSubscriptions(t, m, state)
	})
}

func requireCredits(t *rapid.T, m model, state *projections.State) {
	want := m.balances()
	require.Len(t, state.Credits.Inserted(), len(want))
	for user, balance := range want {
		credits, _ := state.Credits.Get(user)
		require.Equal(t, balance, credits.Balance, user)
		require.Equal(t, credits.Granted-credits.Reversed, credits.Balance, user)
	}
	left := map[string]int64{}
	grants := map[string]int{}
	for _, line := range state.Ledger.Inserted() {
		left[line.ProviderPaymentID] += line.Delta
		if line.Entry == "grant" {
			grants[line.ProviderPaymentID]++
		}
	}
	for _, payment := range m.payments() {
		claim, user := m.claimOf(payment), m.userOf(payment)
		row, known := state.Payments.Get(payment)
		require.True(t, known, payment)
		require.Equal(t, user, row.UserID, payment)
		if user == "" || claim.credits == 0 || claim.kind == "pro" {
			require.Zero(t, grants[payment], payment)
			continue
		}
		require.Equal(t, 1, grants[payment], payment)
		require.Equal(t, m.left(payment), left[payment], payment)
		if taken, any := m.takenBack(payment); any {
			require.Equal(t, taken, *row.RefundedAmount, payment)
			require.Equal(t, taken == claim.amount, !row.ReversedAt.IsZero(), payment)
		}
	}
}

func requireLicenses(t *rapid.T, m model, state *projections.State) {
	want := m.licenses()
	require.Len(t, state.Licenses.Inserted(), len(want))
	for user, active := range want {
		license, _ := state.Licenses.Get(user)
		require.Equal(t, active, license.Status == "active", user)
	}
}

func requireSubscriptions(t *rapid.T, m model, state *projections.State) {
	want := m.subscriptions()
	require.Len(t, state.Subscriptions.Inserted(), len(want))
	users := map[string]bool{}
	for id, subscription := range want {
		row, _ := state.Subscriptions.Get(id)
		require.Equal(t, subscription.status, row.Status, id)
		require.Equal(t, subscription.user, row.UserID, id)
		require.Equal(t, subscription.started, row.StartedAt, id)
		if subscription.user != "" {
			users[subscription.user] = true
		}
	}
	for user := range users {
		shown, known := state.Current.Get(user)
		require.True(t, known, user)
		for id, other := range want {
			if other.user == user && live[other.status] {
				require.True(t, live[shown.Status], "%s is live, %s is shown", id, shown.SubscriptionID)
				require.False(t, other.started.After(want[shown.SubscriptionID].started), "%s was started after %s", id, shown.SubscriptionID)
			}
		}
	}
}

var live = map[string]bool{"active": true, "trialing": true, "past_due": true, "scheduled_cancel": true, "paused": true}
