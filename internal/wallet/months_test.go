package wallet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// months are the wallets of a shop that sells credits month by month, for a year.
type months struct {
	wallet
	s     *store.Store
	rules projections.Rules
	now   time.Time
	seq   uint64
}

func newMonths(t *testing.T) *months {
	w, s := newWallet(t)
	sold, err := catalogue.Parse([]byte(`
version: 1
products:
  big: {kind: subscription, credits: 300, drip: monthly, months: 12, valid_months: 1}
  small: {kind: subscription, credits: 100, drip: monthly, months: 12, valid_months: 1}
  once: {kind: subscription, credits: 250}
`))
	require.NoError(t, err)
	rules := projections.Rules{Mode: projections.ModeAny, Catalogue: sold}
	m := &months{wallet: w, s: s, rules: rules, now: time.Now().UTC().Truncate(time.Second)}
	fixture.Reset(w.ctx, t, s, m.rules)
	return m
}

// apply folds one more event into the live tables.
func (m *months) apply(t *testing.T, body string) {
	t.Helper()
	m.seq++
	advance := store.Advance{LogID: "log-1", From: fixture.From(0, m.seq-1), To: m.seq}
	message := events.Message{Provider: "provider", Seq: m.seq, Body: []byte(body), ReceivedAt: m.now}
	_, err := live.Apply(m.ctx, m.s, m.rules, []events.Event{providers.Decode(message)}, advance)
	require.NoError(t, err)
}

// pay is the payment of u1 so many days ago, for a year that ends at the same time for all payments.
func (m *months) pay(t *testing.T, payment, product string, daysAgo int) {
	t.Helper()
	day := func(n int) string { return m.now.AddDate(0, 0, n).Format(time.RFC3339) }
	m.apply(t, fmt.Sprintf(`{"id":"paid_%s","eventType":"subscription.paid","created_at":%q,"object":{"id":"s1",
		"object":"subscription","product":%q,"last_transaction_id":%[1]q,"current_period_start_date":%[4]q,
		"current_period_end_date":%[5]q,"metadata":{"user_id":"u1"}}}`, payment, day(-daysAgo), product, day(-70), day(295)))
}

func (m *months) refund(t *testing.T, payment string) {
	t.Helper()
	m.apply(t, fmt.Sprintf(`{"id":"refund_%s","eventType":"refund.created","object":{"id":"r_%[1]s","status":"succeeded",
		"transaction":{"id":%[1]q}}}`, payment))
}

// The second payment of a period grants nothing in its first month, because the first one has granted more. What is spent
// of its second month stays spent of that month when the first payment is refunded and the second one grants its first
// month, too.
func TestASpendKeepsItsMonthWhenTheEarlierPlanIsRefunded(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.pay(t, "t1", "big", 70)
	m.pay(t, "t2", "small", 35)
	require.EqualValues(t, 100, m.balance(t, "u1"))
	require.True(t, m.spend(t, "u1", 80, "k1"))
	m.refund(t, "t1")
	require.EqualValues(t, 20, m.balance(t, "u1"))
	require.Zero(t, ask[int64](t, m.wallet, "select count(*) from wallet.without_grant()"))
	m.requireSums(t, "u1")
}

// The first payment of the period has granted at once as much as the first months of the second one, and half of the third.
// What is spent of the third stays spent of that month when the first payment is refunded.
func TestASpendKeepsItsMonthWhenThePlanThatGrantedAtOnceIsRefunded(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.pay(t, "t1", "once", 70)
	m.pay(t, "t2", "small", 65)
	require.EqualValues(t, 250+50, m.balance(t, "u1"))
	require.True(t, m.spend(t, "u1", 40, "k1"))
	require.Equal(t, "t2/3", ask[string](t, m.wallet, "select provider_payment_id || '/' || part from wallet.spend_part"))
	m.refund(t, "t1")
	require.EqualValues(t, 100-40, m.balance(t, "u1"))
	require.Zero(t, ask[int64](t, m.wallet, "select count(*) from wallet.without_grant()"))
	m.requireSums(t, "u1")
}

// The first payment of a period comes late. What is spent of the first month of the second payment, which now grants
// nothing there, is owed and paid by the month of the first payment. No later month can be spent before it begins.
func TestASpendKeepsItsMonthWhenTheEarlierPlanComesLate(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.pay(t, "t2", "small", 5)
	require.True(t, m.spend(t, "u1", 80, "k1"))
	require.EqualValues(t, 20, m.balance(t, "u1"))
	m.pay(t, "t1", "big", 10)
	require.EqualValues(t, 300-80, m.balance(t, "u1"))
	m.requireSums(t, "u1")
}
