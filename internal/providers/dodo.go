package providers

import (
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// dodo is Dodo Payments. A body has the state of its object at the time of the delivery, not at the time of the event.
// So the state in the body counts, and not what the event type says.
var dodo = &Provider{
	name:    "dodo",
	schemes: []scheme{standard(base64Key)},
	retries: retries{0, "several times, at growing intervals"},

	id: inHeader, kind: "type", time: "timestamp", object: "data", marks: "business_id",

	metadata: "data.metadata data.customer.metadata",
	facts: facts{
		customer: "data.customer.customer_id data.customer_id",
		user: "@user_id @userId @reference_id @referenceId " +
			"data.customer.metadata.user_id data.customer.metadata.userId", // where the payment has other metadata
		kind:        "@kind",
		productKey:  "@product_key @key",
		credits:     "@credits",
		github:      "@github_username @githubUsername @github_login @github",
		transaction: "data.payment_id",
		// A payment that starts several subscriptions names them only in a list.
		subscription: "data.subscription_id data.subscription_ids[0]",
	},
	answers:  answers{path: "data.custom_field_responses", key: "key", value: "value"},
	reversed: map[string]events.ReversalStatus{"failed": events.Failed},
	arrived:  []string{"succeeded"},
	statuses: map[string]string{
		"pending":   events.Incomplete,
		"on_hold":   events.PastDue, // a renewal failed
		"cancelled": events.Canceled,
		"failed":    events.Expired, // it never began
	},

	events: map[string]meaning{
		"payment.succeeded":  dodoPayment(decideDodoPayment),
		"payment.processing": dodoPayment(stillProcessing),

		"subscription.active":                dodoSubscription(events.Checkout),
		"subscription.renewed":               dodoSubscription(events.Subscription),
		"subscription.updated":               dodoSubscription(events.Subscription),
		"subscription.plan_changed":          dodoSubscription(events.Subscription),
		"subscription.update_payment_method": dodoSubscription(events.Subscription),
		"subscription.on_hold":               dodoSubscription(events.Subscription),
		"subscription.past_due":              dodoSubscription(events.Subscription),
		"subscription.paused":                dodoSubscription(events.Subscription),
		"subscription.unpaused":              dodoSubscription(events.Subscription),
		"subscription.cancelled":             dodoSubscription(events.Subscription),
		"subscription.failed":                dodoSubscription(events.Subscription),
		"subscription.expired":               dodoSubscription(events.Subscription),

		"refund.succeeded": dodoRefund(events.Succeeded),
		"refund.failed":    dodoRefund(events.Failed),

		// The money is held as soon as a dispute is opened.
		"dispute.opened":     dodoDispute(events.Succeeded),
		"dispute.challenged": dodoDispute(events.Succeeded),
		"dispute.accepted":   dodoDispute(events.Succeeded),
		"dispute.lost":       dodoDispute(events.Succeeded),
		"dispute.expired":    dodoDispute(events.Succeeded),
		"dispute.won":        dodoDispute(events.Failed),
		"dispute.cancelled":  dodoDispute(events.Failed),
	},
}

// dodoPayment is an event about a payment. That of a subscription has no product_cart: what was sold is in the events
// of the subscription.
func dodoPayment(decide func(*events.Event, *values)) meaning {
	return meaning{
		action: events.Payment, decide: decide,
		facts: facts{
			checkout: "data.checkout_session_id",
			paid:     "data.status", variant: "data.is_update_payment_method", due: "data.total_amount", discount: "data.discount_id data.discounts",
		},
		sums:  []sum{{amount: "data.total_amount", currency: "data.currency", ofTransaction: true}},
		items: &list{path: "data.product_cart", product: "product_id", units: "quantity"},
	}
}

// decideDodoPayment: the payment of 0 with which a buyer changes the payment method sells nothing. Only the subscription
// says whether a trial begins with any other.
func decideDodoPayment(e *events.Event, b *values) {
	e.MayBeginTrial = true
	if b.isTrue(variant) {
		e.Action = events.None
	}
}

// stillProcessing: money has arrived only if the body says that the payment has succeeded since.
func stillProcessing(e *events.Event, b *values) {
	e.Unpaid = b.word(paid) != "succeeded"
	decideDodoPayment(e, b)
}

// dodoSubscription is an event about a subscription. Each of its payments is an event of its own.
func dodoSubscription(action events.Action) meaning {
	return meaning{
		action: action, recurring: true, decide: planBeforeAddons,
		facts: facts{
			product: "data.product_id", units: "data.quantity",
			status: "data.status", ending: "data.cancel_at_next_billing_date",
			periodStart: "data.previous_billing_date", periodEnd: "data.next_billing_date", canceledAt: "data.cancelled_at",
			variant: "data.trial_period_days", begin: "data.created_at",
		},
		items: &list{path: "data.addons", product: "addon_id", units: "quantity"},
	}
}

// planBeforeAddons makes the plan the first of the items, because data.quantity is only the plan's. It also finds out
// whether the trial is running, which no status says.
func planBeforeAddons(e *events.Event, b *values) {
	e.Items = slices.Insert(e.Items, 0, events.Item{Product: e.Product, Units: e.Units})
	e.Units = events.Number{}
	if days := b.number(variant); e.Status == events.Active && inTrial(e, b.moment(begin), days) {
		e.Status = events.Trialing
	}
}

// inTrial reports whether the period of the event is the trial: it begins with the subscription and ends with the trial.
// The first payment can be an hour late. A period that begins later is paid for, also if it ends within a long trial.
func inTrial(e *events.Event, begin time.Time, days events.Number) bool {
	return days.Value > 0 && days.Value <= maxTrialDays && !e.PeriodEnd.IsZero() && !begin.IsZero() &&
		!e.PeriodStart.After(begin.Add(time.Hour)) && !e.PeriodEnd.After(begin.AddDate(0, 0, int(days.Value)).Add(time.Hour))
}

// maxTrialDays keeps the end of a trial within the calendar. No shop gives a trial of that length.
const maxTrialDays = 10_000

// dodoRefund is an event about a refund. status counts if the body has none. A buyer who paid in a local currency gets
// back another amount than was paid: without Dodo's fee, and at the rate of that day. So a refund that is not partial is of
// all that was paid, whatever its amount.
func dodoRefund(status events.ReversalStatus) meaning {
	return meaning{
		action: events.Reverse, cause: events.Refund,
		facts: facts{
			reversal: "data.refund_id", reversalStatus: "data.status", reversalAmount: "data.amount", variant: "data.is_partial",
		},
		decide: func(e *events.Event, b *values) {
			if b.word(reversalStatus) == "" {
				e.Reversal.Status = status
			}
			switch partial := b.any(variant); {
			case partial.kind == 'f':
				e.Reversal.Amount = events.Number{}
			case partial.kind == 't' && !e.Reversal.Amount.Present: // nobody knows how much
				e.Reversal.Amount = events.Number{Present: true, Bad: true}
			}
		},
	}
}

// dodoDispute is an event about a dispute. status counts if the body has none that is known.
func dodoDispute(status events.ReversalStatus) meaning {
	return meaning{
		action: events.Reverse, cause: events.Chargeback, reversal: status, decide: decideDodoDispute,
		facts: facts{
			reversal: "data.dispute_id", reversalAmount: "data.amount", reversalIn: "data.currency", variant: "data.dispute_status",
		},
	}
}

// decideDodoDispute reads the state of the dispute, and its amount, which is a text. With a decimal point the amount is
// not in the minor unit; then the whole payment is disputed.
func decideDodoDispute(e *events.Event, b *values) {
	switch b.word(variant) {
	case "dispute_opened", "dispute_challenged", "dispute_accepted", "dispute_lost", "dispute_expired":
		e.Reversal.Status = events.Succeeded
	case "dispute_won", "dispute_cancelled":
		e.Reversal.Status = events.Failed
	}
	if strings.Contains(b.word(reversalAmount), ".") {
		e.Reversal.Amount = events.Number{}
	}
}
