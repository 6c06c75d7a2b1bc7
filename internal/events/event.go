// Package events defines a payment event in neutral words. These are the facts that the rules read, the event's id, its
// partition, and the message of the log that carries it. It knows no provider; package providers makes Events from
// bodies.
package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strings"
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
	MayBeginTrial       bool   // it does not say whether a trial begins with it; the events of its subscription do
	Prorated            bool   // it pays only for a part of its period, after a change of the subscription

	// Facts of a subscription. Recurring: the event belongs to a subscription, even if it names none. Status is one of
	// the statuses below, or the provider's word for one that payfold does not know.
	SubscriptionID string
	Recurring      bool
	Status         string
	Begins         bool // the provider says that it begins, also again after it was canceled
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

	// Its own period, if it has one and the event names none for all of them. The event has the one that ends last.
	PeriodStart, PeriodEnd time.Time
}

// Is reports whether the item is the product of that id, or has the price of that id.
func (i *Item) Is(id string) bool { return id != "" && (i.Product == id || i.Price == id) }

// PeriodEnds lists the ends of the periods that the event names, for itself and for its items.
func (e *Event) PeriodEnds() []time.Time {
	ends := []time.Time{e.PeriodEnd}
	for i := range e.Items {
		ends = append(ends, e.Items[i].PeriodEnd)
	}
	return ends
}

// Reversal is what an event says of a refund or a chargeback. Its amounts are in the minor unit of the payment's
// currency, but Amount is in that of Currency if the event names one.
type Reversal struct {
	ID     string // the provider's id of the refund or dispute; empty if it has none
	Cause  Cause
	Status ReversalStatus
	Amount Number // what it takes back
	Total  Number // all that reversals have taken back of the payment so far
	Paid   Number // what was paid, including taxes

	Currency string // of Amount, upper case; empty: the payment's

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

// OwnEvents is the provider of the shop's own events. They may name the payments and subscriptions of all providers.
const OwnEvents = "payfold"

// maxCleanID bounds an id in bytes. NATS changes some header values, and Postgres refuses
// index rows over 2.7 kB. So an id that is longer, or has other characters, is replaced by
// its hash.
const maxCleanID = 200

const hashPrefix = "sha256:"

// CleanID returns the form of an event id that is used everywhere: as the message's dedupe
// id, in answers and in the tables. An id of 1 to 200 printable ASCII characters without
// spaces is unchanged. Any other id, and one that begins with "sha256:", becomes
// "sha256:<hex>" of itself. Two different inputs never have the same result.
func CleanID(id string) string {
	if isClean(id) && !strings.HasPrefix(id, hashPrefix) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// PossibleIDs returns the ids under which the tables may have an event, from an id that a person
// typed. An id of the form "sha256:<hex>" may be clean already, so both forms are returned.
func PossibleIDs(id string) []string {
	if digest, hashed := strings.CutPrefix(id, hashPrefix); hashed && len(digest) == 2*sha256.Size && strings.Trim(digest, "0123456789abcdef") == "" {
		return []string{id, CleanID(id)}
	}
	return []string{CleanID(id)}
}

func isClean(s string) bool {
	if s == "" || len(s) > maxCleanID {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Partition returns the event's partition among n: FNV-1a (32 bits) of its key, modulo n. The key
// is the id of the customer; if that is absent, the id of the user, the subscription, the payment
// or the event, in this order. So all events that name a customer share a partition and are folded
// in the order of the log.
func (e Event) Partition(n int) int {
	hash := fnv.New32a()
	hash.Write([]byte(e.Key))
	return int(hash.Sum32() % uint32(n))
}
