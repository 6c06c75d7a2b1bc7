package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// by folds events of several providers. Each line is a provider and a body.
func by(t *testing.T, rules Rules, log ...[2]string) *State {
	t.Helper()
	s := NewState()
	for i, one := range log {
		e := providers.Decode(events.Message{Provider: one[0], Seq: uint64(i + 1), ID: fmt.Sprint("message_", i), Body: []byte(one[1]), ReceivedAt: receivedAt})
		require.False(t, e.Unreadable, one[1])
		rules.Fold(s, e)
	}
	return s
}

func own(id, kind, rest string) [2]string {
	return [2]string{"payfold", fmt.Sprintf(`{"id":%q,"type":%q,%s}`, id, kind, rest)}
}

func specified(body string) [2]string { return [2]string{"provider", body} }

func sold(body string) [2]string { return [2]string{"creem", `{"created_at":null,` + body[1:]} }

func TestAnEventOfOneProviderNeverTouchesWhatAnotherHasNamed(t *testing.T) {
	t.Parallel()
	pack := `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":100}`
	status := `"id":"s1","metadata":{"user_id":"u1"}`
	s := by(t, anyMode,
		specified(checkout("e1", pack)),
		sold(checkout("e2", `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u2","credits":7}`)),
		sold(refund("e3", `"transaction":"t1"`)),
		specified(ofType("subscription.active", "e4", status)),
		sold(ofType("subscription.canceled", "e5", status)),
	)
	require.Equal(t, map[string]string{
		"e1": "applied", "e2": "rejected payment_conflict", "e3": "rejected payment_conflict", "e4": "applied", "e5": "rejected payment_conflict",
	}, outcomes(s))
	require.EqualValues(t, 100, balanceOf(t, s, "u1"))
	subscription, _ := s.Subscriptions.Get("s1")
	require.Equal(t, []string{"provider", "active"}, []string{subscription.Provider, subscription.Status})
	payment, _ := s.Payments.Get("t1")
	require.Equal(t, "provider", payment.Provider)
	require.Equal(t, []string{"creem", "reversal"}, []string{recorded(t, s, "e3").Provider, recorded(t, s, "e3").Action})
}

func TestOwnEventsMayNameThePaymentsOfEveryProvider(t *testing.T) {
	t.Parallel()
	waiting := checkout("e1", `"provider_payment_id":"t1","metadata":{"kind":"one_time","credits":100}`)
	completes := own("o1", "payment", `"payment":"t1","user":"u1","kind":"one_time","credits":100`)
	for _, log := range [][][2]string{{specified(waiting), completes}, {completes, specified(waiting)}} {
		s := by(t, anyMode, log...)
		require.EqualValues(t, 100, balanceOf(t, s, "u1"))
		payment, _ := s.Payments.Get("t1")
		require.Equal(t, "provider", payment.Provider, "it is a payment of its provider, whoever names it first")
	}
}

// reversalOf is an own event about a refund or dispute of t1.
func reversalOf(id, reversal, status string, minute int, rest string) [2]string {
	return own(id, "reversal", fmt.Sprintf(`"time":%d,"payment":"t1","reversal":%q,"status":%q%s`, minuteOf(minute).UnixMilli(), reversal, status, rest))
}

