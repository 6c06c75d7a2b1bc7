package events

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Event is one event with the fields the rules read; an absent field is empty.
// It is a value: copying it is safe, nothing in it changes after Decode.
type Event struct {
	Seq        uint64    // its message's place in the log
	ReceivedAt time.Time // when ingest had it, UTC, microseconds
	OccurredAt time.Time // the provider's time, or ReceivedAt where that is absent or absurd

	ID   string // clean: see CleanID
	Type string // clean in the same way

	// Unreadable: the message holds no event at all. InvalidText: a field that
	// the rules read holds text that no table can (U+0000, a lone surrogate,
	// more than MaxText bytes); that field is empty here. InvalidPayment: it is one
	// that a reversal needs, a name of its payment or its status.
	Unreadable     bool
	InvalidText    bool
	InvalidPayment bool

	Kind                string
	UserID              string
	SubscriptionID      string
	Transaction         string // a payment's first name
	Order               string // its second
	ProductKey          string // metadata's, else Product
	Product             string // the provider's own id of what was sold
	GitHubUser          string
	Mode                string
	Status              string // of the object: a subscription's, a refund's
	Credits             Number
	Units               Number
	Amount              Number // in the minor unit of Currency
	AmountOfTransaction bool   // its transaction says Amount: it goes before what an order says
	Currency            string
	PeriodStart         time.Time
	PeriodEnd           time.Time
	CanceledAt          time.Time

	// Of a reversal, in the minor unit of the payment's currency.
	RefundedTotal Number // what is taken back of the payment so far
	RefundAmount  Number // what this one takes back
	PaidAmount    Number // what was paid, taxes included

	key       string
	createdAt time.Time
}

// Message is one message of the log.
type Message struct {
	Seq            uint64
	Partition      int
	ID             string // its dedupe id
	Body           []byte // read only; valid as long as whoever gave the Message says
	ReceivedAt     time.Time
	StoredAt       time.Time // by the stream's clock
	Signature      string    // lower-case hex
	KeyFingerprint string    // of the secret that Signature was made with
}

// Digest tells this message from any other that could stand at its place.
func (m Message) Digest() []byte {
	hash := sha256.New()
	hash.Write([]byte(m.ID))
	hash.Write([]byte{0})
	hash.Write(m.Body)
	return hash.Sum(nil)
}

// Delivery is one verified delivery, as the log keeps it.
type Delivery struct {
	Event          Event
	Body           []byte // the bytes that were signed, unchanged
	Signature      string // lower-case hex
	KeyFingerprint string // of the secret that Signature was made with
	ReceivedAt     time.Time
	TraceParent    string
	TraceState     string
}

// PaymentID is the payment's name: its transaction, else its order.
func (e Event) PaymentID() string {
	if e.Transaction != "" {
		return e.Transaction
	}
	return e.Order
}

// Decode reads a message of the log. It is total.
func Decode(m Message) Event {
	event, err := Parse(m.Body)
	if err != nil {
		event = Event{ID: idWithoutBody(m), Unreadable: true}
	}
	event.Seq, event.ReceivedAt = m.Seq, m.ReceivedAt.UTC().Truncate(time.Microsecond)
	event.OccurredAt = event.ReceivedAt
	if plausible(event.createdAt, event.ReceivedAt) {
		event.OccurredAt = event.createdAt
	}
	return event
}

func idWithoutBody(m Message) string {
	if isClean(m.ID) {
		return m.ID
	}
	sum := sha256.Sum256(m.Body)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// No provider sent webhooks before; a clock that is ahead by more than clockSkew is wrong.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const clockSkew = 5 * time.Minute

func plausible(t, receivedAt time.Time) bool {
	return !t.Before(earliest) && !t.After(receivedAt.Add(clockSkew))
}
