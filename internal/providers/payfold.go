package providers

import "github.com/payfold/payfold/internal/events"

// payfold is the shop itself: its own events, in neutral words. docs/event.schema.json describes a body.
var payfold = &Provider{
	name:    "payfold",
	schemes: []scheme{hexOfBody("Payfold-Signature")},

	id: "id", kind: "type", time: "time",
	facts: facts{
		customer: "customer", user: "user", kind: "kind", product: "product", credits: "credits",
		units: "units", github: "github_username", transaction: "payment", order: "order",
		subscription: "subscription", paid: "payment_status", status: "status", periodStart: "period_start", periodEnd: "period_end",
		canceledAt: "canceled_at", reversal: "reversal", cause: "cause", reversalStatus: "status",
		reversalAmount: "amount", reversalTotal: "total_reversed", reversalPaid: "amount_paid",
	},
	sums:     []sum{{amount: "amount", currency: "currency", ofTransaction: true}},
	reversed: map[string]events.ReversalStatus{"failed": events.Failed},
	events: map[string]meaning{
		"payment":      {action: events.Payment},
		"checkout":     {action: events.Checkout, status: events.Active},
		"subscription": {action: events.Subscription, recurring: true},
		"reversal":     {action: events.Reverse},
	},
}
