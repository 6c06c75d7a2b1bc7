package providers

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// The vector was made with Stripe's library for Node.js, version 23.1.0.
const (
	stripeVectorSecret = "whsec_payfold_test_vector"
	stripeVectorBody   = `{"id":"evt_vector","object":"event","type":"invoice.paid","created":1772359202}`
	stripeVectorHex    = "1393242ee20f20a46f15f6b2facf41e39c8101d8ddad3d7d38755174bc7213be"
)

var stripeVectorTime = time.Unix(1772359202, 0)

func TestStripeSignature(t *testing.T) {
	t.Parallel()
	const at, v1 = "t=1772359202", "v1=" + stripeVectorHex
	other := "v1=" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		header string
		want   error
	}{
		"as Stripe writes it":            {at + "," + v1, nil},
		"with the scheme of test events": {at + "," + v1 + ",v0=" + strings.Repeat("1", 64), nil},
		"the signature before the time":  {v1 + "," + at, nil},
		"a second secret after it":       {at + "," + v1 + "," + other, nil},
		"a second secret before it":      {at + "," + other + "," + v1, nil},
		"beside one that is not hex":     {at + ",v1=xyz," + v1, nil},
		"beside an unknown key":          {at + ",k=v," + v1, nil},
		"a space after the comma":        {at + ", " + v1, nil},
		"upper-case hex":                 {at + ",v1=" + strings.ToUpper(stripeVectorHex), nil},
		"empty":                          {"", ErrSignature},
		"only a time":                    {at, ErrSignature},
		"only a signature":               {v1, ErrSignature},
		"no time in t":                   {"t=," + v1, ErrSignature},
		"a time with a sign":             {"t=+1772359202," + v1, ErrSignature},
		"a time that is no number":       {"t=now," + v1, ErrSignature},
		"two times":                      {at + "," + at + "," + v1, ErrSignature},
		"another time":                   {"t=1772359203," + v1, ErrSignature},
		"another signature":              {at + "," + other, ErrSignature},
		"only v0":                        {at + ",v0=" + stripeVectorHex, ErrSignature},
		"a short signature":              {at + "," + v1[:len(v1)-2], ErrSignature},
		"only the hex":                   {stripeVectorHex, ErrSignature},
		"without the names":              {"1772359202," + stripeVectorHex, ErrSignature},
		"nine signatures":                {at + strings.Repeat(","+v1, 9), ErrSignature},
		"separated by semicolons":        {at + ";" + v1, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := verifyStripe(t, http.Header{"Stripe-Signature": {c.header}}, stripeVectorBody, stripeVectorTime)
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, []string{"", stripeVectorHex, "1772359202"}, []string{found.EventID, found.Text, found.Signed})
			}
		})
	}
}

func TestStripeSignsTheBodyAndTheTime(t *testing.T) {
	t.Parallel()
	header := http.Header{"Stripe-Signature": {"t=1772359202,v1=" + stripeVectorHex}}
	for late, want := range map[time.Duration]error{
		0: nil, Tolerance: nil, -Tolerance: nil,
		Tolerance + time.Second: ErrTimestamp, -Tolerance - time.Second: ErrTimestamp,
	} {
		_, err := verifyStripe(t, header, stripeVectorBody, stripeVectorTime.Add(late))
		require.ErrorIs(t, err, want, late)
	}
	_, err := verifyStripe(t, header, stripeVectorBody+"\n", stripeVectorTime)
	require.ErrorIs(t, err, ErrSignature)
	_, err = verifyStripe(t, http.Header{}, stripeVectorBody, stripeVectorTime)
	require.ErrorIs(t, err, ErrNoSignature)
	header["Stripe-Signature"] = append(header["Stripe-Signature"], header["Stripe-Signature"]...)
	_, err = verifyStripe(t, header, stripeVectorBody, stripeVectorTime)
	require.ErrorIs(t, err, ErrSignature)

	// The key is the text of the secret, and not what the base64 after whsec_ says.
	secret, err := stripe.NewSecret("whsec_c2VjcmV0")
	require.NoError(t, err)
	sum := newKey([]byte("whsec_c2VjcmV0")).mac("1772359202.", []byte(stripeVectorBody))
	signed := stripe.Sign(secret, "", []byte(stripeVectorBody), stripeVectorTime)
	require.Equal(t, http.Header{"Stripe-Signature": {"t=1772359202,v1=" + hex.EncodeToString(sum[:])}}, signed)
}

