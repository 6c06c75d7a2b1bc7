package events

// event takes each field from the first place that has it. Null and the empty string count
// as absent.
func (e *envelope) event() Event {
	o, meta := &e.object, e.object.metadata()
	user, subscription, product := o.user(meta), e.subscription(), o.product()
	transaction, order := e.payment(meta)
	amount, currency, ofTransaction := o.paid()
	var texts texts
	out := Event{
		ID:                  CleanID(texts.copy(e.id.text)),
		Type:                CleanID(texts.copy(e.eventType.text)),
		InvalidPayment:      !transaction.fits() || !order.fits() || !first(&o.Status).fits(),
		Kind:                texts.of(&meta.Kind),
		UserID:              texts.of(user),
		SubscriptionID:      texts.of(subscription),
		Transaction:         texts.of(transaction),
		Order:               texts.of(order),
		ProductKey:          texts.of(&meta.ProductKey, &meta.Key, product),
		Product:             texts.ofOptional(product),
		GitHubUser:          texts.githubUser(&meta.GitHubUsername, &meta.GitHubCamel, &meta.GitHubLogin, &meta.GitHub),
		Mode:                texts.of(&o.Mode),
		Status:              texts.of(&o.Status),
		Credits:             firstNumber(&meta.Credits, &o.Credits),
		Units:               firstNumber(&o.Units, &o.Items.Units),
		Amount:              amount.number(),
		AmountOfTransaction: ofTransaction,
		Currency:            texts.of(currency),
		PeriodStart:         firstMoment(&o.PeriodStartISO, &o.PeriodStart, &o.LastTxn.PeriodStart),
		PeriodEnd:           firstMoment(&o.PeriodEndISO, &o.PeriodEnd, &o.LastTxn.PeriodEnd),
		CanceledAt:          o.CanceledAt.moment(),
		RefundedTotal:       o.Transaction.Refunded.number(),
		RefundAmount:        firstNumber(&o.RefundAmount, &o.Amount),
		PaidAmount:          o.Transaction.AmountPaid.number(),
		key:                 texts.copy(e.partitionKey(user, subscription, transaction, order).text),
		createdAt:           e.createdAt.moment(),
	}
	out.InvalidText = texts.invalid
	return out
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

// user returns the id of the seller's user.
func (o *object) user(meta *metadata) *scalar {
	return first(
		&meta.UserID, &meta.UserIDCamel, &meta.ReferenceID, &meta.ReferenceIDCamel, &o.UserID, &o.UserIDCamel,
		&o.Customer.ExternalID, // only the seller can set it
		&o.Customer.Metadata.UserID, &o.Customer.Metadata.UserIDCamel,
	)
}

// product returns the provider's id of what was sold.
func (o *object) product() *scalar {
	return first(&o.Product.ID, &o.Product.asID, &o.Order.Product.ID, &o.Order.Product.asID)
}

// subscription returns the subscription's id.
func (e *envelope) subscription() *scalar {
	o, own := &e.object, &none
	if e.objectIsSubscription() {
		own = &o.ID
	}
	return first(
		&o.SubscriptionID, &o.Subscription.ID, &o.Subscription.asID, own,
		&o.Transaction.Subscription.ID, &o.Transaction.Subscription.asID,
	)
}
