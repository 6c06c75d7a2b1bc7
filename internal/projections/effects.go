package projections

// effect is the rule of an event type.
type effect func(Rules, *State, *facts) (Outcome, error)

// effectOf returns the rule of an event type; nil if its events have no effect, so that they are ignored. A
// new event type is one line here and one function.
func effectOf(eventType string) effect {
	switch eventType {
	case "checkout.completed",
		"subscription.paid":
		return claim
	case "subscription.active",
		"subscription.trialing",
		"subscription.update",
		"subscription.canceled",
		"subscription.scheduled_cancel",
		"subscription.past_due",
		"subscription.paused",
		"subscription.unpaid",
		"subscription.expired":
		return lifecycle
	case "refund.created", "dispute.created":
		return reverse
	}
	return nil
}

// HasEffect reports whether events of this type can touch any row except their own record.
func HasEffect(eventType string) bool { return effectOf(eventType) != nil }
