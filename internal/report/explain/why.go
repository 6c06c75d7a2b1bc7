package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

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
			return y.claimed() + y.granted()
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
		text = fmt.Sprintf(" It granted %s. Of these, corrections took back %d.", page.Count(sums.Granted, "credit"), undone.Undone)
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
