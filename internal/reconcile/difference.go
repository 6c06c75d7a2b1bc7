package reconcile

import (
	"time"

	"github.com/payfold/payfold/internal/providerapi"
)

// What is how the provider and the tables differ.
type What string

// The differences.
const (
	MissingPayment      What = "missing_payment"      // the provider has it, the tables do not
	UnknownPayment      What = "unknown_payment"      // the tables have it, the provider does not
	OtherAmount         What = "other_amount"         // both have the payment, with other amounts or currencies
	MissingSubscription What = "missing_subscription" // the provider has it, and it has not ended
	UnknownSubscription What = "unknown_subscription"
	OtherStatus         What = "other_status"
	OtherPeriod         What = "other_period"   // its period ends at another time
	MissingRefund       What = "missing_refund" // the provider has paid it back, the tables do not know
	UnknownRefund       What = "unknown_refund"
	OtherRefund         What = "other_refund" // of another amount, or it failed
)

// Lagging says why a difference does not count yet.
type Lagging string

// The reasons.
const (
	Young Lagging = "young"  // the provider made or changed it less than Lag ago
	InLog Lagging = "in_log" // an event of it is in the log, and no projector has applied it
)

// Difference is one difference. Amounts are in the minor unit of the currency.
type Difference struct {
	What What `json:"difference"`

	// Of the provider's object.
	Payment      string    `json:"payment,omitempty"` // the name that the provider gives it, or the tables
	Subscription string    `json:"subscription,omitempty"`
	Refund       string    `json:"refund,omitempty"` // empty if the provider tells only a sum for each payment
	User         string    `json:"user,omitempty"`   // as the provider says, or else the tables
	Provider     Side      `json:"provider"`
	Tables       Side      `json:"tables"`
	At           time.Time `json:"at,omitzero"` // when the provider made it

	Event   string  `json:"event,omitempty"`   // the event that decides what the tables have
	Outcome string  `json:"outcome,omitempty"` // of an event of a missing payment that was received
	Reason  string  `json:"reason,omitempty"`  // likewise
	Lagging Lagging `json:"lagging,omitempty"` // empty: the difference counts
	Repair  string  `json:"repair"`            // the command, or what to do

	byOrder bool // Payment is an order, because no transaction names the payment
	kind    providerapi.Kind
	object  string    // by which the provider finds it
	changed time.Time // the newest time of the provider's object
	names   []string  // that an event of it can have
}

// Side is what one side has.
type Side struct {
	Amount   *int64    `json:"amount,omitempty"`
	Currency string    `json:"currency,omitempty"`
	Status   string    `json:"status,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}
