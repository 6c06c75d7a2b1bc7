package explain

import (
	"github.com/payfold/payfold/internal/projections"
)

const addToCatalogue = " Add the product to the catalogue under this id, and rebuild: then the purchase counts. A product that grants nothing is {kind: none}."

// reasons explains rejections to the people who run the shop.
var reasons = map[projections.Reason]string{
	projections.InvalidText:      "A text in it cannot be stored: it has an invalid or zero character, or is longer than 255 bytes.",
	projections.WrongMode:        "Its mode (test or live) is not the one that PROVIDER_MODE accepts.",
	projections.UnknownKind:      "Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product.",
	projections.MissingUser:      "Nothing says who bought it: the checkout's metadata needs a user_id.",
	projections.MissingPaymentID: "It names no transaction and no order, so a second event of the same payment could not be recognized.",
	projections.UnknownProduct:   "It names no product that the catalogue has. The page of each event names the provider's id of the product." + addToCatalogue,
	projections.KindMismatch:     "Its metadata names another kind than the catalogue has for the product. Buyers can edit the metadata of a checkout link.",
	projections.MissingCredits:   "It sells a credit pack without a number of credits: the checkout's metadata needs credits, or the catalogue needs them for the product.",
	projections.OutOfRange: "A number in it is out of range: credits and units are whole numbers from 1 to 1,000,000,000,000, the amounts of a reversal are whole numbers of at least 0," +
		" and balances have a maximum.",
	projections.PaymentConflict: "It names another user, another kind of purchase or another provider than its payment has.",
	projections.Internal:        "The database refused the rows it would have written. Somebody has changed something in the database, or this is a fault of payfold.",
}

// Meaning explains a reason in one or two sentences. If this build does not know the reason, it
// only names it.
func Meaning(reason string) string {
	if text, known := reasons[projections.Reason(reason)]; known {
		return text
	}
	return "Rejected as " + reason + "."
}
