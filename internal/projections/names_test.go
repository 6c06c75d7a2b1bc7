package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const buyer = `"metadata":{"kind":"one_time","user_id":"u1","credits":200}`

// The names are those of the events' payments, in the order of the log: a
// transaction, an order, or both; granted is how many payments they are.
func TestWhichNamesMeanTheSamePayment(t *testing.T) {
	t.Parallel()
	const (
		order       = `"order":"o1"`
		transaction = `"provider_payment_id":"t1"`
		both        = `"order":{"id":"o1","transaction":"t1"}`
		second      = `"order":{"id":"o1","transaction":"t2"}`
		otherOrder  = `"order":"o2"`
	)
	for name, c := range map[string]struct {
		names   []string
		granted []string // by their provider_payment_id
	}{
		"an order, then its transaction":             {[]string{order, both}, []string{"o1"}},
		"a transaction, then its order":              {[]string{both, order}, []string{"t1"}},
		"a transaction, then both":                   {[]string{transaction, both}, []string{"t1"}},
		"both, then the transaction":                 {[]string{both, transaction}, []string{"t1"}},
		"the order links what only both names know":  {[]string{order, both, transaction}, []string{"o1"}},
		"a transaction learns its order":             {[]string{transaction, both, order}, []string{"t1"}},
		"two transactions of one order":              {[]string{both, second}, []string{"t1", "t2"}},
		"an order, then two transactions of it":      {[]string{order, both, second}, []string{"o1", "t2"}},
		"an order alone means its first transaction": {[]string{both, second, order}, []string{"t1", "t2"}},
		"a second transaction is known again":        {[]string{both, second, `"provider_payment_id":"t2"`}, []string{"t1", "t2"}},
		"two orders":                                 {[]string{order, otherOrder}, []string{"o1", "o2"}},
		"two transactions":                           {[]string{transaction, `"provider_payment_id":"t2"`}, []string{"t1", "t2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			for i, n := range c.names {
				bodies = append(bodies, checkout("e"+string(rune('1'+i)), n+`,`+buyer))
			}
			s := fold(t, bodies...)
			var granted []string
			for _, line := range s.Ledger.Inserted() {
				granted = append(granted, line.ProviderPaymentID)
			}
			require.Equal(t, c.granted, granted)
			require.Len(t, s.Payments.Inserted(), len(c.granted))
			balance, _ := s.Credits.Get("u1")
			require.Equal(t, int64(200*len(c.granted)), balance.Balance)
			for id, outcome := range outcomes(s) {
				require.Contains(t, []string{"applied", "duplicate_payment"}, outcome, id)
			}
		})
	}
}

func TestAnOrderAloneMeansItsFirstTransaction(t *testing.T) {
	t.Parallel()
	s := fold(t, checkout("e1", `"order":{"id":"o1","transaction":"t1"},`+buyer),
		checkout("e2", `"order":{"id":"o1","transaction":"t2"},`+buyer), checkout("e3", `"order":"o1"`))
	row := recorded(t, s, "e3")
	require.Equal(t, []string{"t1", "duplicate_payment"}, []string{row.ProviderPaymentID, row.Outcome})
}

// Only a checkout is followed by the event that has the transaction.
func TestAPaidEventClaimsByItsOrderButNotWithoutAName(t *testing.T) {
	t.Parallel()
	s := fold(t, paid("e1", `"id":"s1","order":"o1","metadata":{"user_id":"u1","credits":5}`), paid("e2", `"id":"s1","metadata":{"user_id":"u1"}`))
	require.Equal(t, map[string]string{"e1": "applied", "e2": "rejected missing_payment_id"}, outcomes(s))
	require.Equal(t, []string{"e1 gives u1 5 subscription for o1"}, grants(s))
}

// A pack whose checkout names the order and whose paid event names both.
func TestACheckoutByOrderAndItsPaidEventAreOnePaymentInBothOrders(t *testing.T) {
	t.Parallel()
	ordered := checkout("e1", `"order":"o1",`+buyer)
	charged := paid("e2", `"id":"s1","last_transaction":{"id":"t1","order":"o1"},`+buyer)
	for name, c := range map[string]struct {
		log    []string
		claims string
		want   string
	}{
		"checkout first": {
			[]string{ordered, charged},
			"e1",
			"payment provider_payment_id=o1 order_id=o1 subscription_id=s1 user_id=u1 kind=one_time credits=200 event_id=e1 " +
				"occurred_at=12-01T00:00:00Z stream_seq=1 transaction_id=t1 first_of_order=true",
		},
		"paid first": {
			[]string{charged, ordered},
			"e2",
			"payment provider_payment_id=t1 order_id=o1 subscription_id=s1 user_id=u1 kind=one_time credits=200 event_id=e2 " +
				"occurred_at=12-01T00:00:00Z stream_seq=1 transaction_id=t1 first_of_order=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, c.log...)
			require.Equal(t, []string{c.want}, lines("payment", s.Payments.Inserted()))
			require.Len(t, grants(s), 1)
			require.Equal(t, c.claims, s.Ledger.Inserted()[0].EventID)
		})
	}
}
