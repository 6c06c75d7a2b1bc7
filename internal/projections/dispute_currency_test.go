package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two providers can name a dispute in another currency than its payment: that of the bank, or of the shop's account.
func TestADisputeInAnotherCurrencyIsOfTheWholePayment(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  pack: {kind: one_time, credits: 100}")}
	stripe := func(at, event, object string) [2]string {
		return [2]string{"stripe", `{"id":"evt_` + at + `","type":"` + event + `","created":17676576` + at + `,"data":{"object":{` + object + `}}}`}
	}
	dodo := func(at, event, data string) [2]string {
		return [2]string{"dodo", `{"business_id":"b","type":"` + event + `","timestamp":"2026-01-06T00:00:` + at + `Z","data":{"payment_id":"t1",` + data + `}}`}
	}
	stripePaid := stripe("00", "checkout.session.completed", `"id":"cs_1","mode":"payment","payment_status":"paid","payment_intent":"t1",`+
		`"amount_total":10000,"currency":"jpy","metadata":{"user_id":"u1","product_key":"pack"}`)
	stripeDispute := func(at, status, amount string) [2]string {
		return stripe(at, "charge.dispute.updated", `"id":"du_1","payment_intent":"t1","status":"`+status+`",`+amount)
	}
	stripeRefund := stripe("01", "refund.created", `"id":"re_1","payment_intent":"t1","status":"succeeded","amount":2500,"currency":"jpy"`)
	dodoPaid := dodo("00", "payment.succeeded", `"status":"succeeded","total_amount":10000,"currency":"JPY","metadata":{"user_id":"u1"},`+
		`"product_cart":[{"product_id":"pack","quantity":1}]`)
	for name, c := range map[string]struct {
		log            [][2]string
		left, refunded int64
	}{
		"stripe":                 {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":6700,"currency":"usd"`)}, 0, 10000},
		"stripe, a small number": {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":67,"currency":"usd"`)}, 0, 10000},
		"stripe, won": {
			[][2]string{stripePaid, stripeDispute("02", "needs_response", `"amount":6700,"currency":"usd"`), stripeDispute("03", "won", `"amount":6700,"currency":"usd"`)},
			100, 0,
		},
		"stripe, won after a refund": {
			[][2]string{stripePaid, stripeRefund, stripeDispute("02", "under_review", `"amount":6700,"currency":"usd"`), stripeDispute("03", "won", `"amount":6700,"currency":"usd"`)},
			75, 2500,
		},
		"stripe, in the same":     {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":6700,"currency":"JPY"`)}, 33, 6700},
		"stripe, without one":     {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":6700`)}, 33, 6700},
		"stripe, of nothing":      {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":0,"currency":"usd"`)}, 100, 0},
		"stripe, an odd currency": {[][2]string{stripePaid, stripeDispute("02", "lost", `"amount":6700,"currency":"\u0000"`)}, 33, 6700},
		"dodo":                    {[][2]string{dodoPaid, dodo("02", "dispute.opened", `"dispute_id":"d1","amount":"6700","currency":"USD"`)}, 0, 10000},
		"dodo, in the same":       {[][2]string{dodoPaid, dodo("02", "dispute.opened", `"dispute_id":"d1","amount":"6700","currency":"JPY"`)}, 33, 6700},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders(len(c.log)) {
				var log [][2]string
				for _, i := range order {
					log = append(log, c.log[i])
				}
				s := by(t, rules, log...)
				require.Equal(t, c.left, balanceOf(t, s, "u1"), order)
				payment, _ := s.Payments.Get("t1")
				require.Equal(t, c.refunded, orZero(payment.RefundedAmount), order)
				require.Equal(t, c.left == 0, !payment.ReversedAt.IsZero(), order)
			}
		})
	}
}
