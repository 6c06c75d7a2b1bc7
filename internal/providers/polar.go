package providers

import (
	"time"

	"github.com/payfold/payfold/internal/events"
)

// polar is Polar. The bodies of all its API versions are read in the same way. A body's user and user_id are Polar's
// own; the customer's external_id is the shop's.
var polar = &Provider{
	name:    "polar",
	schemes: []scheme{standard(eitherKey)},
	retries: retries{0, "up to 10 times, at growing intervals; the endpoint is disabled after 10 failures in a row"},

	id: inHeader, kind: "type", time: "timestamp", object: "data", marks: "timestamp data.id",

	metadata: "data.metadata data.subscription.metadata data.customer.metadata",
	facts: facts{
		customer: "data.customer_id data.customer.id",
		user: "@user_id @userId @reference_id @referenceId " +
			"data.customer.external_id " + // only the seller can set it
			"data.customer.metadata.user_id data.customer.metadata.userId",
		kind:       "@kind",
		productKey: "@product_key @key",
		product:    "data.product_id data.product.id",
		credits:    "@credits",
		units: "data.units data.seats " +
			"data.subscription.units data.subscription.seats", // only the order of a checkout has its own
		github: "@github_username @githubUsername @github_login @github " +
			"data.custom_field_data.github_username data.custom_field_data.github-username " +
			"data.custom_field_data.githubUsername data.custom_field_data.github_login data.custom_field_data.github",
		subscription: "data.subscription_id data.subscription.id",
	},
	arrived:  []string{"paid", "refunded", "partially_refunded"},
	statuses: map[string]string{"incomplete_expired": events.Expired},
	reversed: map[string]events.ReversalStatus{"failed": events.Failed, "canceled": events.Failed},

	events: map[string]meaning{
		// Other events of an order come before this one, or after a refund.
		"order.paid": {
			action: events.Payment, decide: decidePolarOrder,
			facts: facts{
				transaction: "data.id", checkout: "data.checkout_id", paid: "data.status",
				status: "data.subscription.status", variant: "data.billing_reason", begin: "data.created_at",
				detail:      "data.items[0].proration", // the rest of a change comes before what was used
				periodStart: "data.subscription.current_period_start", periodEnd: "data.subscription.current_period_end",
			},
			sums: []sum{{amount: polarPaid, currency: "data.currency", ofTransaction: true}},
		},
		// It names no refund, so all of an order are one reversal, with a total and no amount of its own.
		"order.refunded": {
			action: events.Reverse, cause: events.Refund, reversal: events.Succeeded, decide: decidePolarTotal,
			facts: facts{
				transaction: "data.id", reversal: "data.id",
				reversalTotal: "data.refunded_amount+data.refunded_tax_amount", reversalPaid: polarPaid,
			},
		},
		"refund.created":          polarRefund,
		"refund.updated":          polarRefund,
		"subscription.created":    polarSubscription(""),
		"subscription.active":     polarBegin, // also at the begin of a trial, and when a canceled one is reinstated
		"subscription.updated":    polarSubscription(""),
		"subscription.canceled":   polarSubscription(""), // also when it is to end with its period
		"subscription.uncanceled": polarSubscription(""),
		"subscription.cycled":     polarSubscription(""),
		"subscription.past_due":   polarSubscription(""),
		"subscription.paused":     polarSubscription(""),
		"subscription.resumed":    polarSubscription(""),
		"subscription.migrated":   polarSubscription(""),
		"subscription.revoked":    polarSubscription(events.Canceled),
	},
}

// polarPaid is what was paid. The second amount is below 0 if the customer's balance paid a part.
const polarPaid = "data.total_amount+data.applied_balance_amount"

func polarSubscription(ofType string) meaning {
	return meaning{action: events.Subscription, status: ofType, recurring: true, facts: facts{
		subscription: "data.id", status: "data.status", ending: "data.cancel_at_period_end",
		periodStart: "data.current_period_start", periodEnd: "data.current_period_end", canceledAt: "data.canceled_at",
	}}
}

var polarBegin = func() meaning {
	m := polarSubscription("")
	m.decide = func(e *events.Event, _ *values) { e.Begins = e.Status != events.Canceled }
	return m
}()

// polarRefund is a refund. Its metadata is its own, and says nothing of the order.
var polarRefund = meaning{
	action: events.Reverse, decide: decidePolarRefund,
	facts: facts{
		user: "", kind: "", productKey: "", credits: "", github: "",
		transaction: "data.order_id", reversal: "data.id", reversalStatus: "data.status",
		reversalAmount: "data.amount+data.tax_amount", // the amount alone is without tax
		cause:          "data.reason", variant: "data.dispute.id",
	},
}

// decidePolarOrder finds out what an order is for. The first order of a trial costs 0. An order for what was used
// within a period names the plan, but does not sell it again. That for the last period comes when the subscription has
// ended, also with a trial; it can have the rest of a change of plan, too. An order that was made before the present
// period of its subscription is paid late: the body does not have its period.
func decidePolarOrder(e *events.Event, b *values) {
	notNegative(&e.Amount)
	e.Trial = b.word(status) == events.Trialing && e.Amount.Present && !e.Amount.Bad && e.Amount.Value == 0
	made := b.moment(begin)
	switch b.word(variant) {
	case "subscription_meter_cycle":
		e.Action = events.None
	case "subscription_cycle":
		if b.word(status) == events.Canceled && !b.isTrue(detail) && !made.IsZero() && !made.Before(e.PeriodEnd) {
			e.Action = events.None
		}
	case "subscription_update": // its period is that of the subscription, of which it pays the rest
		e.Prorated = true
	}
	if !made.IsZero() && made.Before(e.PeriodStart) {
		e.PeriodStart, e.PeriodEnd = time.Time{}, time.Time{}
	}
}

func decidePolarTotal(e *events.Event, _ *values) { notNegative(&e.Reversal.Paid) }

// decidePolarRefund finds the refunds with which Polar prevents a dispute. Nothing tells that a dispute was lost.
func decidePolarRefund(e *events.Event, b *values) {
	if b.word(cause) == "dispute_prevention" || b.word(variant) != "" {
		e.Reversal.Cause = events.Chargeback
	}
}
