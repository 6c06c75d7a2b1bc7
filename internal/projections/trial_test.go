package projections

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// A fee that is paid when a trial begins does not pay for the plan.
func TestAFeeAtTheBeginOfATrialDoesNotBuyThePlan(t *testing.T) {
	t.Parallel()
	sold, err := catalogue.Parse([]byte(`{"version":1,"products":{"plan":{"kind":"subscription","credits":100}}}`))
	require.NoError(t, err)
	for provider, body := range map[string]string{
		"stripe": `{"id":"evt_1","type":"invoice.paid","created":1764000000,"data":{"object":{"id":"in_1","status":"paid","amount_paid":100,"subtotal":100,
			"parent":{"subscription_details":{"subscription":"sub_1","metadata":{"user_id":"u1"}}},"lines":{"data":[
			{"amount":0,"quantity":1,"pricing":{"price_details":{"product":"plan","price":"price_1"}}},
			{"amount":100,"quantity":1,"pricing":{"price_details":{"product":"fee","price":"price_2"}}}]}}}}`,
		"paddle": `{"event_id":"evt_1","event_type":"transaction.completed","data":{"id":"txn_1","origin":"web","subscription_id":"sub_1","currency_code":"EUR",
			"custom_data":{"user_id":"u1"},"details":{"totals":{"grand_total":"100"}},"items":[
			{"quantity":1,"price":{"id":"pri_1","product_id":"plan","unit_price":{"amount":"900"},"trial_period":{"interval":"month","frequency":1}}},
			{"quantity":1,"price":{"id":"pri_2","product_id":"fee","unit_price":{"amount":"100"},"trial_period":null}}]}}`,
	} {
		s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, [2]string{provider, body})
		require.Empty(t, grants(s), provider)
		require.Equal(t, "rejected unknown_product", outcomes(s)["evt_1"], provider)
	}
}

