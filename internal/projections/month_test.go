package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
)

// A random month of a random shop, in any order.
func TestAMonthOfAShopGivesTheTablesOfTheModel(t *testing.T) {
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
			if e.Reason != "missing_user" && e.Reason != "unknown_kind" && e.Reason != "missing_credits" { // a later event completes the payment
				require.NotEqual(t, "rejected", e.Outcome, "%s %s: %s", e.EventID, e.EventType, e.Reason)
			}
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
	rows := map[string]projections.Payment{} // by transaction
	for _, row := range state.Payments.Rows() {
		rows[row.TransactionID] = row
	}
	left := map[string]int64{}
	granted := map[string]int64{}
	for _, line := range state.Ledger.Inserted() {
		left[line.ProviderPaymentID] += line.Delta
		if line.Entry == "grant" || line.Entry == "correction" && line.Delta < 0 {
			granted[line.ProviderPaymentID] += line.Delta
		}
	}
	for _, payment := range m.payments() {
		claim, user := m.claimOf(payment), m.userOf(payment)
		row, known := rows[payment]
		require.True(t, known, payment)
		require.Equal(t, user, row.UserID, payment)
		name, other := row.ProviderPaymentID, row.MergedID
		if user == "" || claim.credits == 0 || claim.kind == "pro" {
			require.Zero(t, granted[name]+granted[other], payment)
			continue
		}
		require.Equal(t, claim.credits, granted[name]+granted[other], payment)
		require.Equal(t, m.left(payment), left[name]+left[other], payment)
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
		if subscription.user != "" && !subscription.other {
			users[subscription.user] = true
		}
	}
	for user := range users {
		shown, known := state.Current.Get(user)
		require.True(t, known, user)
		for id, other := range want {
			if other.user == user && !other.other && live[other.status] {
				require.True(t, live[shown.Status], "%s is live, %s is shown", id, shown.SubscriptionID)
				require.False(t, other.started.After(want[shown.SubscriptionID].started), "%s was started after %s", id, shown.SubscriptionID)
			}
		}
	}
}

var live = map[string]bool{"active": true, "trialing": true, "past_due": true, "scheduled_cancel": true, "paused": true}
