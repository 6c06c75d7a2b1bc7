package report

import (
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/projections"
)

// why says what an event did and why, in sentences. Rows show how things are
// now, so it says no more of the moment of the event than they prove.
func why(e projections.ProcessedEvent, around Around) string {
	switch projections.Outcome(e.Outcome) {
	case projections.Rejected:
		_, named := around.Payments[e.ProviderPaymentID]
		text := rejection(e.Reason, named && projections.IsClaim(e.EventType))
		if p, known := around.Payments[e.ProviderPaymentID]; known && e.Reason == string(projections.PaymentConflict) {
			text += fmt.Sprintf(" (%s claimed it for user %s, as %s.)", name(p.EventID), name(p.UserID), p.Kind)
		}
		return text
	case projections.Ignored:
		return ignored(e, around)
	case projections.Stale:
		return stale(e, around)
	case projections.DuplicatePayment:
		return duplicatePayment(e, around)
	case projections.Applied:
		return applied(e, around)
	}
	return ""
}

func ignored(e projections.ProcessedEvent, around Around) string {
	if r, known := around.Reversals[e.EventID]; known {
		return fmt.Sprintf("The provider says it is %s, so nothing is taken back.", name(r.Status))
	}
	if projections.HasEffect(e.EventType) {
		return fmt.Sprintf("Events of this type tell of subscriptions; this one is of kind %s.", name(e.Kind))
	}
	return "Events of this type change nothing."
}

func stale(e projections.ProcessedEvent, around Around) string {
	text := "Its subscription knew of something newer already, so its status and period stay as they are."
	s, known := around.Subscriptions[e.Subscription()]
	switch {
	case known && s.Status == "canceled" && !e.OccurredAt.Before(s.OccurredAt):
		text = "Its subscription is canceled, which is final, so its status and period stay as they are."
	case known && e.OccurredAt.Before(s.OccurredAt):
		text = fmt.Sprintf("By the provider's time it is older (%s) than what its subscription knows (%s, of %s), so status and period stay as they are.",
			at(e.OccurredAt), at(s.OccurredAt), name(s.EventID))
	}
	return text + " Only what was empty was filled in." + granted(e, around)
}

func duplicatePayment(e projections.ProcessedEvent, around Around) string {
	text := "Another event had claimed its payment before, so it grants nothing again."
	if p, known := around.Payments[e.ProviderPaymentID]; known && p.EventID != e.EventID {
		text = fmt.Sprintf("%s (seq %d) had claimed its payment before, so it grants nothing again.", name(p.EventID), p.StreamSeq)
	}
	if around.Wrote[e.EventID] != 0 {
		text = strings.Replace(text, ", so it grants nothing again.", ", without saying its credits.", 1)
	}
	return text + " Anything the payment lacked was filled in from it." + granted(e, around)
}

// granted says what an event's ledger lines come to.
func granted(e projections.ProcessedEvent, around Around) (text string) {
	switch sum := around.Wrote[e.EventID]; {
	case sum > 0:
		text = fmt.Sprintf(" It granted %s.", count(sum, "credit"))
	case sum < 0:
		text = fmt.Sprintf(" It took back %s.", count(-sum, "credit"))
	}
	correction := around.Corrected[e.EventID]
	if n := correction.Undone; n > 0 {
		text += fmt.Sprintf(" It showed that what was granted before was one purchase, or another one, so a correction took back %s granted too much.", count(n, "credit"))
	}
	if n := correction.GivenBack; n > 0 {
		text += fmt.Sprintf(" It showed that less was to be reversed, so a correction gave back %s.", count(n, "credit"))
	}
	return text
}

func applied(e projections.ProcessedEvent, around Around) string {
	p, known := around.Payments[e.ProviderPaymentID]
	switch {
	case projections.IsReversal(e.EventType):
		return reversed(e, p, around)
	case !projections.IsClaim(e.EventType):
		return fmt.Sprintf("It set the subscription to %s.", statusSaid(e, around))
	case known && p.EventID != e.EventID && e.EventType == "subscription.paid":
		return fmt.Sprintf("It set the subscription's state. Its payment waited for its user, until %s (seq %d) claimed it.", name(p.EventID), p.StreamSeq)
	case !known || p.EventID != e.EventID:
		const follows = "claimed no payment: the subscription.paid that follows it does."
		if e.Kind != projections.KindSubscription {
			return "It " + follows
		}
		return "It set the subscription's state and " + follows
	case p.UserID == "":
		return "It set the subscription's state. Its payment waits, unclaimed, until an event says whose the subscription is."
	}
	text := fmt.Sprintf("It claimed payment %s for user %s.", name(p.ProviderPaymentID), name(p.UserID))
	if e.UserID == "" {
		text = fmt.Sprintf("Its user was not known then: payment %s waited, and a later event of the subscription claimed it for user %s.",
			name(p.ProviderPaymentID), name(p.UserID))
	}
	switch e.Kind {
	case projections.KindSubscription:
		text += " It set the subscription to active."
	case projections.KindPro:
		text += " It brought a licence."
	}
	return text + granted(e, around)
}

// statusSaid is the status a lifecycle event set: its type says it, but for the
// update, of which the state tells as long as nothing newer came.
func statusSaid(e projections.ProcessedEvent, around Around) string {
	status := strings.TrimPrefix(e.EventType, "subscription.")
	if status != "update" {
		return name(status)
	}
	if s, known := around.Subscriptions[e.Subscription()]; known && s.EventID == e.EventID {
		return name(s.Status)
	}
	return "the status it brought"
}

func reversed(e projections.ProcessedEvent, p projections.Payment, around Around) string {
	r := around.Reversals[e.EventID]
	what := "The refund"
	if r.Cause == "chargeback" {
		what = "The chargeback"
	}
	switch {
	case r.Amount == nil:
		what += " is of the whole payment."
	case r.Cumulative:
		what += fmt.Sprintf(" brings what is taken back of the payment to %d%s in all.", *r.Amount, ofPaid(r.Paid))
	default:
		what += fmt.Sprintf(" takes back %d%s.", *r.Amount, ofPaid(r.Paid))
	}
	switch {
	case around.Wrote[e.EventID] != 0:
		return what + granted(e, around)
	case p.UserID == "":
		return what + " Its payment is not claimed yet; it takes effect with it."
	case p.Kind == projections.KindPro && !p.ReversedAt.IsZero():
		return what + " The payment no longer carries a licence."
	case p.Kind == projections.KindPro:
		return what + " The licence stays, for it is not all of the payment."
	}
	return what + " It took back no credits: there were none, or they had been taken back already."
}

func ofPaid(paid *int64) string {
	if paid == nil {
		return ""
	}
	return fmt.Sprintf(" of %d paid", *paid)
}
