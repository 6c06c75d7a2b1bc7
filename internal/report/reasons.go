package report

import "github.com/payfold/payfold/internal/projections"

// reasons says why an event was rejected, to whoever runs the shop.
var reasons = map[projections.Reason]string{
	projections.InvalidText:      "A text in it cannot be kept in a table: it holds a broken or zero character, or is longer than 255 bytes.",
	projections.WrongMode:        "It belongs to the provider's other mode (test or live) than PROVIDER_MODE takes.",
	projections.UnknownKind:      "Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue the product.",
	projections.MissingUser:      "Nothing says who bought it: the checkout's metadata needs a user_id.",
	projections.MissingPaymentID: "It names no payment, neither a transaction nor an order, so it could not be told apart from a second delivery of another one.",
	projections.UnknownProduct:   "The catalogue does not sell its product. Add the product to the catalogue and rebuild, and it is granted.",
	projections.KindMismatch:     "Its metadata says another kind than the catalogue has for the product; a buyer can edit the metadata of a checkout link.",
	projections.MissingCredits:   "It sells a credit pack and says no credits: the checkout's metadata needs credits, or the catalogue the product.",
	projections.OutOfRange:       "A number in it cannot be used: credits are whole numbers from 1 to 1000000000000, amounts are not negative, and balances have an end.",
	projections.PaymentConflict:  "Its payment had been claimed before, by another user or as another kind of purchase; it stays with the first.",
	projections.Internal:         "The database refused the rows it would have written. This is a fault of payfold, not of the shop.",
}

// kept are the reasons for which what an event says of its payment still counts.
var kept = map[projections.Reason]bool{
	projections.UnknownKind: true, projections.MissingUser: true, projections.UnknownProduct: true, projections.MissingCredits: true,
}

// rejection explains a reason; one that this build does not know is shown as it is.
func rejection(reason string, namesPayment bool) string {
	text, known := reasons[projections.Reason(reason)]
	switch {
	case !known:
		return "Rejected as " + reason + ". It changed nothing."
	case namesPayment && kept[projections.Reason(reason)]:
		return text + " It claimed and granted nothing; what it says of its payment counts when a later event completes it."
	}
	return text + " It changed nothing."
}
