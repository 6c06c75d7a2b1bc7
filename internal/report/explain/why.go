package explain

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// WithWhy is an event with the sentences that say what it did and why.
type WithWhy struct {
	projections.ProcessedEvent
	Why     string `json:"why"`
	Product string `json:"-"` // that the catalogue does not have, if it was rejected for that
}

// Explained explains events, in a fixed number of statements.
func Explained(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) ([]WithWhy, error) {
	rows, err := readRelated(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	out := make([]WithWhy, len(list))
	for i, e := range list {
		out[i] = WithWhy{ProcessedEvent: e, Why: why(e, rows)}
		if e.Reason == string(projections.UnknownProduct) {
			out[i].Product = storyOf(e, rows).product()
		}
	}
	return out, nil
}

// why explains in sentences what an event did. The facts of the payment and of the subscription say what each event said
// and when, so the sentences follow from them.
func why(e projections.ProcessedEvent, rows related) string {
	y := storyOf(e, rows)
	return y.did() + notes[projections.Note(e.Note)]
}

// did explains an event without its note.
func (y story) did() string {
	switch e := y.event; projections.Outcome(e.Outcome) {
	case projections.Rejected:
		return y.rejected()
	case projections.Ignored:
		return y.ignored()
	case projections.Stale:
		if e.IsClaim() {
			return y.sold() + y.granted()
		}
		return y.stale()
	case projections.DuplicatePayment:
		return y.again() + y.granted()
	case projections.Applied:
		switch {
		case e.IsReversal():
			return y.reversed()
		case y.isPayment():
			return y.arrived() + y.granted()
		case e.IsClaim():
			return y.sold() + y.granted()
		}
		return y.lifecycle() + y.granted()
	}
	return ""
}

// notes has a sentence for each note.
var notes = map[projections.Note]string{
	projections.AmountUnreadable: " The amount could not be read; the purchase counts without it.",
	projections.UnitsUnreadable:  " The number of units could not be read; it counts as one unit.",
	projections.OneOfSeveral:     " The catalogue sells other items of it, too; the purchase grants only this one.",
	projections.BothUnreadable:   " Neither the amount nor the number of units could be read; the purchase counts without an amount, as one unit.",
}

// NoteMeaning explains a note; empty if there is none.
func NoteMeaning(note string) string {
	if text := notes[projections.Note(note)]; text != "" {
		return text[1:]
	}
	return ""
}

// granted sums up an event's ledger lines in sentences.
func (y story) granted() (text string) {
	undone, sums := y.rows.Undone[y.event.EventID], y.rows.Wrote[y.event.EventID]
	if sums.TookBack > 0 {
		text = fmt.Sprintf(" It took back %s.", page.Count(sums.TookBack, "credit"))
	}
	switch {
	case sums.Granted > 0 && sums.TookBack > 0:
		text += fmt.Sprintf(" The other payments of its period grant %s more, because a payment that is wholly taken back does not count.",
			page.Count(sums.Granted, "credit"))
	case sums.Granted > 0 && undone.Undone > 0:
		text = fmt.Sprintf(" It granted %s. Of these, corrections took back %s.", page.Count(sums.Granted, "credit"), page.Grouped(undone.Undone))
	case sums.Granted > 0:
		text = fmt.Sprintf(" It granted %s.", page.Count(sums.Granted, "credit"))
	}
	if n := undone.GivenBack; n > 0 {
		text += fmt.Sprintf(" Of what reversals of the payment took back, corrections gave back %s.", page.Count(n, "credit"))
	}
	correction := y.rows.Corrected[y.event.EventID]
	if n := correction.Undone; n > 0 {
		text += fmt.Sprintf(" It changed what payments grant, so a correction took back %s.", page.Count(n, "credit"))
	}
	if n := correction.GivenBack; n > 0 {
		text += fmt.Sprintf(" It changed what reversals take, so a correction gave back %s.", page.Count(n, "credit"))
	}
	return text
}

// kindWords names a kind as people in a shop do.
func kindWords(kind projections.Kind) string {
	switch kind {
	case projections.KindSubscription:
		return "a subscription"
	case projections.KindOneTime:
		return "a credit pack"
	case projections.KindPro:
		return "a licence"
	case "none":
		return "something that grants nothing"
	}
	return "something of kind " + page.Name(kind)
}

// story is one event with what it says, and the payment and the subscription of which it says that.
type story struct {
	event        projections.ProcessedEvent
	rows         related
	payment      projections.Payment           // empty if no row has its name
	paid         *projections.Fact             // that the payment arrived; nil: the event does not say it, or it is not kept
	subscription projections.SubscriptionState // empty if no row has its name
	said         *projections.Fact             // of the subscription; nil: nothing, or it is not kept
}

func storyOf(e projections.ProcessedEvent, rows related) story {
	y := story{event: e, rows: rows, payment: rows.Payments[e.ProviderPaymentID]}
	y.subscription = rows.Subscriptions[cmp.Or(e.SubscriptionID, y.payment.SubscriptionID, e.Subscription())]
	y.paid = y.payment.Facts.First(func(f *projections.Fact) bool { return f.EventID == e.EventID && f.Says == projections.Paid })
	y.said = y.subscription.Facts.First(func(f *projections.Fact) bool { return f.EventID == e.EventID && f.Says != projections.Named })
	return y
}

func (y story) isPayment() bool { return y.event.Action == string(events.Payment) }

func (y story) named() bool { return y.payment.ProviderPaymentID != "" }

// namer returns the fact that names the user of the payment: the first of its own events that names one, otherwise the
// first of its subscription; nil if it is not kept.
func (y story) namer() *projections.Fact {
	names := func(f *projections.Fact) bool { return f.User != "" }
	if own := y.payment.Facts.First(func(f *projections.Fact) bool { return f.Says == projections.Paid && names(f) }); own != nil {
		return own
	}
	return y.rows.Subscriptions[y.payment.SubscriptionID].Facts.First(names)
}

// nameAndTime names an event with the provider's time.
func nameAndTime(f *projections.Fact) string {
	return fmt.Sprintf("%s (%s)", page.Name(f.EventID), at(f.At))
}

// NotClaimed says why a payment grants nothing to anybody yet; who is what the reader calls a user.
func NotClaimed(p projections.Payment, who string) string {
	switch user := p.Facts.First(func(f *projections.Fact) bool { return f.User != "" }); {
	case !p.Paid:
		return "no event says that it was paid"
	case !p.Known && p.ProductKey != "" && p.Kind == "":
		return "the catalogue does not have its product, " + page.Name(p.ProductKey)
	case !p.Known && p.Kind == projections.KindOneTime:
		return "no event says how many credits were sold"
	case !p.Known:
		return "no event says what was sold"
	case user == nil:
		return "no event names its " + who
	}
	return "the balance of its " + who + " cannot hold what it grants"
}

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
