package projections

import "strings"

// effects lists the event types that change something; every other is ignored.
// A new event type is one line here and one function.
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

// IsClaim says whether events of this type say that a payment arrived.
func IsClaim(eventType string) bool {
	return eventType == "checkout.completed" || eventType == "subscription.paid"
}

// HasEffect says whether events of this type can touch any row but their own record.
func HasEffect(eventType string) bool { return effects[eventType] != nil }

// IsReversal says whether events of this type take a payment back.
func IsReversal(eventType string) bool { return causes[eventType] != "" }

// A subscription event's type is its status, but for the update, which says so itself.
func statusOf(f *facts) string {
	if f.Type == "subscription.update" {
		return f.Status
	}
	return strings.TrimPrefix(f.Type, "subscription.")
}
