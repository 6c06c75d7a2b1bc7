package projections

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two rows have granted before a later event shows that they are one payment. A correction
// takes one of the grants back.
func TestTwoGrantsOfOnePaymentAreCorrected(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"kind":"one_time","user_id":"u1","credits":200}`
	charged := checkout("e1", `"provider_payment_id":"t1","amount":1000,`+meta)
	ordered := checkout("e2", `"order":{"id":"o1","amount_paid":1000},`+meta)
	both := checkout("e3", `"order":{"id":"o1","transaction":"t1"},`+meta)
	for _, log := range permutations([]string{charged, ordered, both}) {
		s := fold(t, log...)
		require.EqualValues(t, 200, balanceOf(t, s, "u1"))
		back := foldInto(t, s, anyMode, refund("e4", `"refund_amount":1000,"transaction":{"order":"o1","amount_paid":1000}`))
		require.Zero(t, balanceOf(t, back, "u1"))
		credits, _ := back.Credits.Get("u1")
		require.Equal(t, []int64{200, 200}, []int64{credits.Granted, credits.Reversed})
	}
	s := fold(t, charged, ordered, both)
	line := s.Ledger.Inserted()[2]
	require.Equal(t, []any{"e3", entryCorrection, int64(-200)}, []any{line.EventID, line.Entry, line.Delta})
	merged, _ := s.Payments.Get("o1")
	require.Equal(t, Payment{
		ProviderPaymentID: "o1", Provider: "provider",
		EventID: merged.EventID, OccurredAt: merged.OccurredAt, StreamSeq: merged.StreamSeq,
	}, merged, "the row says nothing else")
	require.Equal(t, "duplicate_payment", outcomes(foldInto(t, s, anyMode, checkout("e5", `"order":"o1"`)))["e5"])

	s = fold(t, charged, ordered, refund("e4", `"refund_amount":1000,"transaction":{"order":"o1","amount_paid":1000}`), both)
	taken := int64(0)
	for _, p := range s.Payments.All() {
		taken += orZero(p.RefundedAmount)
	}
	require.EqualValues(t, 1000, taken, "the refund counts once")
	merged, _ = s.Payments.Get("o1")
	require.Equal(t, []any{true, ""}, []any{merged.ReversedAt.IsZero(), merged.ReversedBy})
}

// The refund names the transaction; the payment is known only by its order.
func TestAReversalUnderOneNameAppliesToThePaymentUnderTheOther(t *testing.T) {
	t.Parallel()
	bought := checkout("e1", `"order":{"id":"o1","amount_paid":1000},"metadata":{"kind":"one_time","user_id":"u1","credits":200}`)
	half := refund("e2", `"refund_amount":500,"transaction":{"id":"t1","amount_paid":1000}`)
	link := checkout("e3", `"order":{"id":"o1","transaction":"t1"}`)
	for _, log := range permutations([]string{bought, half, link}) {
		require.EqualValues(t, 100, balanceOf(t, fold(t, log...), "u1"))
	}
}

// The checkout of a recorded first payment has an amount of 0, because the whole is still due.
func TestACheckoutWithAnAmountOfZeroGetsTheAmountOfItsPaidEvent(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"kind":"subscription","user_id":"u1","credits":100}`
	zero := checkout("e1", `"order":{"id":"o1","transaction":"t1","amount":1000,"amount_due":1000,"amount_paid":0,"currency":"EUR","status":"paid"},"subscription":"s1",`+meta)
	thousand := paid("e2", `"id":"s1","last_transaction":{"id":"t1","order":"o1","amount":1000,"amount_paid":1000,"currency":"EUR"},`+meta)
	half := refund("e3", `"refund_amount":500,"transaction":"t1"`)
	for _, log := range permutations([]string{zero, thousand, half}) {
		s := fold(t, log...)
		p, _ := s.Payments.Get("t1")
		require.Equal(t, []int64{1000, 500}, []int64{*p.Amount, *p.RefundedAmount})
		var left int64
		for _, line := range s.Ledger.Inserted() {
			left += line.Delta
		}
		require.EqualValues(t, 50, left)
	}
	free := fold(t, paid("e1", `"id":"s1","last_transaction":{"id":"t1","amount":1000,"discount_amount":1000,"amount_due":1000,"amount_paid":0},`+meta))
	p, _ := free.Payments.Get("t1")
	require.Zero(t, *p.Amount, "with a discount of the whole amount, 0 was really paid")
}

// In the older shape the checkout has the metadata and no transaction, and the paid event has
// only the transaction.
func TestACheckoutThatStartsASubscriptionDecidesWhatItsPaymentsGrant(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{KindSubscription, KindOneTime, KindPro} {
		started := checkout("e1", `"order":{"id":"o1"},"subscription":{"id":"s1"},"metadata":{"kind":"`+kind+`","user_id":"u1","credits":100}`)
		active := ofType("subscription.active", "e2", `"id":"s1","last_transaction_id":"t1"`)
		first, renewal := paid("e3", `"id":"s1","last_transaction_id":"t1"`), paid("e4", `"id":"s1","last_transaction_id":"t2"`)
		for _, log := range permutations([]string{started, active, first, renewal}) {
			s := fold(t, log...)
			for _, id := range []string{"t1", "t2"} {
				p, _ := s.Payments.Get(id)
				require.Equal(t, []string{"u1", kind}, []string{p.UserID, p.Kind}, id)
			}
			sum := map[string]int64{}
			for _, line := range s.Ledger.Inserted() {
				sum[line.Kind] += line.Delta
			}
			license, licensed := s.Licenses.Get("u1")
			switch kind {
			case KindPro:
				require.Equal(t, "active", license.Status)
				require.Zero(t, sum[KindSubscription])
			default:
				require.False(t, licensed)
				require.EqualValues(t, 200, sum[kind])
			}
			shown := s.Current.All()
			require.Equal(t, kind == KindSubscription, len(shown) > 0 && shown[0].live(), "only a subscription is shown")
		}
	}
}

