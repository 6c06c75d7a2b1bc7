package projections

import "strings"

// effects lists the event types that have an effect. All others are ignored. A new event type
// is one line here and one function.
var effects = map[string]func(Rules, *State, *facts) (Outcome, error){
	"checkout.completed": claim,
	"subscription.paid":  claim,

	"subscription.active":           lifecycle,
	"subscription.trialing":         lifecycle,
	"subscription.update":           lifecycle,
	"subscription.canceled":         lifecycle,
	"subscription.scheduled_cancel": lifecycle,
	"subscription.past_due":         lifecycle,
	"subscription.paused":           lifecycle,
	"subscription.unpaid":           lifecycle,
	"subscription.expired":          lifecycle,

	"refund.created":  reverse,
	"dispute.created": reverse,
}

// IsClaim reports whether events of this type say that a payment arrived.
func IsClaim(eventType string) bool {
	return eventType == "checkout.completed" || eventType == "subscription.paid"
}

// HasEffect reports whether events of this type can touch any row except their own record.
func HasEffect(eventType string) bool { return effects[eventType] != nil }

// IsReversal reports whether events of this type take a payment back.
func IsReversal(eventType string) bool { return causes[eventType] != "" }

// statusOf returns the status of a subscription. It is the event's type; only an update has a
// field for it.
func statusOf(f *facts) string {
	if f.Type == "subscription.update" {
		return f.Status
	}
	return strings.TrimPrefix(f.Type, "subscription.")
}
