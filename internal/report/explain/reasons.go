package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

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

// rejected explains a rejection and what became of the event. A rejected event can still say that two names belong to
// one payment, or of which kind the payments of its subscription are, and so change what payments grant. Another event
// may have brought what it lacked.
func rejected(e projections.ProcessedEvent, rows related) string {
	reason, text := projections.Reason(e.Reason), Meaning(e.Reason)
	notAKind := reason == projections.UnknownKind && e.Kind != ""
	if notAKind {
		text = fmt.Sprintf("Its metadata says that the kind is %s, but the kinds are subscription, one_time and pro.", page.Name(e.Kind))
	}
	p, named := rows.Payments[e.ProviderPaymentID]
	wrote := granted(e, rows)
	switch {
	case named && p.EventID == e.EventID && p.UserID != "":
		return text + fmt.Sprintf(" A later event brought what it lacked. Then its payment was claimed for user %s.", page.Name(p.UserID)) + wrote
	case wrote != "":
		text += " But what it says of the names of its payment, and of its subscription, counts." + wrote
	case !named || e.IsReversal():
		return text + " It changed nothing."
	default:
		text += " It claimed and granted nothing."
	}
	switch {
	case reason == projections.PaymentConflict:
		return text + fmt.Sprintf(" (%s claimed it for user %s, as %s.)", page.Name(p.EventID), page.Name(p.UserID), page.Name(p.Kind))
	case !countsStill[reason] || notAKind || !e.IsClaim():
		return text
	case p.UserID == "":
		return text + " When a later event completes the payment, what this event says of it counts, unless a number in it is out of range."
	}
	return text + fmt.Sprintf(" %s (seq %d) claimed the payment for user %s. What this event says of it counts, unless a number in it is out of range.",
		page.Name(p.EventID), p.StreamSeq, page.Name(p.UserID))
}