// What is paid with a trial is nothing: it grants only the credits that the catalogue has for the trial.
func TestATrialOfEachProviderGrantsWhatTheCatalogueHasForIt(t *testing.T) {
	t.Parallel()
	const creem = `{"id":"e1","eventType":"checkout.completed","created_at":1767225600000,"object":{"product":"plan","metadata":{"user_id":"u1"},
		"order":{"id":"ord_1","transaction":"tran_1","status":"paid","amount":0},"subscription":{"id":"s1","status":"trialing"}}}`
	for name, body := range map[string][2]string{
		"creem":    {"creem", creem},
		"provider": {"provider", creem},
		"creem's subscription.paid": {"creem", `{"id":"e1","eventType":"subscription.paid","created_at":1767225600000,"object":{"id":"s1","status":"trialing","product":"plan",
			"metadata":{"user_id":"u1"},"last_transaction":{"id":"tran_1","status":"paid","amount":0,"amount_paid":0}}}`},
		"stripe": {"stripe", `{"id":"e1","type":"invoice.paid","created":1767225600,"data":{"object":{"id":"in_1","status":"paid","amount_paid":0,"subtotal":0,
			"parent":{"subscription_details":{"subscription":"s1","metadata":{"user_id":"u1"}}},
			"lines":{"data":[{"amount":0,"quantity":1,"pricing":{"price_details":{"price":"plan"}}}]}}}}`},
		"paddle": {"paddle", `{"event_id":"e1","event_type":"transaction.completed","data":{"id":"txn_1","origin":"web","subscription_id":"s1",
			"custom_data":{"user_id":"u1"},"details":{"totals":{"grand_total":"0"}},
			"items":[{"quantity":1,"price":{"id":"plan","unit_price":{"amount":"900"},"trial_period":{"interval":"month","frequency":1}}}]}}`},
		"polar": {"polar", `{"type":"order.paid","timestamp":"2026-01-01T00:00:00Z","data":{"id":"order_1","total_amount":0,"product_id":"plan",
			"customer":{"external_id":"u1"},"subscription_id":"s1","subscription":{"status":"trialing"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for trialCredits, want := range map[string]map[string]int64{"": {}, ", trial_credits: 20": {"u1 subscription": 20}} {
				sold := catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100" + trialCredits + "}")
				s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, body)
				require.Equal(t, want, leftOf(s))
				subscription, _ := s.Subscriptions.Get("s1")
				require.Equal(t, events.Trialing, subscription.Status)
			}
		})
	}
}

// Nothing is due for a free plan either, nor for a plan whose price is what was used, in a month without use.
func TestAPaymentOfNothingSaysNoTrialOfASubscriptionThatHasBegun(t *testing.T) {
	t.Parallel()
	said := func(id, status string, minute int) events.Event {
		return events.Event{ID: id, Action: events.Subscription, SubscriptionID: "s1", UserID: "u1", Status: status, OccurredAt: minuteOf(minute)}
	}
	nothing := func(id string, minute int) events.Event {
		return events.Event{
			ID: id, Action: events.Payment, SubscriptionID: "s1", Transaction: "t" + id, UserID: "u1", Kind: KindSubscription, Trial: true,
			Amount: number(0), OccurredAt: minuteOf(minute), PeriodStart: startOf(minute), PeriodEnd: startOf(minute + 1),
		}
	}
	for want, log := range map[string][]events.Event{
		events.Trialing:        {nothing("n1", 1), said("e1", events.Incomplete, 0), nothing("n2", 2)},
		events.Active:          {said("e1", events.Active, 1), nothing("n1", 2), nothing("n2", 3)},
		events.PastDue:         {said("e1", events.Active, 1), said("e2", events.PastDue, 2), nothing("n1", 3)},
		events.ScheduledCancel: {said("e1", events.ScheduledCancel, 1), nothing("n1", 2)},
		events.Canceled:        {said("e1", events.Canceled, 1), nothing("n1", 2)},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders(len(log)) {
				s := foldOrder(anyMode, log, order)
				row, _ := s.Subscriptions.Get("s1")
				require.Equal(t, want, row.Status, order)
				began := row.Facts.TrialBegan()
				require.Equal(t, want == events.Trialing, began != nil, order)
				if began != nil {
					require.Equal(t, "n1", began.EventID)
					require.Contains(t, row.Facts.String(), "trialing", "measured_trials.sql looks for it")
				}
			}
		})
	}
	s := NewState()
	for i := range 20 { // a free plan for a long time
		e := nothing(fmt.Sprint("n", i), 20-i)
		if i == 10 {
			e = said("e1", events.Active, 0)
		}
		e.Seq, e.Provider, e.Mode = uint64(i+1), "provider", events.AnyMode
		anyMode.Fold(s, e)
	}
	row, _ := s.Subscriptions.Get("s1")
	require.Equal(t, []any{events.Active, startOf(20)}, []any{row.Status, row.CurrentPeriodStart})
}

// A pack or a licence has no trial: 0 is its price. With a subscription it may be part of a trial.
func TestWhatIsSoldOnceForNothingIsGranted(t *testing.T) {
	t.Parallel()
	const order = `{"meta":{"event_name":"order_created","custom_data":{"user_id":"u1"}},"data":{"type":"orders","id":"1","attributes":{"status":"paid",
		"total":0,"subtotal":0,"discount_total":0,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z",
		"first_order_item":{"product_id":7,"variant_id":8,"quantity":2}}}}`
	for offer, want := range map[string]map[string]int64{
		"kind: one_time, credits: 50":      {"u1 one_time": 100},
		"kind: subscription, credits: 100": {},
	} {
		s := by(t, Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  lemonsqueezy:variant:8: {" + offer + "}")},
			[2]string{"lemonsqueezy", order})
		require.Equal(t, want, leftOf(s), offer)
	}
	licence := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  lemonsqueezy:variant:8: {kind: pro}")}
	s := by(t, licence, [2]string{"lemonsqueezy", order})
	require.True(t, s.Licenses.Inserted()[0].active())
}

// Two providers do not say of a payment that a trial begins with it, if a fee was paid or a coupon was used. The events of
// the subscription say it. What is paid after the trial, at its full price or not, buys the plan.
func TestWhatIsPaidWhenATrialBeginsDoesNotBuyThePlan(t *testing.T) {
	t.Parallel()
	dodo := func(at, event, data string) [2]string {
		return [2]string{"dodo", `{"business_id":"b","type":"` + event + `","timestamp":"2026-01-` + at + `Z","data":{"subscription_id":"s1",` +
			`"metadata":{"user_id":"u1"},` + data + `}}`}
	}
	trial := func(from, until string) string {
		return `"status":"active","product_id":"plan","quantity":1,"created_at":"2026-01-01T10:00:00Z","trial_period_days":7,` +
			`"previous_billing_date":"2026-` + from + `T10:00:00Z","next_billing_date":"2026-` + until + `T10:00:00Z"`
	}
	pays := func(id, amount string) string {
		return `"payment_id":"` + id + `","status":"succeeded","currency":"USD","discount_id":"dsc_1","total_amount":` + amount
	}
	lemon := func(at, event, id, attributes string) [2]string {
		return [2]string{"lemonsqueezy", `{"meta":{"event_name":"` + event + `","custom_data":{"user_id":"u1"}},"data":{"id":"` + id +
			`","attributes":{"updated_at":"2026-01-` + at + `Z",` + attributes + `}}}`}
	}
	statusOf := func(s *State) string {
		shown, _ := s.Current.Get("u1")
		return shown.Status
	}
	dodoLife := func(first string) [][2]string {
		return [][2]string{
			dodo("01T10:00:05", "subscription.active", trial("01-01", "01-08")), dodo("01T10:00:06", "payment.succeeded", pays("t1", first)),
			dodo("08T10:00:05", "payment.succeeded", pays("t2", "900")), dodo("08T10:00:09", "subscription.renewed", trial("01-08", "02-08")),
		}
	}
	const item = `"status":"paid","total":500,"subtotal":500,"setup_fee":500,"first_order_item":{"variant_id":1,"quantity":1}`
	for name, log := range map[string][][2]string{
		"a coupon": dodoLife("0"), "a price of the trial": dodoLife("100"),
		"a fee": {
			lemon("01T10:00:00", "order_created", "1", item),
			lemon("01T10:00:01", "subscription_created", "1", `"status":"on_trial","order_id":1,"variant_id":1,"renews_at":"2026-01-08T10:00:00Z"`),
			lemon("01T10:00:02", "subscription_payment_success", "1", `"status":"paid","subscription_id":1,"billing_reason":"initial","total":500,"subtotal":500`),
			lemon("08T10:00:15", "subscription_payment_success", "2", `"status":"paid","subscription_id":1,"billing_reason":"renewal","total":900,"subtotal":900`),
			lemon("08T10:00:16", "subscription_updated", "1", `"status":"active","order_id":1,"variant_id":1,"renews_at":"2026-02-08T10:00:00Z"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := len(log) - 2
			for trialCredits, want := range map[string]int64{"": 0, ", trial_credits: 20": 20} {
				sold := catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100" + trialCredits +
					"}\n  lemonsqueezy:variant:1: {kind: subscription, credits: 100" + trialCredits + "}")
				rules := Rules{Mode: ModeAny, Catalogue: sold}
				for _, order := range orders(len(log)) {
					var until, all [][2]string
					for _, i := range order {
						if all = append(all, log[i]); i < began {
							until = append(until, log[i])
						}
					}
					s := by(t, rules, until...)
					require.Equal(t, want, leftOf(s)["u1 subscription"], order)
					require.Equal(t, events.Trialing, statusOf(s), order)
					s = by(t, rules, all...)
					require.Equal(t, 100+want, leftOf(s)["u1 subscription"], order)
					require.Equal(t, events.Active, statusOf(s), order)
				}
			}
		})
	}
	s := by(t, Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100}")},
		dodo("01T10:00:05", "subscription.active", `"status":"active","product_id":"plan"`), dodo("01T10:00:06", "payment.succeeded", pays("t1", "0")))
	require.EqualValues(t, 100, leftOf(s)["u1 subscription"], "a coupon that pays all, without a trial")
}

// A buyer can end the trial at once, and pay. Most providers say of a payment whether a trial begins with it, and the shop's
// own payment is what it says: such a payment buys the plan, also within the hour.
func TestWhatIsPaidForAPlanSoonAfterItsTrialBeganBuysIt(t *testing.T) {
	t.Parallel()
	creem := func(at, event, object string) [2]string {
		return [2]string{"creem", `{"id":"` + event + at + `","eventType":"` + event + `","created_at":"2026-01-01T10:` + at + `Z","object":{"product":"plan",` +
			`"metadata":{"user_id":"u1","credits":100},` + object + `}}`}
	}
	own := func(id, kind, at, values string) [2]string {
		return [2]string{"payfold", `{"id":"` + id + `","type":"` + kind + `","time":"2026-01-01T10:` + at + `Z","user":"u1","subscription":"s1",` + values + `}`}
	}
	for name, log := range map[string][][2]string{
		"creem": {
			creem("00:00", "checkout.completed", `"id":"ch_1","order":{"id":"ord_1","status":"paid","amount":0},"subscription":{"id":"s1","status":"trialing"}`),
			creem("30:00", "subscription.active", `"id":"s1","status":"active"`),
			creem("30:05", "subscription.paid", `"id":"s1","status":"active","last_transaction":{"id":"t1","status":"paid","amount":900,"amount_paid":900}`),
		},
		"own events": {
			own("e1", "subscription", "00:00", `"status":"trialing","product":"plan"`),
			own("e2", "payment", "30:00", `"payment":"t1","kind":"subscription","product":"plan","credits":100,"amount":900,"currency":"EUR"`),
		},
		"own events with a status": {
			own("e1", "subscription", "00:00", `"status":"trialing","product":"plan"`),
			own("e2", "payment", "30:00", `"payment":"t1","kind":"subscription","credits":100,"amount":900,"currency":"EUR"`),
			own("e3", "subscription", "30:00", `"status":"active"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sold := catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100, trial_credits: 20}")
			for _, rules := range []Rules{{Mode: ModeAny}, {Mode: ModeAny, Catalogue: sold}} {
				for _, order := range orders(len(log)) {
					var all [][2]string
					for _, i := range order {
						all = append(all, log[i])
					}
					s := by(t, rules, all...)
					require.EqualValues(t, 100, leftOf(s)["u1 subscription"], "%v with a catalogue %v", order, rules.Catalogue != nil)
					shown, _ := s.Current.Get("u1")
					require.Equal(t, "active", shown.Status, order)
				}
			}
		})
	}
	gift := by(t, Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100}")},
		own("e1", "subscription", "00:00", `"status":"trialing","product":"plan"`), own("e2", "gift", "30:00", `"payment":"g1","credits":7`))
	require.Equal(t, map[string]int64{"u1 one_time": 7}, leftOf(gift))
}

