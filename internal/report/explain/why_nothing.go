package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// ignored explains an event that changed nothing that a user has.
func (y story) ignored() string {
	e := y.event
	if r, known := y.rows.Reversals[e.EventID]; known {
		return y.ignoredReversal(r) + y.granted()
	}
	text, p := "Events of this type change nothing.", y.payment
	switch {
	case !e.HasEffect() && y.granted() != "":
		text = fmt.Sprintf("Events of this type change nothing. But it says that transaction %s and order %s are one payment.", page.Name(p.TransactionID), page.Name(p.OrderID))
	case e.Reason == string(projections.NotPaid):
		text = "The provider says that the money has not arrived, so the event grants nothing. An event that says that the same payment is paid will count."
	case y.isPayment():
		text = "Nothing was paid. It grants nothing, because no product with trial credits is named." + y.status()
	case e.IsClaim():
		text = "It says what is sold, but names no subscription. The payment is another event."
	case e.Action == string(events.Subscription) && y.subscription.EventID == e.EventID && projections.HasEnded(y.subscription.Status):
		return y.lifecycle() + y.granted()
	case e.Action == string(events.Subscription):
		text = fmt.Sprintf("It is about the status of a subscription, but what was sold is %s, which this event does not change.", kindWords(e.Kind))
	}
	return text + y.granted()
}

// rejected explains a rejection, and what became of the event. What it says of its payment is kept, unless it can never be
// used. Another event can bring what it lacked.
func (y story) rejected() string {
	text, wrote := y.meaning(), y.granted()
	switch {
	case y.event.Reason == string(projections.PaymentConflict):
		return text + y.conflict() + wrote
	case y.event.IsReversal():
		return text + " It took nothing back."
	case y.paid == nil && wrote != "":
		return text + " But what it says of the names of its payment, and of its subscription, counts." + wrote
	case y.paid == nil && !y.named():
		return text + " It changed nothing."
	case y.paid == nil:
		return text + " It granted nothing itself."
	case y.payment.UserID == "":
		return text + " It granted nothing. When another event brings what is missing, what this event says of the payment counts."
	}
	return text + fmt.Sprintf(" Other events brought what was missing: payment %s is of user %s, and what this event says of the payment counts.",
		page.Name(y.payment.ProviderPaymentID), page.Name(y.payment.UserID)) + wrote
}

// meaning explains the reason of a rejection with the names of this event.
func (y story) meaning() string {
	e := y.event
	switch reason := projections.Reason(e.Reason); {
	case reason == projections.UnknownKind && e.Kind != "":
		return fmt.Sprintf("Its metadata says that the kind is %s, but the kinds are subscription, one_time and pro.", page.Name(e.Kind))
	case reason == projections.UnknownProduct && y.product() != "":
		return fmt.Sprintf("The catalogue does not have product %s.", page.Name(y.product())) + addToCatalogue
	case reason == projections.UnknownProduct:
		return "It names no product, so the catalogue cannot say what was sold."
	case reason == projections.UnknownKind && y.product() != "":
		return Meaning(e.Reason) + fmt.Sprintf(" The provider names product %s.", page.Name(y.product()))
	}
	return Meaning(e.Reason)
}

// product returns the product that the event names; empty if that is not known.
func (y story) product() string {
	if y.paid != nil {
		return y.paid.Product
	}
	return y.payment.ProductKey
}

// conflict says with what the event is in conflict.
func (y story) conflict() string {
	e, p, s := y.event, y.payment, y.subscription
	by := y.namer()
	switch f := y.paid; {
	case f == nil && projections.IsForeign(p.Provider, e.Provider):
		return fmt.Sprintf(" Payment %s is of provider %s. It changed nothing.", page.Name(p.ProviderPaymentID), page.Name(p.Provider))
	case f == nil && projections.IsForeign(s.Provider, e.Provider):
		return fmt.Sprintf(" Subscription %s is of provider %s. It changed nothing.", page.Name(s.SubscriptionID), page.Name(s.Provider))
	case f == nil:
		return " It granted nothing."
	case f.User != "" && by != nil && by.User != f.User:
		return fmt.Sprintf(" By the provider's time %s was first, and names user %s: payment %s is of that user. This event granted nothing.",
			nameAndTime(by), page.Name(by.User), page.Name(p.ProviderPaymentID))
	case f.Kind != "" && p.Kind != "" && f.Kind != p.Kind:
		return fmt.Sprintf(" It is for %s, but another event says that payment %s is for %s. This event granted nothing.",
			kindWords(f.Kind), page.Name(p.ProviderPaymentID), kindWords(p.Kind))
	}
	return fmt.Sprintf(" An older event that arrived later says the same as this one, so what this event says of payment %s counts.", page.Name(p.ProviderPaymentID))
}