func verifyStripe(t *testing.T, header http.Header, body string, now time.Time) (Signature, error) {
	t.Helper()
	secret, err := stripe.NewSecret(stripeVectorSecret)
	require.NoError(t, err)
	return stripe.Verify(header, []byte(body), []Secret{secret}, now)
}

// What is common to the bodies of the tests below.
const (
	stripeOfSubscription = `"parent":{"subscription_details":{"subscription":"sub_1"}}`
	stripeLine           = `"pricing":{"price_details":{"price":"price_1","product":"prod_1"}},"quantity":2,` +
		`"period":{"start":1772359200,"end":1775037600}`
)

func stripeLines(lines ...string) string {
	return `"lines":{"data":[{` + strings.Join(lines, "},{") + `}]}`
}

func stripeProrated(amount int) string {
	return fmt.Sprintf(`"amount":%d,"parent":{"subscription_item_details":{"proration":true}},%s`, amount, stripeLine)
}

func stripeEvent(t *testing.T, eventType string, fields ...string) events.Event {
	t.Helper()
	body := `{"id":"evt_1","type":"` + eventType + `","created":1772359202,"livemode":true,
		"data":{"object":{` + strings.Join(fields, ",") + `}}}`
	event, err := stripe.Parse([]byte(body), "")
	require.NoError(t, err, body)
	return event
}

func TestStripePaidInvoiceIsAPaymentOnlyIfItSoldSomething(t *testing.T) {
	t.Parallel()
	line := `"amount":1900,` + stripeLine
	for name, c := range map[string]struct {
		fields string
		action events.Action
		trial  bool
		unpaid bool
		amount int64
	}{
		"paid": {
			`"status":"paid","amount_paid":3800,"subtotal":3800,` + stripeLines(line),
			events.Payment, false, false, 3800,
		},
		"covered by a coupon": {
			`"status":"paid","amount_paid":0,"amount_due":0,"total":0,"subtotal":3800,` + stripeLines(line),
			events.Payment, false, false, 0,
		},
		"a trial": {
			`"status":"paid","amount_paid":0,"amount_due":0,"total":0,"subtotal":0,` + stripeLines(`"amount":0,`+stripeLine),
			events.Payment, true, false, 0,
		},
		"money that the customer still owed": {
			`"status":"paid","amount_paid":500,"amount_due":500,"total":0,"subtotal":0,` + stripeLines(`"amount":0,`+stripeLine),
			events.Payment, false, false, 500,
		},
		"a cheaper plan within the period": {
			`"status":"paid","amount_paid":0,"total":-981,"subtotal":-981,` +
				stripeLines(stripeProrated(981), stripeProrated(-1962)),
			events.None, false, false, 0,
		},
		"a renewal that credit covers": {
			`"status":"paid","amount_paid":0,"total":-81,"subtotal":-81,` + stripeLines(stripeProrated(-1981), line),
			events.Payment, false, false, 0,
		},
		"usage within a period": {
			`"status":"paid","billing_reason":"subscription_threshold","created":1775037600,"amount_paid":900,"subtotal":900,` + stripeLines(line),
			events.None, false, false, 900,
		},
		"usage that begins another period": {
			`"status":"paid","billing_reason":"subscription_threshold","created":1772359200,"amount_paid":900,"subtotal":900,` + stripeLines(line),
			events.Payment, false, false, 900,
		},
		"marked as paid, in the old shape": {
			`"status":"paid","paid_out_of_band":true,"amount_paid":0,"amount_due":1900,"total":1900,"subtotal":1900,` +
				stripeLines(line),
			events.Payment, false, false, 1900,
		},
		"without a status": {
			`"amount_paid":3800,"subtotal":3800,` + stripeLines(line), events.Payment, false, false, 3800,
		},
		"still open": {
			`"status":"open","amount_paid":100,"subtotal":3800,` + stripeLines(line), events.Payment, false, true, 100,
		},
	} {
		for _, eventType := range []string{"invoice.paid", "invoice.payment_succeeded"} {
			e := stripeEvent(t, eventType, `"id":"in_1","currency":"eur"`, stripeOfSubscription, c.fields)
			require.Equal(t, []any{c.action, c.trial, c.unpaid, c.amount, "EUR", "sub_1"},
				[]any{e.Action, e.Trial, e.Unpaid, e.Amount.Value, e.Currency, e.SubscriptionID}, name)
			require.Equal(t, c.unpaid, e.PaymentID() == "", name)
		}
	}
}