// A change of the plan within a trial that is longer than a period, and that is paid at once, begins a period of its own.
func TestWhatIsPaidForAChangeWithinALongTrialBuysThePlan(t *testing.T) {
	t.Parallel()
	dodo := func(at, event, data string) [2]string {
		return [2]string{"dodo", `{"business_id":"b","type":"` + event + `","timestamp":"2026-01-` + at + `Z","data":{"subscription_id":"s1",` +
			`"metadata":{"user_id":"u1"},` + data + `}}`}
	}
	of := func(product, from, until string) string {
		return `"status":"active","product_id":"` + product + `","quantity":1,"created_at":"2026-01-01T10:00:00Z","trial_period_days":60,` +
			`"previous_billing_date":"2026-` + from + `T12:00:00Z","next_billing_date":"2026-` + until + `T12:00:00Z"`
	}
	log := [][2]string{
		dodo("01T10:00:05", "subscription.active", strings.ReplaceAll(of("small", "01-01", "03-02"), "T12", "T10")),
		dodo("01T10:00:06", "payment.succeeded", `"payment_id":"t1","status":"succeeded","currency":"USD","total_amount":0`),
		dodo("01T12:00:05", "subscription.plan_changed", of("big", "01-01", "02-01")),
		dodo("01T12:00:06", "payment.succeeded", `"payment_id":"t2","status":"succeeded","currency":"USD","total_amount":900`),
	}
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  small: {kind: subscription, credits: 100}\n  big: {kind: subscription, credits: 500}")}
	for _, order := range orders(len(log)) {
		var all [][2]string
		for _, i := range order {
			all = append(all, log[i])
		}
		s := by(t, rules, all...)
		require.EqualValues(t, 500, leftOf(s)["u1 subscription"], order)
		shown, _ := s.Current.Get("u1")
		require.Equal(t, []string{events.Active, "big"}, []string{shown.Status, shown.ProductKey}, order)
	}
}

