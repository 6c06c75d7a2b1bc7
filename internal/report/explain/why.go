package explain

import (
	"cmp"
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// why explains in sentences what an event did. The rows show the present state, so why
// says of the past only what they prove.
func why(e projections.ProcessedEvent, rows related) string {
	switch projections.Outcome(e.Outcome) {
	case projections.Rejected:
		return rejected(e, rows)
	case projections.Ignored:
		return ignored(e, rows)
	case projections.Stale:
		return stale(e, rows)
	case projections.DuplicatePayment:
		return duplicatePayment(e, rows)
	case projections.Applied:
		if e.IsReversal() {
			return reversed(e, rows)
		}
		return applied(e, rows) + granted(e, rows)
	}
	return ""
}

func ignored(e projections.ProcessedEvent, rows related) string {
	if r, known := rows.Reversals[e.EventID]; known {
		return fmt.Sprintf("The provider reports it as %s, so nothing is taken back.", page.Name(r.Status))
	}
	if e.HasEffect() {
		return fmt.Sprintf("Events of this type are about subscriptions; this one is of kind %s.", page.Name(e.Kind)) + granted(e, rows)
	}
	return "Events of this type change nothing."
}

func stale(e projections.ProcessedEvent, rows related) string {
	text := "A newer event had set its subscription before, so status and period stay as they are."
	s, known := rows.Subscriptions[e.Subscription()]
	switch {
	case known && s.EventID == e.EventID: // a payment whose subscription the event named
		text = fmt.Sprintf("By the provider's time (%s) it is older than a payment of its subscription (%s), which set status and period.",
			at(e.OccurredAt), at(s.OccurredAt))
	case known && s.Status == "canceled" && !e.OccurredAt.Before(s.OccurredAt):
		text = "Its subscription is canceled, which is final, so status and period stay as they are."
	case known && e.OccurredAt.Before(s.OccurredAt):
		text = fmt.Sprintf("By the provider's time (%s) it is older than %s (%s), which set its subscription, so status and period stay as they are.",
			at(e.OccurredAt), page.Name(s.EventID), at(s.OccurredAt))
	}
	return text + " It only filled in what was empty." + granted(e, rows)
}

func duplicatePayment(e projections.ProcessedEvent, rows related) string {
	claim, grantsNothing := "Another event", ", so it grants nothing again"
	if p, known := rows.Payments[e.ProviderPaymentID]; known && p.EventID != e.EventID {
		claim = fmt.Sprintf("%s (seq %d)", page.Name(p.EventID), p.StreamSeq)
	}
	if rows.Wrote[e.EventID] != 0 {
		grantsNothing = ""
	}
	return claim + " had claimed its payment before" + grantsNothing + ". It filled in what the payment lacked." + granted(e, rows)
}

// granted sums up an event's ledger lines in sentences.
func granted(e projections.ProcessedEvent, rows related) (text string) {
	undone := rows.Undone[e.EventID]
	switch sum := rows.Wrote[e.EventID]; {
	case sum > 0 && undone.Undone > 0:
		text = fmt.Sprintf(" It granted %s. Of these, corrections took back %d.", page.Count(sum, "credit"), undone.Undone)
	case sum > 0:
		text = fmt.Sprintf(" It granted %s.", page.Count(sum, "credit"))
	case sum < 0:
		text = fmt.Sprintf(" It took back %s.", page.Count(-sum, "credit"))
	}
	if n := undone.GivenBack; n > 0 {
		text += fmt.Sprintf(" Of what reversals of the payment took back, corrections gave back %s.", page.Count(n, "credit"))
	}
	correction := rows.Corrected[e.EventID]
	if n := correction.Undone; n > 0 {
		text += fmt.Sprintf(" It showed that earlier grants were wrong, so a correction took back %s.", page.Count(n, "credit"))
	}
	if n := correction.GivenBack; n > 0 {
		text += fmt.Sprintf(" It showed that earlier reversals were wrong, so a correction gave back %s.", page.Count(n, "credit"))
	}
	return text
}

// applied says what an event did, apart from credits. It is for all events but reversals.
func applied(e projections.ProcessedEvent, rows related) string {
	p, known := rows.Payments[e.ProviderPaymentID]
	subscription := cmp.Or(p.SubscriptionID, e.Subscription())
	state := cmp.Or(statusKept(e, subscription, rows), "It set the subscription's state.")
	switch {
	case !e.IsClaim():
		return lifecycle(e, rows)
	case known && p.EventID != e.EventID && p.MergedID != "" && !startsSubscription(e):
		return merged(p)
	case known && p.EventID != e.EventID && e.Action == string(events.Payment) && e.UserID != "":
		return state + fmt.Sprintf(" Its payment is claimed by %s (seq %d).", page.Name(p.EventID), p.StreamSeq)
	case known && p.EventID != e.EventID && e.Action == string(events.Payment):
		return state + fmt.Sprintf(" The user of its payment was not known until %s (seq %d) claimed it.", page.Name(p.EventID), p.StreamSeq)
	case !known || p.EventID != e.EventID:
		const claims = "It claimed no payment itself; another event says that the payment arrived."
		if e.Kind != projections.KindSubscription {
			return claims
		}
		return state + " " + claims
	case p.UserID == "":
		return state + " Its payment is not claimed until an event names the user of the subscription."
	}
	text := fmt.Sprintf("It claimed payment %s for user %s.", page.Name(p.ProviderPaymentID), page.Name(p.UserID))
	if e.UserID == "" {
		text = fmt.Sprintf("Its user was not known then. A later event of the subscription claimed payment %s for user %s.",
			page.Name(p.ProviderPaymentID), page.Name(p.UserID))
	}
	if e.Kind != p.Kind {
		return text + fmt.Sprintf(" Another event decided that the payment is of kind %s.", page.Name(p.Kind))
	}
	return text + gave(e, p, subscription, rows)
}

// gave says what a claim did, apart from credits.
func gave(e projections.ProcessedEvent, p projections.Payment, subscription string, rows related) string {
	switch e.Kind {
	case projections.KindSubscription:
		if kept := statusKept(e, subscription, rows); kept != "" {
			return " " + kept
		}
		return " It set the subscription to active."
	case projections.KindPro:
		if !p.ReversedAt.IsZero() { // before or after the claim
			return " The whole payment was taken back, so it gives no licence."
		}
		return " It gave a licence."
	}
	return ""
}

// lifecycle explains an event that set the status of a subscription, or claimed payments that had waited.
func lifecycle(e projections.ProcessedEvent, rows related) string {
	const claimed = "It brought what a payment of its subscription had waited for, so the payment was claimed."
	kept := statusKept(e, e.Subscription(), rows)
	switch {
	case e.Subscription() == "":
		return "It brought what a payment had waited for, so the payment was claimed."
	case kept == "":
		return fmt.Sprintf("It set the subscription to %s.", statusSetBy(e, rows))
	case rows.Wrote[e.EventID] == 0: // it may have named no status
		return kept
	}
	return claimed + " " + kept
}

// statusKept says that an event left the status of a subscription as it was; empty if the rows do not prove that.
func statusKept(e projections.ProcessedEvent, subscription string, rows related) string {
	s, known := rows.Subscriptions[subscription]
	if !known || s.EventID == e.EventID || s.StreamSeq > e.StreamSeq {
		return ""
	}
	return fmt.Sprintf("The status of the subscription stayed as %s (seq %d) had set it.", page.Name(s.EventID), s.StreamSeq)
}

// startsSubscription reports whether the event is a checkout that claims nothing.
func startsSubscription(e projections.ProcessedEvent) bool {
	return e.Action == string(events.Checkout)
}

// merged explains what became of an event's payment. The rows do not prove whether the event had claimed it.
func merged(p projections.Payment) string {
	text := fmt.Sprintf("Payments %s and %s turned out to be one", page.Name(p.MergedID), page.Name(p.ProviderPaymentID))
	if p.UserID == "" {
		return text + ", which is not claimed yet."
	}
	text += fmt.Sprintf(", which %s (seq %d) claimed for user %s.", page.Name(p.EventID), p.StreamSeq, page.Name(p.UserID))
	if p.OtherUserID != "" {
		text += fmt.Sprintf(" User %s has no credits and no licence from it.", page.Name(p.OtherUserID))
	}
	return text
}

// statusSetBy is the status that a lifecycle event set. It is known as long as no newer event changed the subscription.
func statusSetBy(e projections.ProcessedEvent, rows related) string {
	if s, known := rows.Subscriptions[e.Subscription()]; known && s.EventID == e.EventID {
		return page.Name(s.Status)
	}
	return "the status that it named"
}

func reversed(e projections.ProcessedEvent, rows related) string {
	r, p := rows.Reversals[e.EventID], rows.Payments[e.ProviderPaymentID]
	what := "The refund"
	if r.Cause == "chargeback" {
		what = "The chargeback"
	}
	switch {
	case r.Amount == nil && r.Total == nil:
		what += " is of the whole payment."
	case r.Total != nil:
		what += fmt.Sprintf(" says that the total taken back is %d%s.", *r.Total, ofPaid(r.Paid))
	default:
		what += fmt.Sprintf(" takes back %d%s.", *r.Amount, ofPaid(r.Paid))
	}
	lines := granted(e, rows)
	switch {
	case lines != "":
		return what + lines
	case p.UserID == "":
		return what + " Its payment is not claimed yet. The reversal takes effect when it is."
	case p.Kind == projections.KindPro && !p.ReversedAt.IsZero():
		return what + " The payment does not give a licence any more."
	case p.Kind == projections.KindPro:
		return what + " The licence stays, because a part of the payment is kept."
	}
	if r.Amount != nil {
		return what + " It took back no credits: there were none, they had been taken back already, or its share is less than one credit."
	}
	return what + " It took back no credits: there were none, or they had been taken back already."
}

func ofPaid(paid *int64) string {
	if paid == nil {
		return ""
	}
	return fmt.Sprintf(" of %d paid", *paid)
}