func TestStripeInvoicePeriodIsThatOfItsWholeLines(t *testing.T) {
	t.Parallel()
	own := `"id":"in_1","status":"paid","amount_paid":1900,"subtotal":1900,
		"period_start":1769940000,"period_end":1772359200`
	line := `"amount":1900,` + stripeLine
	whole := stripeEvent(t, "invoice.paid", own, stripeOfSubscription, stripeLines(stripeProrated(5), line))
	require.Equal(t, at("2026-03-01T10:00:00Z"), whole.PeriodStart)
	require.Equal(t, at("2026-04-01T10:00:00Z"), whole.PeriodEnd)
	require.Equal(t, []bool{true, false}, []bool{whole.Items[0].Prorated, whole.Items[1].Prorated})
	for name, event := range map[string]events.Event{
		"no subscription":  stripeEvent(t, "invoice.paid", own, stripeLines(line)),
		"not of its lines": stripeEvent(t, "invoice.paid", own, stripeOfSubscription),
	} {
		require.True(t, event.PeriodStart.IsZero() && event.PeriodEnd.IsZero(), name)
	}
}

func TestStripeUsageIsNoUnitsOfItsProduct(t *testing.T) {
	t.Parallel()
	const before = `"period":{"start":1769940000,"end":1772359200}`
	line := func(price string, amount, quantity int, period string) string {
		return fmt.Sprintf(`"amount":%d,"quantity":%d,"pricing":{"price_details":{"price":%q,"product":"prod_1"}},%s`, amount, quantity, price, period)
	}
	const next = `"period":{"start":1772359200,"end":1775037600}`
	part := `"parent":{"subscription_item_details":{"proration":true}},` + line("price_seat", 5, 3, before)
	type item struct {
		price string
		units int64
		part  bool
	}
	for name, c := range map[string]struct {
		created int
		lines   []string
		want    []item
		start   string
	}{
		"overage beside a flat fee": {
			1772359201,
			[]string{line("price_used", 1500, 1500, before), line("price_flat", 1900, 2, next)},
			[]item{{"price_used", 0, true}, {"price_flat", 2, false}},
			"2026-03-01T10:00:00Z",
		},
		"only usage": {
			1772359200,
			[]string{line("price_used", 900, 900, before), line("price_used", 600, 1200, before)},
			[]item{{"price_used", 0, true}, {"price_used", 0, true}},
			"2026-02-01T10:00:00Z",
		},
		"seats, and the rest of their last period": {
			1772359201,
			[]string{part, line("price_seat", 1900, 5, next)},
			[]item{{"price_seat", 3, true}, {"price_seat", 5, false}},
			"2026-03-01T10:00:00Z",
		},
		"paid late": {
			1769940001, []string{line("price_seat", 1900, 5, before)}, []item{{"price_seat", 5, false}}, "2026-02-01T10:00:00Z",
		},
		"sold once": {
			1772359201,
			[]string{line("price_pack", 1900, 3, `"period":{"start":1772359100,"end":1772359100}`)},
			[]item{{"price_pack", 3, false}},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stripeEvent(t, "invoice.paid", `"id":"in_1","status":"paid","amount_paid":3400,"subtotal":3400`, stripeOfSubscription,
				fmt.Sprintf(`"created":%d`, c.created), stripeLines(c.lines...))
			var got []item
			for _, one := range e.Items {
				got = append(got, item{one.Price, one.Units.Value, one.Prorated})
				require.False(t, one.Units.Present && one.Units.Value == 0)
			}
			require.Equal(t, c.want, got)
			if c.start == "" {
				require.Zero(t, e.PeriodStart)
			} else {
				require.Equal(t, at(c.start), e.PeriodStart)
			}
			require.Equal(t, !slices.ContainsFunc(got, func(one item) bool { return !one.part }), e.Prorated)
		})
	}
}