// A shop moves the date of the next payment by a trial, and a plan whose price is what was used costs nothing in a month
// without use. Neither is a trial whose credits the catalogue has.
func TestAPaymentOfNothingAfterAPaymentGrantsNoTrialCredits(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100, trial_credits: 20}\n" +
		"  big: {kind: subscription, credits: 300, trial_credits: 50}\n  fee: {kind: none}")}
	pays := func(id, product string, month, amount int) events.Event {
		return events.Event{
			ID: "e" + id, Action: events.Payment, SubscriptionID: "s1", Transaction: id, UserID: "u1", Product: product, Trial: amount == 0,
			Amount: number(int64(amount)), OccurredAt: startOf(month), PeriodStart: startOf(month), PeriodEnd: startOf(month + 1),
		}
	}
	changed := pays("t1", "big", 1, 0)
	changed.ID, changed.Transaction, changed.OccurredAt = "e9", "t9", startOf(1).AddDate(0, 0, 3)
	for name, c := range map[string]struct {
		log  []events.Event
		want int64
	}{
		"the trial":                    {[]events.Event{pays("t1", "plan", 1, 0), pays("t2", "plan", 2, 900), pays("t3", "plan", 3, 900)}, 220},
		"the trial, after a fee":       {[]events.Event{pays("t0", "fee", 0, 100), pays("t1", "plan", 1, 0), pays("t2", "plan", 2, 900)}, 120},
		"a change of plan in it":       {[]events.Event{pays("t1", "plan", 1, 0), changed, pays("t2", "big", 2, 900)}, 350},
		"a later date":                 {[]events.Event{pays("t1", "plan", 1, 0), pays("t2", "plan", 2, 900), pays("t3", "plan", 3, 0), pays("t4", "plan", 4, 900)}, 220},
		"without a trial at its begin": {[]events.Event{pays("t1", "plan", 1, 900), pays("t2", "plan", 2, 0)}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders(len(c.log)) {
				s := foldOrder(rules, c.log, order)
				require.Equal(t, map[string]int64{"u1 subscription": c.want}, leftOf(s), order)
			}
		})
	}
	// A subscription keeps few of its payments, but always the one that says that no trial begins any more.
	trial := events.Event{
		ID: "e0", Action: events.Subscription, SubscriptionID: "s1", UserID: "u1", Product: "plan", Status: events.Trialing,
		OccurredAt: startOf(0), PeriodStart: startOf(0), PeriodEnd: startOf(1),
	}
	opening := pays("t0", "plan", 0, 100)
	opening.ID, opening.MayBeginTrial = "et0", true
	for name, first := range map[string][]events.Event{
		"nothing": nil, "a fee": {pays("t0", "fee", 0, 100)}, "what is not in the catalogue": {pays("t0", "gone", 0, 100)}, "a trial": {trial, opening},
	} {
		long, want := append(first, pays("t1", "plan", 1, 900), pays("t2", "plan", 2, 0)), int64(1800)
		for month := 3; month < 20; month++ {
			long = append(long, pays(fmt.Sprint("t", month), "plan", month, 900))
		}
		if name == "a trial" {
			want += 20
		}
		for begin := range long { // in order, and with the first ones last
			order := make([]int, len(long))
			for i := range order {
				order[i] = (i + begin) % len(long)
			}
			require.Equal(t, map[string]int64{"u1 subscription": want}, leftOf(foldOrder(rules, long, order)), "%s first, from %d on", name, begin)
		}
	}
}
