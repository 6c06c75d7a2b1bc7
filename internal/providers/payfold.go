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
		checkout: "checkout", subscription: "subscription", paid: "payment_status", status: "status", periodStart: "period_start", periodEnd: "period_end",
		canceledAt: "canceled_at", reversal: "reversal", cause: "cause", reversalStatus: "status",
		reversalAmount: "amount", reversalTotal: "total_reversed", reversalPaid: "amount_paid",
		reversalCredits: "credits",
	},
	sums:     []sum{{amount: "amount", currency: "currency", ofTransaction: true}},
	reversed: map[string]events.ReversalStatus{"failed": events.Failed},
	closed:   true, // a mistyped type would do nothing
	events: map[string]meaning{
		"payment":      {action: events.Payment},
		"gift":         {action: events.Payment, facts: facts{kind: "", product: "", expires: "expires_at"}, decide: give},
		"checkout":     {action: events.Checkout, status: events.Active},
		"subscription": {action: events.Subscription, recurring: true, facts: facts{extended: "extended_until"}},
		"reversal":     {action: events.Reverse},
	},
}

// give makes the event one that grants its own credits, as a pack. If nobody can read when they expire, they cannot be
// granted: otherwise they would never expire.
func give(e *events.Event, b *values) {
	e.Given, e.Kind = true, "one_time"
	if expires := b.any(expires); expires.kind != 0 && e.Expires.IsZero() {
		e.Credits.Present, e.Credits.Bad = true, true
	}
}