func TestStripeSessionNamesOnlyAPaymentThatHasArrived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields string
		action events.Action
		unpaid bool
		names  []string
	}{
		"paid": {
			`"mode":"payment","payment_status":"paid","payment_intent":"pi_1","invoice":null`,
			events.Payment, false,
			[]string{"pi_1", "cs_1"},
		},
		"with an invoice": {
			`"mode":"payment","payment_status":"paid","payment_intent":"pi_1","invoice":"in_1"`,
			events.Payment, false,
			[]string{"pi_1", "in_1"},
		},
		"free": {
			`"mode":"payment","payment_status":"no_payment_required","payment_intent":null`,
			events.Payment, false,
			[]string{"", "cs_1"},
		},
		"unpaid": {
			`"mode":"payment","payment_status":"unpaid","payment_intent":"pi_1"`,
			events.Payment, true,
			[]string{"", ""},
		},
		"setup": {
			`"mode":"setup","payment_status":"no_payment_required"`, events.None, false, []string{"", ""},
		},
		"a subscription": {
			`"mode":"subscription","payment_status":"paid","subscription":"sub_1","invoice":"in_1"`,
			events.Checkout, false,
			[]string{"", ""},
		},
		"a subscription that is paid later": {
			`"mode":"subscription","payment_status":"unpaid","subscription":"sub_1","invoice":"in_1"`,
			events.Checkout, false,
			[]string{"", ""},
		},
	} {
		for _, eventType := range []string{"completed", "async_payment_succeeded", "async_payment_failed"} {
			e := stripeEvent(t, "checkout.session."+eventType, `"id":"cs_1","status":"complete"`, c.fields)
			require.Equal(t, c.names, []string{e.Transaction, e.Order}, name)
			require.Equal(t, []any{c.action, c.unpaid, ""}, []any{e.Action, e.Unpaid, e.Status}, name)
		}
	}
	require.False(t, func() bool {
		e := stripeEvent(t, "checkout.session.expired", `"id":"cs_1","payment_intent":"pi_1"`)
		return e.HasEffect()
	}())
}

func TestStripeNamesOfOnePayment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		eventType, fields  string
		transaction, order string
	}{
		"new invoice": {"invoice.paid", `"id":"in_1"`, "", "in_1"},
		"old invoice": {
			"invoice.paid", `"id":"in_1","payment_intent":"pi_1","charge":"ch_1"`, "pi_1", "in_1",
		},
		"old, without intent": {
			"invoice.paid", `"id":"in_1","payment_intent":null,"charge":"ch_1"`, "ch_1", "in_1",
		},
		"with its payments": {
			"invoice.paid", `"id":"in_1","payments":{"data":[{"payment":{"payment_intent":{"id":"pi_1"}}}]}`, "pi_1", "in_1",
		},
		"the link": {
			"invoice_payment.paid", `"id":"inpay_1","invoice":"in_1","payment":{"payment_intent":"pi_1"}`, "pi_1", "in_1",
		},
		"the link, expanded": {
			"invoice_payment.paid", `"invoice":{"id":"in_1"},"payment":{"payment_intent":{"id":"pi_1"}}`, "pi_1", "in_1",
		},
		"the link of a charge": {
			"invoice_payment.paid", `"invoice":"in_1","payment":{"charge":"py_1"}`, "py_1", "in_1",
		},
		"old charge": {
			"charge.succeeded", `"id":"ch_1","payment_intent":"pi_1","invoice":"in_1"`, "pi_1", "in_1",
		},
		"old intent": {"payment_intent.succeeded", `"id":"pi_1","invoice":"in_1"`, "pi_1", "in_1"},
		"refund": {
			"refund.created", `"id":"re_1","payment_intent":"pi_1","charge":"ch_1"`, "pi_1", "",
		},
		"refund, without intent": {
			"refund.created", `"id":"re_1","payment_intent":null,"charge":"ch_1"`, "ch_1", "",
		},
		"dispute, expanded": {
			"charge.dispute.created", `"id":"du_1","payment_intent":{"id":"pi_1"},"charge":{"id":"ch_1"}`, "pi_1", "",
		},
		"refunded charge": {"charge.refunded", `"id":"ch_1"`, "ch_1", ""},
		// Stripe cuts this reference to 25 characters, and a shop can write it.
		"new intent": {
			"payment_intent.succeeded", `"id":"pi_1","payment_details":{"order_reference":"in_1"}`, "pi_1", "",
		},
		// They are names of other payments.
		"subscription": {"customer.subscription.updated", `"id":"sub_1","latest_invoice":"in_9"`, "", ""},
	} {
		e := stripeEvent(t, c.eventType, c.fields)
		require.Equal(t, []string{c.transaction, c.order}, []string{e.Transaction, e.Order}, name)
	}
}

