package projections

// Outcome is what an event did.
type Outcome string

// The outcomes.
const (
	Applied          Outcome = "applied"
	DuplicatePayment Outcome = "duplicate_payment" // its payment was already claimed
	Stale            Outcome = "stale"             // a newer event, or a cancellation, had decided the status of its subscription
	Ignored          Outcome = "ignored"           // its type, kind or status changes nothing that a user has
	Rejected         Outcome = "rejected"          // see the Reason
)

// Reason is why an event was rejected, or NotPaid; empty for every other outcome. A rejected event has claimed and granted
// nothing.
type Reason string

// The reasons. If several apply, the first of them is recorded.
const (
	InvalidText      Reason = "invalid_text"
	WrongMode        Reason = "wrong_mode"
	UnknownKind      Reason = "unknown_kind"
	MissingUser      Reason = "missing_user"
	MissingPaymentID Reason = "missing_payment_id"
	UnknownProduct   Reason = "unknown_product"
	KindMismatch     Reason = "kind_mismatch"
	MissingCredits   Reason = "missing_credits"
	OutOfRange       Reason = "out_of_range"
	PaymentConflict  Reason = "payment_conflict"
	Internal         Reason = "internal"

	// NotPaid is the reason of an ignored event of a payment whose money has not arrived.
	NotPaid Reason = "unpaid"
)

// Reasons lists all reasons of rejections.
var Reasons = []Reason{
	InvalidText, WrongMode, UnknownKind, MissingUser, MissingPaymentID, UnknownProduct, KindMismatch,
	MissingCredits, OutOfRange, PaymentConflict, Internal,
}

// Note says what was odd about an event whose purchase counts, or will count when another event brings what is missing;
// empty for nearly every event.
type Note string

// The notes.
const (
	AmountUnreadable Note = "amount_unreadable" // the amount is not a whole number of at least 0; the purchase counts without it
	UnitsUnreadable  Note = "units_unreadable"  // the number of units is not a whole number of at least 1; it counts as one unit
	BothUnreadable   Note = "amount_and_units_unreadable"
)

// Notes lists all notes.
var Notes = []Note{AmountUnreadable, UnitsUnreadable, BothUnreadable}
