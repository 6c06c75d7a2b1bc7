package events

import (
	"cmp"
	"crypto/sha256"
	"time"
)

// Event is one event with the fields that the rules read. An absent field is empty. An Event
// is a value: it may be copied, and nothing in it changes after Decode.
type Event struct {
	Seq        uint64    // sequence of its message in the log
	ReceivedAt time.Time // when ingest received it; UTC, microseconds
	OccurredAt time.Time // the provider's time, or ReceivedAt if that is absent or implausible

	ID   string // as CleanID returns it
	Type string // as CleanID returns it

	// Unreadable: the message contains no event. InvalidText: a field that the rules read
	// contains text that no table can store (U+0000, a lone surrogate, more than maxText
	// bytes); that field is empty here. InvalidPayment: a reversal needs that field, which is a
	// name of the payment or the status. If no table can store Product or GitHubUser, no flag
	// is set. The rules can do without Product, which is empty then. GitHubUser becomes a name
	// that GitHub cannot have.
	Unreadable     bool
	InvalidText    bool
	InvalidPayment bool

	Kind                string
	UserID              string
	SubscriptionID      string
	Transaction         string // the first name of a payment
	Order               string // the second name of a payment
	ProductKey          string // from metadata, otherwise Product
	Product             string // the provider's own id of what was sold
	GitHubUser          string
	Mode                string
	Status              string // of the object: a subscription or a refund
	Credits             Number
	Units               Number
	Amount              Number // in the minor unit of Currency
	AmountOfTransaction bool   // Amount comes from the transaction; it has priority over an order's amount
	Currency            string
	PeriodStart         time.Time
	PeriodEnd           time.Time
	CanceledAt          time.Time

	// Fields of a reversal, in the minor unit of the payment's currency.
	RefundedTotal Number // all that reversals have taken back of the payment so far
	RefundAmount  Number // what this reversal takes back
	PaidAmount    Number // what was paid, including taxes

	key       string
	createdAt time.Time
}

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

// PaymentID returns the payment's name: its transaction, or its order if there is none.
func (e *Event) PaymentID() string { return cmp.Or(e.Transaction, e.Order) }
