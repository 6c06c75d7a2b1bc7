package providers

import (
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// paddle is Paddle Billing. All its amounts are texts of whole numbers.
var paddle = &Provider{
	name:    "paddle",
	schemes: []scheme{timed("Paddle-Signature", "ts", "h1", ";", ":")},
	retries: retries{3 * 24 * time.Hour, "60 times in 3 days"},

	id: "event_id", kind: "event_type", time: "occurred_at", object: "data",

	metadata: "data.custom_data",
	facts: facts{
		customer:     "data.customer_id",
		user:         "@user_id @userId @reference_id @referenceId",
		kind:         "@kind",
		productKey:   "@product_key @key",
		credits:      "@credits",
		github:       "@github_username @githubUsername @github_login @github",
		subscription: "data.subscription_id",
	},
	// Which of several items the payment is for depends on the prices, because only they are the same in all events.
	items: list{
		path: "data.items", product: "price.product_id product.id", price: "price.id price_id", units: "quantity",
		amount: "price.unit_price.amount", prorated: "proration", variant: "price.trial_period",
		periodStart: "proration.billing_period.starts_at", periodEnd: "proration.billing_period.ends_at",
	},
	arrived: []string{"paid", "completed"},
	reversed: map[string]events.ReversalStatus{
		"approved": events.Succeeded, "rejected": events.Failed, "reversed": events.Failed,
	},

	events: map[string]meaning{
		// Other events of a transaction come before this one, or repeat it later with changed data of the customer.
		"transaction.completed": {
			action: events.Payment, decide: decidePaddleTransaction,
			facts: facts{
				transaction: "data.id", variant: "data.origin", paid: "data.status",
				periodStart: "data.billing_period.starts_at", periodEnd: "data.billing_period.ends_at",
			},
			sums: []sum{{
				amount: "data.details.totals.grand_total", currency: "data.currency_code data.details.totals.currency_code",
				ofTransaction: true,
			}},
		},
		"subscription.created":   paddleSubscription,
		"subscription.trialing":  paddleSubscription,
		"subscription.activated": paddleSubscription,
		"subscription.updated":   paddleSubscription,
		"subscription.past_due":  paddleSubscription,
		"subscription.paused":    paddleSubscription,
		"subscription.resumed":   paddleSubscription,
		"subscription.canceled":  paddleSubscription,
		"subscription.imported":  paddleSubscription,
		"adjustment.created":     paddleAdjustment,
		"adjustment.updated":     paddleAdjustment,
	},
}

var paddleSubscription = meaning{
	action: events.Subscription, recurring: true, decide: decidePaddleMode,
	facts: facts{
		subscription: "data.id", transaction: "data.transaction_id", status: "data.status",
		ending:      "data.scheduled_change.action",
		periodStart: "data.current_billing_period.starts_at", periodEnd: "data.current_billing_period.ends_at",
		canceledAt: "data.canceled_at",
	},
}

var paddleAdjustment = meaning{
	action: events.Reverse, decide: decidePaddleAdjustment,
	facts: facts{
		transaction: "data.transaction_id", reversal: "data.id", reversalStatus: "data.status",
		reversalAmount: "data.totals.total",
		variant:        "data.action",
		detail:         "data.totals.subtotal",
	},
}

// decidePaddleMode is for the events of the simulator in Paddle's dashboard: they are signed with the same secret, and
// sell what nobody has bought. Nothing else in a body distinguishes sandbox and live.
func decidePaddleMode(e *events.Event, _ *values) {
	if strings.HasPrefix(e.ID, "ntfsimevt_") {
		e.Mode = events.Test
	}
}

func decidePaddleTransaction(e *events.Event, b *values) {
	decidePaddleMode(e, b)
	notNegative(&e.Amount)
	switch b.word(variant) {
	case "subscription_payment_method_change": // it saves a new card, costs 0, and lists the plan all the same
		e.Action = events.None
	case "web", "api":
		decidePaddleTrial(e, b)
	}
}

// decidePaddleTrial is for the first payment of a subscription. An item whose price begins with a trial costs nothing
// in it. Later the price still says so, so only the first payment can tell.
func decidePaddleTrial(e *events.Event, b *values) {
	trials := map[string]bool{}
	for item := range b.elements(&b.of.items) {
		trial, id := item.any(variant), item.text(price)
		for i := range e.Items {
			if trial.kind == '{' && e.Items[i].Price == string(id.text) {
				trials[e.Items[i].Price], e.Items[i].Amount = true, events.Number{Present: true}
				e.Trial = e.Amount.Present && !e.Amount.Bad && e.Amount.Value == 0
			}
		}
	}
	withoutItems(e, func(i events.Item) bool { return trials[i.Price] && !e.Trial })
}

// decidePaddleAdjustment finds out what an adjustment takes back. If the seller wins a chargeback, Paddle makes another
// adjustment, which names only the transaction. It may also set the first one to reversed. So all adjustments about
// chargebacks of a transaction are one reversal. A warning takes the money back before a chargeback does. A credit
// lowers what is due, and takes nothing back.
func decidePaddleAdjustment(e *events.Event, b *values) {
	action, reversed := strings.CutSuffix(b.word(variant), "_reverse")
	switch {
	case action == "refund" && !reversed:
		withoutTax := b.number(detail)
		if total := e.Reversal.Amount; total.Value > 0 && withoutTax.Present && !withoutTax.Bad && withoutTax.Value == 0 {
			e.Reversal.Credits = events.Number{Present: true} // only the tax, because the buyer named a tax number later
		}
	case action != "chargeback" && action != "chargeback_warning", reversed && e.Reversal.Status != events.Succeeded:
		e.Action, e.Reversal = events.None, events.Reversal{}
	default:
		e.Reversal.ID, e.Reversal.Cause = e.Transaction, events.Chargeback
		if reversed {
			e.Reversal.Status = events.Failed
		}
	}
}

// notNegative is for the amount of a downgrade: what is given back is used for later payments.
func notNegative(amount *events.Number) { amount.Value = max(0, amount.Value) }
