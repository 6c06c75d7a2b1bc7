package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const buyer = `"metadata":{"kind":"one_time","user_id":"u1","credits":200}`

// names has the names in each event, in the order of the log: a transaction, an order or both.
// granted has one key for each payment.
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
		"an order, then its transaction":                       {[]string{order, both}, []string{"o1"}},
		"a transaction, then its order":                        {[]string{both, order}, []string{"t1"}},
		"a transaction, then both":                             {[]string{transaction, both}, []string{"t1"}},
		"both, then the transaction":                           {[]string{both, transaction}, []string{"t1"}},
		"the order links what only both names know":            {[]string{order, both, transaction}, []string{"o1"}},
		"a transaction learns its order":                       {[]string{transaction, both, order}, []string{"t1"}},
		"two transactions of one order":                        {[]string{both, second}, []string{"t1", "t2"}},
		"an order, then two transactions of it":                {[]string{order, both, second}, []string{"o1", "t2"}},
		"without a transaction, the order means its first one": {[]string{both, second, order}, []string{"t1", "t2"}},
		"a second transaction is known again":                  {[]string{both, second, `"provider_payment_id":"t2"`}, []string{"t1", "t2"}},
		"two orders":                                           {[]string{order, otherOrder}, []string{"o1", "o2"}},
		"two transactions":                                     {[]string{transaction, `"provider_payment_id":"t2"`}, []string{"t1", "t2"}},
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

func TestAnOrderWithoutATransactionMeansItsFirstTransaction(t *testing.T) {
	t.Parallel()
	s := fold(t, checkout("e1", `"order":{"id":"o1","transaction":"t1"},`+buyer),
		checkout("e2", `"order":{"id":"o1","transaction":"t2"},`+buyer), checkout("e3", `"order":"o1"`))
	row := recorded(t, s, "e3")
	require.Equal(t, []string{"t1", "duplicate_payment"}, []string{row.ProviderPaymentID, row.Outcome})
}

// A paid event that names only an order is not followed by one with the transaction.
func TestAPaidEventClaimsByItsOrderAndIsRejectedWithoutAName(t *testing.T) {
	t.Parallel()
	s := fold(t, paid("e1", `"id":"s1","order":"o1","metadata":{"user_id":"u1","credits":5}`), paid("e2", `"id":"s1","metadata":{"user_id":"u1"}`))
	require.Equal(t, map[string]string{"e1": "applied", "e2": "rejected missing_payment_id"}, outcomes(s))
	require.Equal(t, []string{"e1 gives u1 5 subscription for o1"}, grants(s))
}

