package projections

import (
	"maps"
	"slices"
)

// effect says which rule applies to an event.
type effect string

const (
	claims      effect = "claim"      // the event says that a payment arrived; see claim
	setsStatus  effect = "lifecycle"  // the event is about the status of a subscription; see lifecycle
	refunds     effect = "refund"     // the event takes a payment back; see reverse. Its ledger lines have this entry
	chargesBack effect = "chargeback" // likewise
)

// effects has the types of the events that have an effect. All others are ignored. A new event type is one line
// here.
var effects = map[string]effect{
	"checkout.completed":            claims,
	"subscription.paid":             claims,
	"subscription.active":           setsStatus,
	"subscription.trialing":         setsStatus,
	"subscription.update":           setsStatus,
	"subscription.canceled":         setsStatus,
	"subscription.scheduled_cancel": setsStatus,
	"subscription.past_due":         setsStatus,
	"subscription.paused":           setsStatus,
	"subscription.unpaid":           setsStatus,
	"subscription.expired":          setsStatus,
	"refund.created":                refunds,
	"dispute.created":               chargesBack,
}

// TypesWithEffect lists the types of events that can touch other rows than their own record. It must not be changed.
var TypesWithEffect = slices.Sorted(maps.Keys(effects))

// HasEffect reports whether events of this type can touch other rows than their own record.
func HasEffect(eventType string) bool { return effects[eventType] != "" }

// IsClaim reports whether events of this type say that a payment arrived.
func IsClaim(eventType string) bool { return effects[eventType] == claims }

// IsReversal reports whether events of this type take a payment back.
func IsReversal(eventType string) bool { return effects[eventType].reverses() }

func (e effect) reverses() bool { return e == refunds || e == chargesBack }