func TestStripeSubscriptionStatus(t *testing.T) {
	t.Parallel()
	const period = `"items":{"data":[{"current_period_start":1772359200,"current_period_end":1775037600}]}`
	const oldPeriod = `"current_period_start":1772359200,"current_period_end":1775037600`
	for name, c := range map[string]struct{ fields, want string }{
		"active": {
			`"status":"active","cancel_at":null,"cancel_at_period_end":false`, events.Active,
		},
		"trialing":                    {`"status":"trialing"`, events.Trialing},
		"past due":                    {`"status":"past_due","cancel_at_period_end":true`, events.PastDue},
		"unpaid":                      {`"status":"unpaid"`, events.Unpaid},
		"paused":                      {`"status":"paused"`, events.Paused},
		"ends with its period":        {`"status":"active","cancel_at_period_end":true`, events.ScheduledCancel},
		"ends with its trial":         {`"status":"trialing","cancel_at":1775037600`, events.ScheduledCancel},
		"ends within its period":      {`"status":"active","cancel_at":1773655200`, events.ScheduledCancel},
		"has a fixed term":            {`"status":"active","cancel_at":1803981600`, events.Active},
		"not begun":                   {`"status":"incomplete"`, ""},
		"never begun":                 {`"status":"incomplete_expired"`, events.Expired},
		"canceled":                    {`"status":"canceled"`, events.Canceled},
		"collects no money for while": {`"status":"active","pause_collection":{"behavior":"void"}`, events.Active},
		"a word of later":             {`"status":"dormant"`, "dormant"},
	} {
		for _, shape := range []string{period, oldPeriod} {
			e := stripeEvent(t, "customer.subscription.updated", `"id":"sub_1"`, c.fields, shape)
			require.Equal(t, []any{events.Subscription, "sub_1", c.want}, []any{e.Action, e.SubscriptionID, e.Status}, name)
			require.Equal(t, at("2026-04-01T10:00:00Z"), e.PeriodEnd, name)
		}
	}
	deleted := stripeEvent(t, "customer.subscription.deleted", `"id":"sub_1","status":"active"`)
	require.Equal(t, events.Canceled, deleted.Status)
}

func TestStripeReversals(t *testing.T) {
	t.Parallel()
	number := func(n int64) events.Number { return events.Number{Value: n, Present: true} }
	for _, eventType := range []string{"refund.created", "refund.updated", "refund.failed", "charge.refund.updated"} {
		for status, want := range map[string]events.ReversalStatus{
			"succeeded": events.Succeeded, "pending": events.Pending, "requires_action": events.Pending,
			"failed": events.Failed, "canceled": events.Failed, "": events.Succeeded,
		} {
			e := stripeEvent(t, eventType, `"id":"re_1","amount":300,"payment_intent":"pi_1","status":"`+status+`"`)
			require.Equal(t, events.Reversal{
				ID: "re_1", Cause: events.Refund, Status: want, Amount: number(300),
			}, e.Reversal, status)
		}
	}
	for _, eventType := range []string{"created", "updated", "closed", "funds_withdrawn", "funds_reinstated"} {
		for status, want := range map[string]events.ReversalStatus{
			"needs_response": events.Succeeded, "under_review": events.Succeeded, "lost": events.Succeeded,
			"appeal_needs_response": events.Succeeded, "appeal_under_review": events.Succeeded,
			"won": events.Failed, "prevented": events.Failed, "warning_closed": events.Failed,
			"warning_needs_response": events.Pending, "warning_under_review": events.Pending, "a word of later": events.Pending,
		} {
			e := stripeEvent(t, "charge.dispute."+eventType, `"id":"du_1","amount":1900,"charge":"ch_1","status":"`+status+`"`)
			require.Equal(t, events.Reversal{
				ID: "du_1", Cause: events.Chargeback, Status: want, Amount: number(1900),
			}, e.Reversal, status)
		}
	}
	charge := `"id":"ch_1","status":"succeeded","amount":2000,"amount_captured":1900,"amount_refunded":600`
	require.Equal(t, events.Reversal{
		Cause: events.Refund, Status: events.Succeeded, Total: number(600), Paid: number(1900),
	}, stripeEvent(t, "charge.refunded", charge).Reversal)
	refunds := `"refunds":{"data":[{"id":"re_2","amount":200,"status":"pending"},
		{"id":"re_1","amount":400,"status":"succeeded"}]}`
	require.Equal(t, events.Reversal{
		ID: "re_2", Cause: events.Refund, Status: events.Pending, Amount: number(200), Total: number(600), Paid: number(1900),
	}, stripeEvent(t, "charge.refunded", charge, refunds).Reversal)
}

