package events

// payment returns the two names of the payment.
func (e *envelope) payment(meta *metadata) (transaction, order *scalar) {
	o := &e.object
	transaction = first(
		&o.PaymentID, &o.Order.Transaction, &o.LastTxnID, &o.LastTxn.ID, &o.Transaction.ID, &o.Transaction.asID,
	)
	order = first(
		&o.Order.ID, &o.Order.asID, &o.LastTxn.Order.ID, &o.LastTxn.Order.asID,
		&o.Transaction.Order.ID, &o.Transaction.Order.asID,
	)
	if transaction == &none && order == &none && !e.isAboutState() {
		// A buyer can write metadata, and must not choose whose payment an event refers to. So
		// metadata counts only if nothing else names a payment.
		transaction = first(&meta.PaymentID)
	}
	return transaction, order
}

// isAboutState reports whether the event is about the state of a subscription. If such an event
// names no payment, it refers to none, whatever its metadata says.
func (e *envelope) isAboutState() bool {
	return e.objectIsSubscription() && string(e.eventType.text) != "subscription.paid"
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
