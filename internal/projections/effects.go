package projections

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

// HasEffect reports whether events of this type can touch any row except their own record.
func HasEffect(eventType string) bool { return effects[eventType] != nil }