func TestStripeInvoiceNamesItsSubscriptionAndProductsInEachShape(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"new":                  `"parent":{"subscription_details":{"subscription":"sub_1"}}`,
		"new, expanded":        `"parent":{"subscription_details":{"subscription":{"id":"sub_1"}}}`,
		"old":                  `"subscription":"sub_1"`,
		"of a line":            stripeLines(`"parent":{"subscription_item_details":{"subscription":"sub_1"}}`),
		"of an added line":     stripeLines(`"parent":{"invoice_item_details":{"subscription":"sub_1"}}`),
		"of a line, as in old": stripeLines(`"subscription":"sub_1"`),
	} {
		require.Equal(t, "sub_1", stripeEvent(t, "invoice.paid", `"id":"in_1"`, fields).SubscriptionID, name)
	}
	for name, line := range map[string]string{
		"new":                  `"pricing":{"price_details":{"price":"price_1","product":"prod_1"}}`,
		"old":                  `"price":{"id":"price_1","product":"prod_1"}`,
		"old, expanded":        `"price":{"id":"price_1","product":{"id":"prod_1"}}`,
		"with a plan":          `"price":null,"plan":{"id":"price_1","product":"prod_1"}`,
		"with a plan expanded": `"plan":{"id":"price_1","product":{"id":"prod_1"}}`,
	} {
		e := stripeEvent(t, "invoice.paid", `"id":"in_1"`, stripeLines(line))
		require.Equal(t, []events.Item{{Product: "prod_1", Price: "price_1"}}, e.Items, name)
	}
}

func TestStripeUserIsNamedByTheShop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ eventType, fields, want string }{
		"the subscription's metadata first": {
			"invoice.paid", `"metadata":{"user_id":"own"},"parent":{"subscription_details":{"metadata":{"user_id":"u"}}}`, "u",
		},
		"each key on its own": {
			"invoice.paid", `"metadata":{"userId":"u"},"parent":{"subscription_details":{"metadata":{"plan":"pro"}}}`, "u",
		},
		"in the old shape": {
			"invoice.paid", `"subscription_details":{"metadata":{"reference_id":"u"}}`, "u",
		},
		"of a line": {
			"invoice.paid", `"lines":{"data":[{"metadata":{"user_id":"u"}}]},"metadata":{"user_id":"own"}`, "u",
		},
		"metadata before reference": {
			"checkout.session.completed", `"client_reference_id":"r","metadata":{"user_id":"u"}`, "u",
		},
		"reference": {"checkout.session.completed", `"client_reference_id":"r","metadata":{}`, "r"},
		"the customer is no user": {
			"checkout.session.completed", `"customer":"cus_1","client_reference_id":null`, "",
		},
	} {
		require.Equal(t, c.want, stripeEvent(t, c.eventType, c.fields).UserID, name)
	}
	session := `"customer":"cus_1","custom_fields":[{"key":"company","type":"text","text":{"value":"x"}},
		{"key":"githubUsername","type":"text","text":{"value":"octocat"}}]`
	e := stripeEvent(t, "checkout.session.completed", session, `"metadata":{"product_key":"price_1","units":"3"}`)
	require.Equal(t, []any{"octocat", "price_1", int64(3), "cus_1", events.Live},
		[]any{e.GitHubUser, e.ProductKey, e.Units.Value, e.Key, e.Mode})
	e = stripeEvent(t, "checkout.session.completed", session, `"metadata":{"github":"other"}`)
	require.Equal(t, "other", e.GitHubUser)
}

