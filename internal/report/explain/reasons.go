package explain

import "github.com/payfold/payfold/internal/projections"

// reasons explains rejections to the people who run the shop.
var reasons = map[projections.Reason]string{
	projections.InvalidText:      "A text in it cannot be stored: it has an invalid or zero character, or is longer than 255 bytes.",
	projections.WrongMode:        "Its mode (test or live) is not the one that PROVIDER_MODE accepts.",
	projections.UnknownKind:      "Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product.",
	projections.MissingUser:      "Nothing says who bought it: the checkout's metadata needs a user_id.",
	projections.MissingPaymentID: "It names no transaction and no order, so a second event of the same payment could not be recognized.",
	projections.UnknownProduct:   "It names no product that the catalogue has. If one is missing there, add it and rebuild; then it is granted.",
	projections.KindMismatch:     "Its metadata names another kind than the catalogue has for the product. Buyers can edit the metadata of a checkout link.",
	projections.MissingCredits:   "It sells a credit pack without a number of credits: the checkout's metadata needs credits, or the catalogue needs them for the product.",
	projections.OutOfRange:       "A number in it is out of range: credits are whole numbers from 1 to 1000000000000, amounts are not negative, and balances have a maximum.",
	projections.PaymentConflict:  "Its payment had been claimed before, for another user or as another kind of purchase. The first claim stays.",
	projections.Internal:         "The database refused the rows it would have written. Somebody has changed something in the database, or this is a fault of payfold.",
}

// countsStill has the reasons after which the payment keeps what the rejected event says.
var countsStill = map[projections.Reason]bool{
	projections.UnknownKind: true, projections.MissingUser: true, projections.UnknownProduct: true, projections.MissingCredits: true,
}

// Meaning explains a reason in one or two sentences. If this build does not know the reason, it
// only names it.
func Meaning(reason string) string {
	if text, known := reasons[projections.Reason(reason)]; known {
		return text
	}
	return "Rejected as " + reason + "."
}

// rejection explains a reason, and what became of the event.
func rejection(reason string, namesPayment bool) string {
	text := Meaning(reason)
	if namesPayment && countsStill[projections.Reason(reason)] {
		return text + " It claimed and granted nothing. When a later event completes the payment, what this event says of it counts, unless a number in it is out of range."
	}
	return text + " It changed nothing."
}