func TestOneReversalCountsOnceWithItsNewestStatus(t *testing.T) {
	t.Parallel()
	bought := own("e1", "payment", `"payment":"t1","user":"u1","kind":"one_time","credits":100,"amount":1000,"currency":"eur"`)
	for name, c := range map[string]struct {
		reversals [][2]string
		want      int64
	}{
		"one refund in two events":    {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":300`), reversalOf("r2", "re1", "succeeded", 2, `,"amount":300`)}, 70},
		"two refunds":                 {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":300`), reversalOf("r2", "re2", "succeeded", 1, `,"amount":300`)}, 40},
		"pending":                     {[][2]string{reversalOf("r1", "re1", "pending", 1, `,"amount":300`)}, 100},
		"pending, then succeeded":     {[][2]string{reversalOf("r1", "re1", "pending", 1, `,"amount":300`), reversalOf("r2", "re1", "succeeded", 2, ``)}, 70},
		"succeeded, then failed":      {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":300`), reversalOf("r2", "re1", "failed", 2, `,"amount":300`)}, 100},
		"both in one second":          {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":300`), reversalOf("r2", "re1", "failed", 1, `,"amount":300`)}, 100},
		"whole, then won":             {[][2]string{reversalOf("r1", "d1", "succeeded", 1, `,"cause":"chargeback"`), reversalOf("r2", "d1", "failed", 2, `,"cause":"chargeback"`)}, 100},
		"an amount and a total":       {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":300`), reversalOf("r2", "re2", "succeeded", 2, `,"amount":300,"total_reversed":600`)}, 40},
		"a total, then a failure":     {[][2]string{reversalOf("r1", "re1", "pending", 1, `,"amount":300`), reversalOf("r2", "", "succeeded", 2, `,"total_reversed":300`), reversalOf("r3", "re1", "failed", 3, `,"amount":300`)}, 100},
		"a total that covers another": {[][2]string{reversalOf("r1", "re1", "succeeded", 1, `,"amount":200`), reversalOf("r2", "", "succeeded", 2, `,"total_reversed":500`)}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := append([][2]string{bought}, c.reversals...)
			for _, order := range orders(len(log)) {
				var arranged [][2]string
				for _, i := range order {
					arranged = append(arranged, log[i])
				}
				s := by(t, anyMode, arranged...)
				require.EqualValues(t, c.want, balanceOf(t, s, "u1"), "%v", order)
				payment, _ := s.Payments.Get("t1")
				require.Equal(t, []any{1000 - c.want*10, "EUR"}, []any{orZero(payment.RefundedAmount), payment.Currency}, "%v", order)
			}
		})
	}
}

func TestAPaymentWhoseMoneyHasNotArrivedGrantsNothing(t *testing.T) {
	t.Parallel()
	unpaid := own("e1", "payment", `"payment":"t1","user":"u1","kind":"one_time","credits":100,"payment_status":"pending"`)
	s := by(t, anyMode, unpaid)
	require.Equal(t, map[string]string{"e1": "ignored unpaid"}, outcomes(s))
	require.Empty(t, grants(s))
	s = by(t, anyMode, unpaid, own("e2", "payment", `"payment":"t1","user":"u1","kind":"one_time","credits":100,"payment_status":"paid"`))
	require.EqualValues(t, 100, balanceOf(t, s, "u1"))
}

func TestUnitsAreThoseOfTheItemThatTheCatalogueSells(t *testing.T) {
	t.Parallel()
	offers, err := catalogue.Parse([]byte("version: 1\nproducts:\n  plan: {kind: one_time, credits: 100}\n  price_7: {kind: one_time, credits: 10}"))
	require.NoError(t, err)
	rules := Rules{Mode: ModeAny, Catalogue: offers}
	for items, want := range map[string]int64{
		`{"product":"addon","units":5},{"product":"plan","units":1}`:      100,
		`{"product":"addon","units":"many"},{"product":"plan","units":2}`: 200,
		`{"product":"plan","units":2},{"product":"plan","units":3}`:       500,
		`{"product":"addon","units":2},{"price":"price_7","units":3}`:     30,
		`{"units":4}`: 400,
	} {
		s := by(t, rules, sold(checkout("e1", `"provider_payment_id":"t1","product":"plan","metadata":{"user_id":"u1"},"items":[`+items+`]`)))
		if items == `{"product":"addon","units":2},{"price":"price_7","units":3}` {
			s = by(t, rules, sold(checkout("e1", `"provider_payment_id":"t1","metadata":{"user_id":"u1"},"items":[`+items+`]`)))
		}
		require.EqualValues(t, want, balanceOf(t, s, "u1"), items)
	}
}

// A fee is listed in the catalogue so that it is no unknown product. It can cost more than the plan beside it.
func TestAnItemThatGrantsNothingIsNotWhatWasSold(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf(`
version: 1
products:
  plan: {kind: subscription, credits: 100}
  fee: {kind: none}
  later: [{from: 2099-01-01, kind: subscription, credits: 700}]
`)}
	plan, fee := events.Item{Price: "plan", Amount: number(1500)}, events.Item{Price: "fee", Amount: number(5000)}
	part := plan
	part.Prorated = true
	later := events.Item{Price: "later", Amount: number(9000)}
	for name, c := range map[string]struct {
		items []events.Item
		want  string
	}{
		"before the plan":           {[]events.Item{fee, plan}, "subscription plan 100"},
		"after it":                  {[]events.Item{plan, fee}, "subscription plan 100"},
		"beside a part of a plan":   {[]events.Item{fee, part}, "subscription plan 100"},
		"alone":                     {[]events.Item{fee}, "none fee 0"},
		"beside what is not sold":   {[]events.Item{{Price: "other", Amount: number(9000)}, fee}, "none fee 0"},
		"beside what is sold later": {[]events.Item{later, plan}, "subscription plan 100"},
	} {
		s := NewState()
		rules.Fold(s, events.Event{
			Provider: "provider", ID: "e1", Seq: 1, OccurredAt: receivedAt, Action: events.Payment, Mode: events.AnyMode,
			Transaction: "t1", SubscriptionID: "s1", UserID: "u1", Items: c.items,
		})
		p, _ := s.Payments.Get("t1")
		require.Equal(t, c.want, fmt.Sprintf("%s %s %d", p.Kind, p.ProductKey, orZero(p.Credits)), name)
	}
}

// The subscription that such an event names is not loaded for it.
func TestAnEventThatOnlyJoinsNamesDoesNotLookAtItsSubscription(t *testing.T) {
	t.Parallel()
	joins := events.Event{
		Provider: "stripe", ID: "e2", Seq: 2, OccurredAt: receivedAt, Action: events.None,
		SubscriptionID: "s1", Transaction: "t1", Order: "o1",
	}
	loaded, absent := NewState(), NewState()
	loaded.LoadSubscription(&SubscriptionState{SubscriptionID: "s1", Provider: "stripe", UserID: "u1", Kind: KindPro})
	anyMode.Fold(loaded, joins)
	anyMode.Fold(absent, joins)
	require.Equal(t, recorded(t, absent, "e2"), recorded(t, loaded, "e2"))
}

// Stripe's times are whole seconds, and a second can end between the two events that it sends of one refund.
func TestARefundThatFailsIsGivenBackThoughItsTotalCameASecondEarlier(t *testing.T) {
	t.Parallel()
	const session = `{"id":"evt_1","type":"checkout.session.completed","created":1764000000,"data":{"object":{"id":"cs_1","mode":"payment","payment_status":"paid",
		"payment_intent":"pi_1","amount_total":1000,"currency":"eur","metadata":{"user_id":"u1","kind":"one_time","credits":"100"}}}}`
	const total = `{"id":"evt_2","type":"charge.refunded","created":1764000100,"data":{"object":{"id":"ch_1","payment_intent":"pi_1","amount":1000,"amount_captured":1000,"amount_refunded":500}}}`
	refund := func(id, eventType, status string, at int) [2]string {
		return [2]string{"stripe", fmt.Sprintf(`{"id":%q,"type":%q,"created":%d,"data":{"object":{"id":"re_1","payment_intent":"pi_1","amount":500,"status":%q}}}`, id, eventType, at, status)}
	}
	s := by(t, anyMode, [2]string{"stripe", session}, [2]string{"stripe", total}, refund("evt_3", "refund.created", "succeeded", 1764000101))
	require.EqualValues(t, 50, balanceOf(t, s, "u1"))
	s = by(t, anyMode, [2]string{"stripe", session}, [2]string{"stripe", total},
		refund("evt_3", "refund.created", "succeeded", 1764000101), refund("evt_4", "refund.failed", "failed", 1764090000))
	require.EqualValues(t, 100, balanceOf(t, s, "u1"))
}