func (s Subscription) live() bool { return !HasEnded(s.Status) }

// The checkout names no subscription; later events of its payment do.
func TestACheckoutWithoutASubscriptionIDLeavesOnlyTheRealSubscription(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"kind":"subscription","user_id":"u1"}`
	bought := at(1, checkout("e1", `"order":{"id":"o1","transaction":"t1"},`+meta))
	charged := at(2, paid("e2", `"id":"s1","last_transaction_id":"t1",`+meta))
	canceled := at(3, ofType("subscription.canceled", "e3", `"id":"s1","last_transaction_id":"t1"`))
	for _, log := range [][]string{{bought, charged, canceled}, {bought, canceled}} {
		for _, log := range permutations(log) {
			s := fold(t, log...)
			shown, _ := s.Current.Get("u1")
			require.Equal(t, []string{"s1", "canceled"}, []string{shown.SubscriptionID, shown.Status})
		}
	}
}

// Its payment is of the kind subscription although nothing says so.
func TestAPaidEventWithoutSubscriptionAndKindGrants(t *testing.T) {
	t.Parallel()
	s := fold(t, paid("e1", `"last_transaction_id":"t1","metadata":{"user_id":"u1","credits":5}`))
	require.Equal(t, []string{"e1 gives u1 5 subscription for t1"}, grants(s))
	require.Equal(t, statusActive, s.Current.find("u1").Status)
}

// The largest amount counts. If its event names no currency, it takes the currency of another event.
func TestAnAmountTakesTheCurrencyOfAnotherEvent(t *testing.T) {
	t.Parallel()
	meta := `"metadata":{"kind":"one_time","user_id":"u1","credits":5}`
	log := []string{
		checkout("e1", `"order":{"id":"o1","amount_paid":1210},`+meta),
		checkout("e2", `"order":{"id":"o1","amount_paid":1000,"currency":"EUR"},`+meta),
	}
	inEveryOrder(t, anyMode, log, func(s *State, order []int) {
		p, _ := s.Payments.Get("o1")
		require.Equal(t, "1210 EUR", fmt.Sprintf("%d %s", *p.Amount, p.Currency), "%v", order)
	})
}

func TestAnImplicitSubscriptionStartsWithItsEarliestEvent(t *testing.T) {
	t.Parallel()
	first := at(1, checkout("e1", `"provider_payment_id":"t1","metadata":{"kind":"subscription","user_id":"u1"}`))
	again := at(3, checkout("e2", `"provider_payment_id":"t1","metadata":{"kind":"subscription","user_id":"u1"}`))
	canceled := at(4, ofType("subscription.canceled", "e3", `"metadata":{"user_id":"u1"}`))
	for _, log := range [][]string{{first, again, canceled}, {again, first, canceled}, {canceled, again, first}, {again, canceled, first}} {
		row, _ := fold(t, log...).Subscriptions.Get(ImplicitSubscription("u1"))
		require.Equal(t, []any{minuteOf(1), "canceled"}, []any{row.StartedAt, row.Status})
	}
}

func TestANewPaymentRevivesACanceledImplicitSubscription(t *testing.T) {
	t.Parallel()
	buy := func(minute int, id string) string {
		return at(minute, checkout("of "+id, `"provider_payment_id":"`+id+`","metadata":{"kind":"subscription","user_id":"u1"}`))
	}
	canceled := at(2, ofType("subscription.canceled", "e2", `"metadata":{"user_id":"u1"}`))
	for _, log := range permutations([]string{buy(1, "t1"), canceled, buy(3, "t3")}) {
		shown, _ := fold(t, log...).Current.Get("u1")
		require.Equal(t, "active", shown.Status)
	}
	shown, _ := fold(t, buy(1, "t1"), canceled).Current.Get("u1")
	require.Equal(t, "canceled", shown.Status)
}

// The row of a payment has the event and the time of the first event that says that it was paid, also if that event has
// claimed nothing.
func TestTheEventOfAPaymentIsTheFirstThatSaysThatItWasPaid(t *testing.T) {
	t.Parallel()
	claim := at(3, checkout("e2", `"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":10}`))
	link := at(5, checkout("e3", `"order":{"id":"o1","transaction":"t1"}`))
	for first, want := range map[string][]any{
		at(2, refund("e1", `"refund_amount":1,"transaction":{"id":"t1","amount_paid":10}`)):     {"e2", minuteOf(3)},
		at(2, ofType("subscription.canceled", "e1", `"last_transaction_id":"t1"`)):              {"e2", minuteOf(3)},
		at(2, checkout("e1", `"transaction":"t1","metadata":{"kind":"one_time","credits":10}`)): {"e1", minuteOf(2)},
		at(3, checkout("e1", `"transaction":"t1","metadata":{"kind":"one_time","credits":10}`)): {"e1", minuteOf(3)},
		at(4, checkout("e1", `"transaction":"t1","metadata":{"kind":"one_time","credits":10}`)): {"e2", minuteOf(3)},
	} {
		inEveryOrder(t, anyMode, []string{first, claim, link}, func(s *State, order []int) {
			p := s.paymentNamed("t1", s.byTransaction)
			require.Equal(t, append(want, "o1", "u1"), []any{p.EventID, p.OccurredAt, p.OrderID, p.UserID}, "%s %v", first, order)
			require.EqualValues(t, slices.Index(order, map[string]int{"e1": 0, "e2": 1}[p.EventID])+1, p.StreamSeq, "%s %v", first, order)
		})
	}
}