// A pack whose checkout names the order and whose paid event names both.
func TestACheckoutByOrderAndItsPaidEventAreOnePaymentInAnyOrder(t *testing.T) {
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
			"payment provider_payment_id=o1 transaction_id=t1 order_id=o1 subscription_id=s1 user_id=u1 kind=one_time credits=200 " +
				"event_id=e1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true",
		},
		"paid first": {
			[]string{charged, ordered},
			"e2",
			"payment provider_payment_id=t1 transaction_id=t1 order_id=o1 subscription_id=s1 user_id=u1 kind=one_time credits=200 " +
				"event_id=e1 occurred_at=12-01T00:00:00Z stream_seq=2 known=true",
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

// The checkout of a subscription names only the order, and its paid event only the transaction.
// They are one payment, so the checkout claims nothing.
func TestACheckoutWithoutATransactionLeavesTheGrantToThePaidEvent(t *testing.T) {
	t.Parallel()
	all := `"status":"succeeded","transaction":{"id":"t1","order":"o1","amount_paid":1210,"refunded_amount":1210}`
	for kind, want := range map[string][]string{
		"subscription": {"e2 gives u1 200 subscription for t1"}, "one_time": {"e2 gives u1 200 one_time for t1"}, "pro": nil,
	} {
		meta := `"metadata":{"kind":"` + kind + `","user_id":"u1","credits":200}`
		started := checkout("e1", `"order":{"id":"o1"},"subscription":{"id":"s1"},`+meta)
		charged := paid("e2", `"id":"s1","last_transaction_id":"t1",`+meta)
		for _, log := range [][]string{{started, charged}, {charged, started}} {
			s := fold(t, log...)
			require.Equal(t, want, grants(s), kind)
			require.Len(t, s.Payments.Inserted(), 1, kind)
			s = foldInto(t, s, anyMode, refund("e3", all))
			require.Zero(t, balanceOf(t, s, "u1"), kind)
			if license, bought := s.Licenses.Get("u1"); bought {
				require.Equal(t, "revoked", license.Status)
			}
		}
	}
}

// A reversal names the transaction before any event says which order it belongs to.
func TestAPaymentReversedUnderItsOtherNameIsGrantedOnce(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"kind":"one_time","user_id":"u1","credits":200}`
	ordered := checkout("e1", `"order":{"id":"o1"},`+meta)
	taken := dispute("e2", `"amount":1210,"transaction":"t1"`)
	both := checkout("e3", `"order":{"id":"o1","transaction":"t1"},`+meta)
	s := fold(t, ordered, taken, both)
	require.Equal(t, []string{
		"e1 gives u1 200 one_time for o1",
		"e3 gives u1 -200 one_time for o1", "e3 gives u1 200 one_time for t1", "e2 gives u1 -200 one_time for t1",
	}, grants(s), "the dispute takes effect")
	require.Equal(t, "applied", outcomes(s)["e3"], "it grants under the name of the transaction")

	refunded := refund("e4", `"transaction":{"id":"t1","order":"o1","amount_paid":1210,"refunded_amount":1210}`)
	require.Zero(t, balanceOf(t, fold(t, ordered, taken, refunded), "u1"))
}

// A buyer can write the metadata of a checkout link.
func TestABuyerCannotNameThePaymentOfAnotherUser(t *testing.T) {
	t.Parallel()
	victim := checkout("e1", `"order":{"id":"o1","transaction":"t1","amount_paid":5000},"metadata":{"kind":"one_time","user_id":"victim","credits":5000}`)
	const written = `{"kind":"one_time","user_id":"u1","credits":10,"provider_payment_id":"t1"}`
	cheap := checkout("e2", `"order":{"id":"o2","transaction":"t2","amount_paid":100},"metadata":`+written)
	back := refund("e3", `"transaction":{"id":"t2","order":"o2","amount_paid":100,"refunded_amount":100},"checkout":{"metadata":`+written+`}`)
	s := fold(t, victim, cheap, back)
	require.EqualValues(t, 5000, balanceOf(t, s, "victim"))
	require.Zero(t, balanceOf(t, s, "u1"))
}

// The event names only an order. The buyer must not give it a transaction.
func TestMetadataCannotAddATransactionToAnOrder(t *testing.T) {
	t.Parallel()
	const written = `"metadata":{"kind":"one_time","user_id":"u1","credits":200,"provider_payment_id":"t9"}`
	ordered := checkout("e1", `"order":{"id":"o1","amount_paid":1000},`+written)
	charged := checkout("e2", `"order":{"id":"o1","transaction":"t1","amount_paid":1000},`+written)
	back := refund("e3", `"transaction":{"id":"t1","order":"o1","amount_paid":1000,"refunded_amount":1000}`)
	for _, log := range permutations([]string{ordered, charged, back}) {
		require.Zero(t, balanceOf(t, fold(t, log...), "u1"))
	}
	s := fold(t, checkout("e1", written))
	require.Equal(t, []string{"e1 gives u1 200 one_time for t9"}, grants(s), "it counts if nothing else names the payment")
}

func TestAnEventWithTheIDOfAnImplicitSubscriptionIsRejected(t *testing.T) {
	t.Parallel()
	s := fold(t, ofType("subscription.active", "e1", `"id":"implicit:u1","metadata":{"user_id":"u2"}`))
	require.Equal(t, "rejected invalid_text", outcomes(s)["e1"])
	require.Empty(t, s.Subscriptions.Inserted())
}

// The event is rejected if the purchase is not known yet, and ignored otherwise. In both cases it says that the two names
// belong to one payment.
func TestAnEventOfNoSubscriptionLinksTheNamesOfAPaymentInAnyOrder(t *testing.T) {
	t.Parallel()
	ordered := at(1, checkout("e1", `"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}`))
	both := at(2, ofType("subscription.canceled", "e2", `"last_transaction":{"id":"t1","order":"o1"}`))
	back := at(3, ofType("refund.created", "e3", `"transaction":{"id":"t1"}`))
	for _, log := range permutations([]string{ordered, both, back}) {
		credits, _ := fold(t, log...).Credits.Get("u1")
		require.Zero(t, credits.Balance, log)
		require.EqualValues(t, 100, credits.Granted, log)
	}
}
