package events

import (
	"bytes"
	"net/url"
	"strings"
	"time"
)

// MaxText bounds the text of a field, in bytes. An index row of Postgres holds 2.7 kB, and no
// provider's ids are nearly that long.
const MaxText = 255

// event takes each field from the first place that has it. Null and the empty string count
// as absent.
func (e *envelope) event() Event {
	o := &e.object
	meta := o.metadata()
	var texts texts
	out := Event{ID: CleanID(texts.keep(e.id.text)), Type: CleanID(texts.keep(e.eventType.text)), createdAt: e.createdAt.moment()}

	text := func(places ...*scalar) string {
		value := first(places...)
		if !value.fits() {
			out.InvalidText = true
			return ""
		}
		return texts.keep(value.text)
	}
	ofPayment := func(place *scalar) string {
		out.InvalidPayment = out.InvalidPayment || !first(place).fits()
		return text(place)
	}

	ownID := &none
	if bytes.HasPrefix(e.eventType.text, []byte("subscription.")) {
		ownID = &o.ID
	}
	user := []*scalar{
		&meta.UserID, &meta.UserIDCamel, &meta.ReferenceID, &meta.ReferenceIDCamel, &o.UserID, &o.UserIDCamel,
		&o.Customer.ExternalID, // only the seller can set it
		&o.Customer.Metadata.UserID, &o.Customer.Metadata.UserIDCamel,
	}
	subscription := []*scalar{
		&o.SubscriptionID, &o.Subscription.ID, &o.Subscription.asID, ownID,
		&o.Transaction.Subscription.ID, &o.Transaction.Subscription.asID,
	}
	transaction := first(
		&o.PaymentID, &o.Order.Transaction, &o.LastTxnID, &o.LastTxn.ID, &o.Transaction.ID, &o.Transaction.asID,
	)
	order := first(
		&o.Order.ID, &o.Order.asID, &o.LastTxn.Order.ID, &o.LastTxn.Order.asID,
		&o.Transaction.Order.ID, &o.Transaction.Order.asID,
	)

	// A buyer can write metadata, and must not choose whose payment an event refers to. So
	// metadata counts only if nothing else names a payment. An event about the state of a
	// subscription often names no payment; then it refers to none.
	aboutState := ownID != &none && string(e.eventType.text) != "subscription.paid"
	if transaction == &none && order == &none && !aboutState {
		transaction = first(&meta.PaymentID)
	}

	out.Kind = text(&meta.Kind)
	out.UserID = text(user...)
	out.SubscriptionID = text(subscription...)
	out.Transaction = ofPayment(transaction)
	out.Order = ofPayment(order)
	sold := first(&o.Product.ID, &o.Product.asID, &o.Order.Product.ID, &o.Order.Product.asID)
	if sold.fits() {
		out.Product = texts.keep(sold.text)
	}
	out.ProductKey = text(&meta.ProductKey, &meta.Key, sold)
	out.GitHubUser = githubUser(text(&meta.GitHubUsername, &meta.GitHubCamel, &meta.GitHubLogin, &meta.GitHub))
	out.Mode = text(&o.Mode)
	out.Status = ofPayment(&o.Status)
	out.Credits = firstNumber(&meta.Credits, &o.Credits)
	out.Units = firstNumber(&o.Units, &o.Items.Units)
	out.PeriodStart = firstMoment(&o.PeriodStartISO, &o.PeriodStart, &o.LastTxn.PeriodStart)
	out.PeriodEnd = firstMoment(&o.PeriodEndISO, &o.PeriodEnd, &o.LastTxn.PeriodEnd)
	out.CanceledAt = o.CanceledAt.moment()
	out.RefundedTotal = firstNumber(&o.Transaction.Refunded)
	out.RefundAmount = firstNumber(&o.RefundAmount, &o.Amount)
	out.PaidAmount = firstNumber(&o.Transaction.AmountPaid)

	amount, currency, ofTransaction := o.paid()
	out.Amount, out.Currency, out.AmountOfTransaction = amount.number(), text(currency), ofTransaction

	customer := []*scalar{
		&o.Customer.ID, &o.Customer.asID, &o.Order.Customer.ID, &o.Order.Customer.asID,
		&o.Subscription.Customer.ID, &o.Subscription.Customer.asID,
		&o.Transaction.Customer.ID, &o.Transaction.Customer.asID,
	}
	out.key = texts.keep(first(first(customer...), first(user...), first(subscription...), transaction, order, &e.id).text)
	return out
}

// paid returns the amount of the payment, and whether it comes from the transaction itself.
func (o *object) paid() (amount, currency *scalar, ofTransaction bool) {
	for i, place := range []struct {
		amount, currency *scalar
		ignore           bool
	}{
		{&o.LastTxn.AmountPaid, &o.LastTxn.Currency, o.LastTxn.unpaid(&o.LastTxn.AmountPaid)},
		{&o.Order.AmountPaid, &o.Order.Currency, o.Order.unpaid(&o.Order.AmountPaid)},
		{&o.AmountPaid, &o.Currency, false},
		{&o.Amount, &o.Currency, false},
	} {
		if place.amount.kind != 0 && !place.ignore {
			return place.amount, place.currency, i == 0
		}
	}
	return &none, &none, false
}

// unpaid reports whether an amount of 0 does not mean that 0 was paid. The provider also
// writes 0 into the checkout of a recurring payment, where the whole amount is still due. If
// a discount covers the whole amount, 0 was really paid.
func (b *bill) unpaid(paid *scalar) bool {
	if amount := paid.number(); !amount.Present || amount.Bad || amount.Value != 0 {
		return false
	}
	due, discount := b.Due.number(), b.Discount.number()
	return due.Value > 0 && discount.Value < due.Value && (b.Amount.kind == 0 || discount.Value < b.Amount.number().Value)
}

// texts copies an event's texts into one buffer, until the buffer is full.
type texts struct{ buffer strings.Builder }

const textBuffer = 256 // bytes; enough for most events

func (t *texts) keep(text []byte) string {
	if t.buffer.Cap() == 0 {
		t.buffer.Grow(textBuffer)
	}
	begin := t.buffer.Len()
	if t.buffer.Cap()-begin < len(text) {
		return string(text)
	}
	t.buffer.Write(text)
	return t.buffer.String()[begin:]
}

// metadata returns the first metadata object that is present. The others are ignored.
func (o *object) metadata() *metadata {
	for _, m := range []*metadata{&o.Metadata, &o.Subscription.Metadata, &o.Checkout.Metadata, &o.Order.Metadata} {
		if m.whole {
			return m
		}
	}
	return &o.Metadata // it is absent, so all of its fields are
}

// none is an absent scalar.
var none scalar

func first(places ...*scalar) *scalar {
	for _, place := range places {
		if place.isText() {
			return place
		}
	}
	return &none
}

func firstNumber(places ...*scalar) Number {
	for _, place := range places {
		if place.kind != 0 {
			return place.number()
		}
	}
	return Number{}
}

func firstMoment(places ...*scalar) time.Time {
	for _, place := range places {
		if t := place.moment(); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// githubUser removes a leading @, or takes the login from the address of a profile page.
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

// fits reports whether a table can store the scalar as text.
func (s *scalar) fits() bool {
	return !s.broken && len(s.text) <= MaxText && bytes.IndexByte(s.text, 0) < 0
}