func TestOtherTypesOfStripeHaveNoEffect(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{
		"customer.subscription.renamed", "invoice.payment_failed", "invoice.finalized", "charge.failed",
		"credit_note.created", "payment_intent.processing", "setup_intent.succeeded", "customer.created",
		"checkout.session.expired",
	} {
		e := stripeEvent(t, eventType,
			`"id":"x_1","status":"active","payment_intent":"pi_1","invoice":"in_1","subscription":"sub_1"`)
		require.Equal(t, []any{events.None, "", false}, []any{e.Action, e.Status, e.HasEffect()}, eventType)
	}
	thin, err := stripe.Parse([]byte(`{"id":"evt_1","object":"v2.core.event","type":"v2.core.account.updated",
		"created":"2026-03-11T09:30:02.482Z","livemode":false,"related_object":{"id":"acct_1"}}`), "")
	require.NoError(t, err)
	require.Equal(t, []any{events.None, at("2026-03-11T09:30:02.482Z"), events.Test, "evt_1"},
		[]any{thin.Action, thin.OccurredAt, thin.Mode, thin.Key})
}

// A body has the first lines of an invoice only, and those for changes come first.
func TestALongInvoiceOfStripeDoesNotSayWhatItSold(t *testing.T) {
	t.Parallel()
	line := `"amount":1900,` + stripeLine
	zero := `"amount":0,` + stripeLine
	long := func(lines ...string) string {
		return strings.TrimSuffix(stripeLines(lines...), "}") + `,"has_more":true}`
	}
	changes := []string{stripeProrated(-981), stripeProrated(2529)}
	for name, c := range map[string]struct {
		fields   string
		action   events.Action
		trial    bool
		prorated bool
		until    string
	}{
		"a renewal after changes": {
			`"billing_reason":"subscription_cycle","amount_paid":3448,"subtotal":3448,` + long(changes...),
			events.Payment, false, false, "",
		},
		"a renewal that credit covers": {
			`"billing_reason":"subscription_cycle","amount_paid":0,"subtotal":-5,` + long(changes...),
			events.Payment, false, false, "",
		},
		"a renewal, of which only credit is there": {
			`"billing_reason":"subscription_cycle","amount_paid":0,"subtotal":-5,` + long(stripeProrated(-981)),
			events.Payment, false, false, "",
		},
		"a renewal whose line is there": {
			`"billing_reason":"subscription_cycle","amount_paid":3448,"subtotal":3448,` + long(append(changes, line)...),
			events.Payment, false, false, "2026-04-01T10:00:00Z",
		},
		"changes alone": {
			`"billing_reason":"subscription_update","amount_paid":1548,"subtotal":1548,` + long(changes...),
			events.Payment, false, true, "2026-04-01T10:00:00Z",
		},
		"changes that only give credit": {
			`"billing_reason":"subscription_update","amount_paid":0,"subtotal":-981,` + long(changes...),
			events.None, false, true, "2026-04-01T10:00:00Z",
		},
		"a trial": {
			`"billing_reason":"subscription_create","amount_paid":0,"subtotal":0,` + long(zero),
			events.Payment, true, false, "2026-04-01T10:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stripeEvent(t, "invoice.paid", `"id":"in_1","status":"paid","currency":"eur"`, stripeOfSubscription, c.fields)
			until := ""
			if !e.PeriodEnd.IsZero() {
				until = e.PeriodEnd.Format(time.RFC3339)
			}
			require.Empty(t, e.Items)
			require.Equal(t, []any{c.action, c.trial, c.prorated, c.until, until == ""},
				[]any{e.Action, e.Trial, e.Prorated, until, e.PeriodStart.IsZero()})
		})
	}
	whole := stripeEvent(t, "invoice.paid", `"id":"in_1","status":"paid"`, stripeOfSubscription, strings.Replace(long(line), "true", "false", 1))
	require.Len(t, whole.Items, 1)
	items := `"id":"sub_1","status":"active","items":{"data":[{` + stripeLine + `}],"has_more":true}`
	require.Empty(t, stripeEvent(t, "customer.subscription.updated", items).Items)
	require.Len(t, stripeEvent(t, "customer.subscription.updated", strings.Replace(items, "true", "false", 1)).Items, 1)
}
