package projections

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADuplicateEventIsOnlyRecorded(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]string{
		"the same":           checkout("e1", pack),
		"with another body":  paid("e1", `"id":"s1","provider_payment_id":"t9","metadata":{"user_id":"u9","credits":9}`),
		"without any effect": ofType("customer.created", "e1", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once, twice := tables(fold(t, checkout("e1", pack))), tables(fold(t, checkout("e1", pack), again, again))
			require.Equal(t, []string{"duplicate_event stream_seq=2 event_id=e1", "duplicate_event stream_seq=3 event_id=e1"}, twice[1:3])
			require.Equal(t, once, append(twice[:1:1], twice[3:]...))
		})
	}
}

func TestTheSecondMessageOfARejectedOrIgnoredEventIsADuplicate(t *testing.T) {
	t.Parallel()
	for outcome, first := range map[string]string{
		"rejected missing_user": checkout("e1", `"provider_payment_id":"t1","metadata":{"kind":"one_time","credits":200}`),
		"ignored":               ofType("customer.created", "e1", pack),
	} {
		s := fold(t, first, checkout("e1", pack))
		require.Equal(t, map[string]string{"e1": outcome}, outcomes(s))
		require.Len(t, s.Duplicates, 1)
		require.Empty(t, grants(s))
	}
}

func TestASecondEventOfOnePaymentGrantsNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{KindOneTime, KindSubscription, KindPro} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			body := ofKind(kind, pack)
			once := fold(t, checkout("e1", body))
			again := fold(t, checkout("e1", body), checkout("e2", body), paid("e3", `"id":"s1",`+body))
			require.Equal(t, map[string]string{"e1": "applied", "e2": "duplicate_payment", "e3": "duplicate_payment"}, outcomes(again))
			require.Equal(t, grants(once), grants(again))
			require.Equal(t, once.Credits.Inserted(), again.Credits.Inserted())
			require.Equal(t, once.Licenses.Inserted(), again.Licenses.Inserted())
		})
	}
}

// The first event says what was bought. A later one need not say it again.
func TestALaterEventNeedsOnlyANameOfItsPayment(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{KindOneTime, KindSubscription, KindPro} {
		s := fold(t, checkout("e1", `"order":"o1",`+ofKind(kind, pack)), paid("e2", `"last_transaction_id":"t1"`), checkout("e3", `"order":"o1"`))
		require.Equal(t, map[string]string{"e1": "applied", "e2": "duplicate_payment", "e3": "duplicate_payment"}, outcomes(s))
		later := recorded(t, s, "e3")
		require.Equal(t, []string{kind, "u1", "t1"}, []string{later.Kind, later.UserID, later.ProviderPaymentID})
	}
}

func TestALaterEventFillsEmptyFieldsOfThePayment(t *testing.T) {
	t.Parallel()
	bare := `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":200}`
	s := fold(t, checkout("e1", bare), checkout("e2",
		`"order":{"id":"o1","amount_paid":1210,"currency":"EUR"},"product":"prod_1","subscription":"s1",`+bare))
	require.Equal(t, []string{"payment provider_payment_id=t1 transaction_id=t1 order_id=o1 subscription_id=s1 user_id=u1 kind=one_time " +
		"product_key=prod_1 amount=1210 currency=EUR credits=200 event_id=e1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true"},
		lines("payment", s.Payments.Inserted()))

	s = fold(t, checkout("e1", `"product":"p1","order":{"id":"o1","amount_paid":1,"currency":"EUR"},`+bare), checkout("e2",
		`"product":"p2","order":{"id":"o2","amount_paid":2,"currency":"USD"},"provider_payment_id":"t1","metadata":{"credits":7}`))
	require.Equal(t, []string{"payment provider_payment_id=t1 transaction_id=t1 order_id=o1 user_id=u1 kind=one_time product_key=p1 amount=2 " +
		"currency=USD credits=200 event_id=e1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true"},
		lines("payment", s.Payments.Inserted()), "the names, the smaller product and the largest numbers stay")
}

func TestCreditsThatComeLaterAreGrantedOnce(t *testing.T) {
	t.Parallel()
	without := `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1"}`
	with := `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","credits":50}`
	s := fold(t, at(1, paid("e1", without)), at(2, paid("e2", with)), at(3, paid("e3", with)))
	require.Equal(t, map[string]string{"e1": "applied", "e2": "duplicate_payment", "e3": "duplicate_payment"}, outcomes(s))
	require.Equal(t, []string{"credit_ledger provider_payment_id=t1 line=1 user_id=u1 kind=subscription entry=grant delta=50 " +
		"available_at=01-02T10:01:00Z event_id=e2 occurred_at=01-02T10:02:00Z stream_seq=2"}, lines("credit_ledger", s.Ledger.Inserted()))
	payment, _ := s.Payments.Get("t1")
	require.Equal(t, "e1", payment.EventID, "the first event still claims the payment")
	require.Equal(t, int64(50), *payment.Credits)
}

// The event that names the user first says too little for a claim. Another user's event says everything.
func TestAnEventThatSaysEverythingDecidesWhoseThePaymentIs(t *testing.T) {
	t.Parallel()
	for name, incomplete := range map[string]string{
		"no kind":    `"provider_payment_id":"t1","order":"o1","metadata":{"user_id":"u2"}`,
		"no credits": `"provider_payment_id":"t1","order":"o1","metadata":{"kind":"one_time","user_id":"u2"}`,
	} {
		inEveryOrder(t, anyMode, []string{at(1, checkout("e1", incomplete)), at(2, checkout("e2", `"order":"o1",`+pack))}, func(s *State, order []int) {
			require.Equal(t, map[string]int64{"u1 one_time": 200}, leftOf(s), name)
			require.Contains(t, outcomes(s)["e1"], "rejected", name)
			require.Equal(t, "applied", outcomes(s)["e2"], name)
			later := foldInto(t, s, anyMode, at(3, checkout("e3", strings.Replace(pack, "u1", "u2", 1))))
			require.Equal(t, "rejected payment_conflict", outcomes(later)["e3"], name)
		})
	}
}

func TestARejectedEventClaimsNothing(t *testing.T) {
	t.Parallel()
	for name, incomplete := range map[string]string{
		"no user":              `"provider_payment_id":"t1","order":"o1","metadata":{"kind":"one_time"}`,
		"credits out of range": `"provider_payment_id":"t1","order":"o1","metadata":{"kind":"one_time","user_id":"u2","credits":0}`,
		"unusable text":        `"provider_payment_id":"t1","order":"o1","metadata":{"kind":"one_time","user_id":"\u0000","credits":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, checkout("e1", incomplete), checkout("e2", `"order":"o1",`+pack))
			require.Contains(t, outcomes(s)["e1"], "rejected")
			require.Equal(t, "applied", outcomes(s)["e2"])
			require.Equal(t, []string{"e2 gives u1 200 one_time for t1"}, grants(s))
		})
	}
}
