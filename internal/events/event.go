package events

import (
	"cmp"
	"crypto/sha256"
	"time"
)

// Event is one event in neutral words: the facts that the rules read, whichever provider sent it. An absent fact is
// empty. An Event is a value: it may be copied, and nothing in it changes after it was decoded.
type Event struct {
	Seq        uint64    // sequence of its message in the log
	ReceivedAt time.Time // when ingest received it; UTC, microseconds
	OccurredAt time.Time // the provider's time; ReceivedAt if that is absent, implausible or more than a day ahead

	Provider string // the name of the provider that sent it
	ID       string // as CleanID returns it
	Type     string // the provider's word for it, as CleanID returns it; no rule reads it
	Action   Action

	// Unreadable: the message contains no event. InvalidText: a fact contains text that no table can store (U+0000, a
	// lone surrogate, more than 255 bytes); that fact is empty here. InvalidPayment: a reversal needs that fact, which is
	// a name of the payment or of the reversal. If no table can store GitHubUser, no flag is set: it becomes a name that
	// GitHub cannot have.
	Unreadable     bool
	InvalidText    bool
	InvalidPayment bool

	Kind       string
	UserID     string
	ProductKey string // from the metadata, which a buyer can write; so Product and Items have priority
	Product    string // what was sold, as the provider names it
	Items      []Item // what was sold, as the provider lists it; at most 100
	Credits    Number
	Units      Number    // of the whole event; those of an item have priority
	Given      bool      // the shop itself grants Credits, whatever the catalogue sells
	Expires    time.Time // when these credits expire; zero: never
	GitHubUser string
	Mode       Mode

	// Facts of a payment. An event that has both names says that they are names of one payment.
	Transaction         string // the first name, which reversals use
	Order               string // the second name
	Checkout            string // the provider's id of the checkout in which it was bought, or in which its subscription began
	Amount              Number // in the minor unit of Currency
	AmountOfTransaction bool   // Amount comes from the transaction; it has priority over an order's amount
	Currency            string // upper case
	Unpaid              bool   // the provider says that the money has not arrived
	Trial               bool   // nothing is due, because a trial begins
	Prorated            bool   // it pays only for a part of its period, after a change of the subscription

	// Facts of a subscription. Recurring: the event belongs to a subscription, even if it names none. Status is one of
	// the statuses below, or the provider's word for one that payfold does not know.
	SubscriptionID string
	Recurring      bool
	Status         string
	PeriodStart    time.Time
	PeriodEnd      time.Time
	CanceledAt     time.Time
	Extended       time.Time // the shop extends the subscription at least until then; its status stays

	Reversal Reversal

	Key string // decides the partition: the customer, or else the next name that the event has
}

// Action is what an event says, for the rules.
type Action string

// The actions. Other events have the action None. They change nothing, but one that has two names of a payment joins
// them.
const (
	None         Action = "none"
	Payment      Action = "payment"      // money arrived
	Checkout     Action = "checkout"     // what was sold for a subscription whose payment is another event
	Subscription Action = "subscription" // the status of a subscription
	Reverse      Action = "reversal"     // a refund or a chargeback
)

// The statuses of a subscription that payfold knows.
const (
	Active          = "active"
	Trialing        = "trialing"
	PastDue         = "past_due"
	Paused          = "paused"
	Unpaid          = "unpaid"
	Incomplete      = "incomplete"
	ScheduledCancel = "scheduled_cancel" // active until the period's end
	Canceled        = "canceled"         // ended, for good
	Expired         = "expired"          // ended; a payment makes it active again
)

// Mode says whether an event is about real money. It is empty if the event should say so and does not.
type Mode string

// The modes.
const (
	Live    Mode = "live"
	Test    Mode = "test"
	AnyMode Mode = "any" // the provider has no modes in its bodies: test and live have secrets of their own
)

// Item is one of the things that a payment pays for.
type Item struct {
	Product string // the provider's id of the product
	Price   string // the provider's id of its price or variant, if it has one
	Units   Number

	Amount   Number // what the item costs, if the provider says so
	Prorated bool   // it is for a part of a period, after a change of the subscription
}

// Reversal is what an event says of a refund or a chargeback. Its amounts are in the minor unit of the payment's
// currency.
type Reversal struct {
	ID     string // the provider's id of the refund or dispute; empty if it has none
	Cause  Cause
	Status ReversalStatus
	Amount Number // what it takes back
	Total  Number // all that reversals have taken back of the payment so far
	Paid   Number // what was paid, including taxes

	// How many credits it takes back, and no money; then Amount, Total and Paid are absent. 0 beside Amount: only money,
	// and nothing of what was sold, such as a tax.
	Credits Number
}

// Cause says who takes the money back.
type Cause string

// The causes. They are also the entries of ledger lines.
const (
	Refund     Cause = "refund"
	Chargeback Cause = "chargeback"
)

// ReversalStatus says whether the money was taken back.
type ReversalStatus string

// The statuses of a reversal.
const (
	Succeeded ReversalStatus = "succeeded"
	Pending   ReversalStatus = "pending" // it is requested, or under review
	Failed    ReversalStatus = "failed"  // it was refused or cancelled, or the seller has won the dispute
)

// Number is a whole number in a body. Its fact determines the unit.
type Number struct {
	Value   int64
	Present bool
	Bad     bool // present, but not a whole number of 64 bits
}

// Pointer returns the value, or nil if it is absent. The value of a bad number is 0.
func (n Number) Pointer() *int64 {
	if !n.Present {
		return nil
	}
	return &n.Value
}

// PaymentID returns the payment's name: its transaction, or its order if there is none.
func (e *Event) PaymentID() string { return cmp.Or(e.Transaction, e.Order) }

// JoinsNames reports whether the event has two names of one payment.
func (e *Event) JoinsNames() bool { return e.Transaction != "" && e.Order != "" }

// HasEffect reports whether the event can touch other rows than its own record.
func (e *Event) HasEffect() bool { return e.Action != None || e.JoinsNames() }

// Message is one message of the log.
type Message struct {
	Seq            uint64
	Partition      int
	ID             string // its dedupe id
	Form           Form   // of Body
	Body           []byte // must not be changed; the function that delivers the Message says how long it is valid
	ReceivedAt     time.Time
	StoredAt       time.Time // by the stream's clock
	Provider       string    // its name; empty if payfold did not write the message
	Source         string    // empty for a delivery, or SourcePulled
	Signed         string    // what was signed before the body, without the separator; empty if nothing was
	Signature      string    // hex or base64, as the provider's scheme has it
	KeyFingerprint string    // of the secret that made Signature
}

// Digest returns a hash of the id and the body. A message with another id or body has another
// digest. So digests show whether two logs have the same message at a sequence.
func (m Message) Digest() []byte {
	hash := sha256.New()
	hash.Write([]byte(m.ID))
	hash.Write([]byte{0})
	hash.Write(m.Body)
	return hash.Sum(nil)
}

// Delivery is one verified delivery, as the log stores it.
type Delivery struct {
	Event          Event
	Body           []byte // as it was received, unchanged
	Provider       string // its name
	Source         string // empty for a delivery, or SourcePulled
	Signed         string // what was signed before the body, without the separator; empty if nothing was
	Signature      string // the one that matched: hex or base64, at most 128 bytes
	KeyFingerprint string // of the secret that made Signature
	ReceivedAt     time.Time
	TraceParent    string
	TraceState     string
}

// OwnEvents is the provider of the shop's own events. They may name the payments and subscriptions of all providers.
const OwnEvents = "payfold"
