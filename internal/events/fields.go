package events

import (
	"net/url"
	"strings"
	"time"
)

// MaxText is the longest text a field may hold, in bytes: an index row of
// Postgres holds 2.7 kB, and no provider's id comes near this.
const MaxText = 255

// event picks every field from the places that may hold it: the first present
// one wins. Null and the empty string count as absent.
func (e *envelope) event() Event {
	o := &e.object.object
	meta := o.metadata()
	out := Event{ID: CleanID(e.id.text), Type: CleanID(e.eventType.text), createdAt: e.createdAt.moment()}

	text := func(places ...scalar) string {
		value := first(places...)
		if value.broken || len(value.text) > MaxText || strings.ContainsRune(value.text, 0) {
			out.InvalidText = true
			return ""
		}
		return value.text
	}

	var ownID scalar
	if strings.HasPrefix(e.eventType.text, "subscription.") {
		ownID = o.ID
	}
	user := []scalar{meta.UserID, meta.UserIDCamel, meta.ReferenceID, meta.ReferenceIDCamel, o.UserID, o.UserIDCamel}
	subscription := []scalar{
		o.SubscriptionID, o.Subscription.object.ID, o.Subscription.id, ownID,
		o.Transaction.object.Subscription.object.ID, o.Transaction.object.Subscription.id,
	}
	transaction := []scalar{
		o.PaymentID, meta.PaymentID, o.Order.object.Transaction, o.LastTxnID,
		o.LastTxn.object.ID, o.Transaction.object.ID, o.Transaction.id,
	}
	order := []scalar{
		o.Order.object.ID, o.Order.id, o.LastTxn.object.Order.object.ID, o.LastTxn.object.Order.id,
		o.Transaction.object.Order.object.ID, o.Transaction.object.Order.id,
	}

	out.Kind = text(meta.Kind)
	out.UserID = text(user...)
	out.SubscriptionID = text(subscription...)
	out.Transaction = text(transaction...)
	out.Order = text(order...)
	out.ProductKey = text(
		meta.ProductKey, meta.Key, o.Product.object.ID, o.Product.id,
		o.Order.object.Product.object.ID, o.Order.object.Product.id,
	)
	out.GitHubUser = githubUser(text(meta.GitHubUsername, meta.GitHubCamel, meta.GitHubLogin, meta.GitHub))
	out.Mode = text(o.Mode)
	out.Status = text(o.Status)
	out.Credits = firstNumber(meta.Credits, o.Credits)
	out.Units = firstNumber(o.Units, o.Items.first.Units)
	out.PeriodStart = firstMoment(o.PeriodStartISO, o.PeriodStart, o.LastTxn.object.PeriodStart)
	out.PeriodEnd = firstMoment(o.PeriodEndISO, o.PeriodEnd, o.LastTxn.object.PeriodEnd)
	out.CanceledAt = o.CanceledAt.moment()
	out.RefundedTotal = firstNumber(o.Transaction.object.Refunded)
	out.RefundAmount = firstNumber(o.RefundAmount, o.Amount)
	out.PaidAmount = firstNumber(o.Transaction.object.AmountPaid)

	for _, place := range []struct{ amount, currency scalar }{
		{o.Order.object.AmountPaid, o.Order.object.Currency},
		{o.LastTxn.object.AmountPaid, o.LastTxn.object.Currency},
		{o.AmountPaid, o.Currency},
		{o.Amount, o.Currency},
	} {
		if place.amount.kind != 0 {
			out.Amount, out.Currency = place.amount.number(), text(place.currency)
			break
		}
	}

	customer := []scalar{
		o.Customer.object.ID, o.Customer.id, o.Order.object.Customer.object.ID, o.Order.object.Customer.id,
		o.Subscription.object.Customer.object.ID, o.Subscription.object.Customer.id,
		o.Transaction.object.Customer.object.ID, o.Transaction.object.Customer.id,
	}
	out.key = first(first(customer...), first(user...), first(subscription...), first(transaction...), first(order...), e.id).text
	return out
}

// metadata is the first metadata object present; it is used whole.
func (o *object) metadata() metadata {
	for _, m := range []ref[metadata]{
		o.Metadata, o.Subscription.object.Metadata, o.Checkout.object.Metadata, o.Order.object.Metadata,
	} {
		if m.whole {
			return m.object
		}
	}
	return metadata{}
}

func first(places ...scalar) scalar {
	for _, place := range places {
		if place.isText() {
			return place
		}
	}
	return scalar{}
}

func firstNumber(places ...scalar) Number {
	for _, place := range places {
		if place.kind != 0 {
			return place.number()
		}
	}
	return Number{}
}

func firstMoment(places ...scalar) time.Time {
	for _, place := range places {
		if t := place.moment(); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// githubUser strips a leading @ or the address of a profile page.
func githubUser(name string) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), "@")
	if !strings.Contains(name, "github.com/") {
		return name
	}
	if !strings.Contains(name, "://") {
		name = "https://" + name
	}
	address, err := url.Parse(name)
	if err != nil {
		return ""
	}
	login, _, _ := strings.Cut(strings.Trim(address.Path, "/"), "/")
	return login
}
