package providers

import (
	"time"

	"github.com/payfold/payfold/internal/events"
)

// lemonSqueezy is Lemon Squeezy. It numbers everything from 1, so each id has a prefix.
//
// The first payment of a subscription is told twice: as an order, and as an invoice whose billing reason is "initial".
// Neither names the other. But each event of the subscription names its first order. So the order is the payment's
// first name, and "the initial payment of that subscription" is its second name.
var lemonSqueezy = &Provider{
	name:    "lemonsqueezy",
	schemes: []scheme{hexOfBody("X-Signature")},
	retries: retries{155 * time.Second, "after 5, 25 and 125 seconds"},

	// Of one object, the newest event has the newest updated_at; a part of it can be newer than the whole.
	id: ofBody, kind: "meta.event_name", object: "data", newest: true,
	time: "data.attributes.updated_at data.attributes.first_order_item.updated_at " +
		"data.attributes.first_subscription_item.updated_at",

	metadata: "meta.custom_data",
	facts: facts{
		customer:   "lemonsqueezy:customer:{data.attributes.customer_id}",
		user:       "@user_id @userId @reference_id @referenceId",
		kind:       "@kind",
		productKey: "@product_key @key",
		credits:    "@credits",
		github:     "@github_username @githubUsername @github_login @github",
		testMode:   "meta.test_mode data.attributes.test_mode",
	},
	sums:    []sum{{amount: "data.attributes.total", currency: "data.attributes.currency", ofTransaction: true}},
	arrived: []string{"paid", "refunded", "partial_refund"},
	statuses: map[string]string{
		"on_trial":  events.Trialing,
		"cancelled": events.ScheduledCancel, // it ends with its period, and can be resumed before
	},

	events: map[string]meaning{
		"order_created":  {action: events.Payment, facts: lemonOrder.with(lemonPaid), decide: decideLemonOrder},
		"order_refunded": lemonRefund(lemonOrder, nil),

		"subscription_created":      lemonSubscription(events.Checkout),
		"subscription_updated":      lemonSubscription(events.Subscription),
		"subscription_cancelled":    lemonSubscription(events.Subscription),
		"subscription_resumed":      lemonSubscription(events.Subscription),
		"subscription_expired":      lemonSubscription(events.Subscription),
		"subscription_paused":       lemonSubscription(events.Subscription),
		"subscription_unpaused":     lemonSubscription(events.Subscription),
		"subscription_plan_changed": lemonSubscription(events.Subscription),

		"subscription_payment_success":   lemonInvoicePaid,
		"subscription_payment_recovered": lemonInvoicePaid, // comes beside success, about the same invoice
		"subscription_payment_refunded":  lemonRefund(lemonInvoice, oneName),
	},
}

var lemonPaid = facts{paid: "data.attributes.status", due: "data.attributes.subtotal"}

var lemonOrder = facts{
	transaction: "lemonsqueezy:order:{data.id}",
	product:     "lemonsqueezy:variant:{data.attributes.first_order_item.variant_id}",
	variant:     "lemonsqueezy:product:{data.attributes.first_order_item.product_id}",
	units:       "data.attributes.first_order_item.quantity",
}

// lemonInvoice are the facts of an invoice of a subscription. It has no product: that is in the events of the
// subscription.
var lemonInvoice = facts{
	subscription: "lemonsqueezy:subscription:{data.attributes.subscription_id}",
	transaction:  "lemonsqueezy:subscription-invoice:{data.id}",
	order:        "lemonsqueezy:subscription:{data.attributes.subscription_id}:initial",
	variant:      "data.attributes.billing_reason",
}

var lemonInvoicePaid = meaning{
	action: events.Payment, recurring: true, facts: lemonInvoice.with(lemonPaid), decide: decideLemonInvoice,
}

// decideLemonInvoice: the invoice of a change of plan pays for the rest of the period, and does not say when that ends.
// That of a downgrade only gives credit, and sells nothing.
func decideLemonInvoice(e *events.Event, b *values) {
	oneName(e, b)
	e.MayBeginTrial = b.word(variant) == "initial"
	if b.word(variant) != "updated" {
		return
	}
	e.Prorated = true
	if left := b.number(due); left.Present && !left.Bad && left.Value <= 0 {
		e.Action = events.None
	}
}

// decideLemonOrder: the order can be for the setup fee of a plan that begins with a trial.
func decideLemonOrder(e *events.Event, b *values) {
	variantOrProduct(e, b)
	e.MayBeginTrial = true
}

// oneName leaves an invoice the name that it has: an initial invoice is the payment of an order, any other is a payment
// of its own.
func oneName(e *events.Event, b *values) {
	if b.word(variant) == "initial" {
		e.Transaction = ""
	} else {
		e.Order = ""
	}
}

// lemonSubscription is an event about a subscription. The status in the body counts, and not the event type:
// subscription_updated comes beside each of the others, with the same body.
func lemonSubscription(action events.Action) meaning {
	return meaning{action: action, recurring: true, decide: decideLemonSubscription, facts: facts{
		subscription: "lemonsqueezy:subscription:{data.id}",
		transaction:  "lemonsqueezy:order:{data.attributes.order_id}",
		order:        "lemonsqueezy:subscription:{data.id}:initial",
		product:      "lemonsqueezy:variant:{data.attributes.variant_id}",
		variant:      "lemonsqueezy:product:{data.attributes.product_id}",
		units:        "data.attributes.first_subscription_item.quantity",
		status:       "data.attributes.status",
		periodEnd:    "data.attributes.ends_at data.attributes.renews_at",
		detail:       "data.attributes.pause.mode",
		pauseEnd:     "data.attributes.pause.resumes_at",
	}}
}

// decideLemonSubscription: a subscription that is paused for free goes on, without payments. With the other mode, void,
// the shop offers nothing while it is paused. While a payment fails, renews_at is when it is tried again, and not the end
// of the period.
func decideLemonSubscription(e *events.Event, b *values) {
	variantOrProduct(e, b)
	switch e.Status {
	case events.PastDue, events.Unpaid:
		e.PeriodEnd = time.Time{}
	case events.Paused:
		if b.word(detail) != "free" {
			return
		}
		e.Status = events.Active
		if until := b.moment(pauseEnd); until.After(e.PeriodEnd) {
			e.PeriodEnd = until
		}
	}
}

// variantOrProduct: a catalogue may sell the variant or its whole product. With usage-based billing the quantity is 0,
// and says nothing.
func variantOrProduct(e *events.Event, b *values) {
	if e.Units.Value == 0 && !e.Units.Bad {
		e.Units = events.Number{}
	}
	e.Items = []events.Item{{Product: b.word(variant), Price: e.Product, Units: e.Units}}
}

// lemonRefund is an event about the refunds of an order or an invoice. It says only how much of it was refunded in all.
func lemonRefund(of facts, decide func(*events.Event, *values)) meaning {
	return meaning{
		action: events.Reverse, cause: events.Refund, reversal: events.Succeeded, decide: decide,
		facts: of.with(facts{reversalTotal: "data.attributes.refunded_amount", reversalPaid: "data.attributes.total"}),
	}
}
