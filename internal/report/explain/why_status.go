package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// status says what the event says of the status of its subscription, and which event decides it.
func (y story) status() string {
	e, s := y.event, y.subscription
	decides := &projections.Fact{EventID: s.EventID, At: s.OccurredAt}
	switch says := y.statusSaid(); {
	case s.Status == "":
		return ""
	case s.EventID == e.EventID:
		return fmt.Sprintf(" It set the subscription to %s.", page.Words(s.Status))
	case y.said != nil && !y.said.Extended.IsZero() && y.said.Status == "":
		return fmt.Sprintf(" It extends the subscription at least until %s, and leaves its status %s.", at(y.said.Extended), page.Words(s.Status))
	case y.said != nil && y.said.Status == "" && y.paid == nil:
		return fmt.Sprintf(" It names no status. The subscription is %s, as %s says.", page.Words(s.Status), nameAndTime(decides))
	case says == "":
		return fmt.Sprintf(" The subscription is %s, as %s says.", page.Words(s.Status), nameAndTime(decides))
	case says == s.Status:
		return fmt.Sprintf(" It says that the subscription is %s, and so does %s.", page.Words(says), nameAndTime(decides))
	case e.OccurredAt.Before(s.OccurredAt):
		return fmt.Sprintf(" It says that the subscription is %s. By the provider's time %s is newer, and says %s.",
			page.Words(says), nameAndTime(decides), page.Words(s.Status))
	case s.Status == events.Canceled:
		return fmt.Sprintf(" It says that the subscription is %s. But %s has canceled it: only a payment for a period that begins later makes it active again.",
			page.Words(says), nameAndTime(decides))
	case s.Status == events.ScheduledCancel:
		return fmt.Sprintf(" It says that the subscription is %s. But %s has announced the cancellation, which stays until a payment for a later period.",
			page.Words(says), nameAndTime(decides))
	default:
		return fmt.Sprintf(" It says that the subscription is %s, but %s says %s.", page.Words(says), nameAndTime(decides), page.Words(s.Status))
	}
}

// statusSaid returns the status that the event gives the subscription; empty if it gives none, if that is not kept, or if
// only the subscription decides whether it gives one.
func (y story) statusSaid() string {
	f := y.said
	if y.paid != nil {
		f = y.paid
	}
	switch {
	case f == nil || f.IsFree():
		return ""
	case f.Says == projections.Paid:
		return cmp.Or(f.Status, events.Active)
	}
	return f.Status
}

// brought says for which payments the event brought the user.
func (y story) brought() string {
	waited := y.rows.Waited[y.event.EventID]
	if len(waited) == 0 || y.said == nil {
		return ""
	}
	names := make([]string, len(waited))
	for i := range waited {
		names[i] = page.Name(waited[i])
	}
	if len(names) == 1 {
		return fmt.Sprintf(" Payment %s waited for the name of its user. This event names user %s, so the payment counts.", names[0], page.Name(y.said.User))
	}
	return fmt.Sprintf(" Payments %s waited for the name of their user. This event names user %s, so they count.", strings.Join(names, ", "), page.Name(y.said.User))
}

// lifecycle explains an event about the status of a subscription that was applied.
func (y story) lifecycle() string {
	e, s := y.event, y.subscription
	switch {
	case s.SubscriptionID == "" && y.named():
		return fmt.Sprintf("It says that transaction %s and order %s are one payment. So the payment is of user %s.",
			page.Name(y.payment.TransactionID), page.Name(y.payment.OrderID), page.Name(y.payment.UserID))
	case s.SubscriptionID == "":
		return "It is about a subscription of which the tables have nothing."
	case s.Kind != projections.KindPro:
	case s.EventID == e.EventID && projections.HasEnded(s.Status):
		return trimmed(y.status()+y.brought()) + " A licence that lasts as long as the subscription has ended with it."
	}
	if text := trimmed(y.status() + y.brought()); text != "" {
		return text
	}
	return "It names a subscription whose status no event has given yet."
}

// stale explains an event that has not decided the status of its subscription.
func (y story) stale() string {
	text := trimmed(y.status())
	if text == "" {
		text = "Another event decides the status of its subscription."
	}
	return text + y.granted()
}

// sold explains a checkout that says what the payments of a subscription are for.
func (y story) sold() string {
	text := "It is a checkout of the subscription"
	switch f := y.said; {
	case f == nil:
	case f.Product != "":
		text = "It says that the subscription is for product " + page.Name(f.Product)
	case f.Kind != "" && f.Kind != projections.KindSubscription:
		text = "It says that the subscription is for " + kindWords(f.Kind)
	}
	text += ". The payments of the subscription are other events." + y.brought()
	if y.said != nil && y.said.Status != "" {
		text += y.status()
	}
	return text
}

func trimmed(text string) string { return strings.TrimPrefix(text, " ") }
