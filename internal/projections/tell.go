package projections

import "github.com/payfold/payfold/internal/events"

// tell stores what the event says, and brings up to date what follows from it.
func (r Rules) tell(s *State, f *step) {
	ofPayment, ofSubscription := r.says(f)
	var changed []string
	if ofPayment != nil && f.PaymentID() != "" {
		changed = r.keep(s, f, ofPayment)
	}
	r.derive(s, f, changed, ofSubscription)
}

// says returns what the event says of its payment, and of its subscription; nil for nothing.
func (r Rules) says(f *step) (ofPayment, ofSubscription *Fact) {
	switch {
	case f.Action == events.Payment && f.beginsTrial():
		ofPayment, ofSubscription = f.naming(), f.fact(Status)
	case f.Action == events.Payment:
		ofPayment = f.fact(Paid)
		ofPayment.Subscription = f.SubscriptionID
	case f.Action == events.Checkout:
		ofSubscription = f.fact(Sold)
		if f.Transaction != "" { // otherwise the order is that of the checkout
			ofPayment = f.naming()
		}
	case f.Action == events.Subscription:
		ofPayment, ofSubscription = f.naming(), f.fact(Status)
	}
	return ofPayment, ofSubscription
}

// fact returns what the event says of its payment or its subscription.
func (f *step) fact(says Says) *Fact {
	one := &Fact{
		EventID: f.ID, Seq: int64(f.Seq), At: f.OccurredAt, Says: says, User: f.UserID, Kind: f.Kind, Recurring: f.Recurring,
		GitHubUser: f.GitHubUser, Checkout: f.Checkout, Product: f.ProductKey, ByBuyer: f.byBuyer, ByOrder: f.Transaction == "",
		Trial: f.Trial, MayBeginTrial: f.MayBeginTrial, Status: f.Status, Given: f.Given,
		From: f.PeriodStart, Until: f.PeriodEnd, Prorated: f.Prorated, CanceledAt: f.CanceledAt,
	}
	if f.units.Value > 0 && !f.units.Bad {
		one.Units = f.units.Value
	}
	if f.Credits.Present {
		one.Credits = f.Credits.Pointer()
	}
	if f.Given {
		one.Expires = f.Expires
	}
	if says == Status {
		one.Extended, one.Begins = f.Extended, f.Begins
	}
	if f.Amount.Present && says == Paid {
		one.Amount, one.Currency, one.AmountOfOrder = f.Amount.Pointer(), f.Currency, !f.AmountOfTransaction
	}
	if one.Status == "unknown" { // the provider says that it does not know
		one.Status = ""
	}
	if f.Trial && one.Status == "" {
		one.Status = maybeTrialing
	}
	return one
}

// naming returns the fact that an event names a payment, for the subscription that it names.
func (f *step) naming() *Fact {
	return &Fact{EventID: f.ID, Seq: int64(f.Seq), At: f.OccurredAt, Says: Named, Subscription: f.SubscriptionID}
}

// keep stores the event's payment with the names that the event adds, and the fact, if there is one. A row that turned
// out to be the same payment gives its facts to it and keeps nothing. The payment, or both rows, are to be derived.
func (r Rules) keep(s *State, f *step, said *Fact) (changed []string) {
	p := f.payment
	if p.ProviderPaymentID == "" {
		p = Payment{ProviderPaymentID: f.PaymentID(), EventID: f.ID, OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq)}
	}
	facts := s.factsWith(f, said)
	if f.joined != "" {
		other, _ := s.Payments.Get(f.joined)
		p.OrderID, other.OrderID, f.former = other.OrderID, "", other.Facts.subscriptions()
		p.Joined = true
		other.Facts = nil
		s.putPayment(&other)
		changed = append(changed, f.joined)
	}
	p.Provider = providerOf(p.Provider, f.Provider)
	if _, taken := s.byTransaction[f.Transaction]; p.TransactionID == "" && !taken {
		p.TransactionID = f.Transaction
	}
	if _, taken := s.byOrder[f.Order]; p.OrderID == "" && !taken {
		p.OrderID = f.Order
	}
	p.Facts = facts
	s.putPayment(&p)
	f.payment, f.joined = p, ""
	return append(changed, p.ProviderPaymentID)
}

// factsWith returns the facts of the event's payment, and of the row that turned out to be the same payment, and one more,
// if it is not nil.
func (s *State) factsWith(f *step, said *Fact) Facts {
	facts := f.payment.Facts
	if f.joined != "" {
		for _, one := range s.Payments.find(f.joined).Facts {
			facts = facts.with(one)
		}
	}
	if said != nil {
		facts = facts.with(said)
	}
	return facts.ofPayment()
}

// keepNames records that the two names in a rejected or ignored event belong to one payment. The provider says so, and
// this is true whatever else the event says.
func (r Rules) keepNames(s *State, f *step) {
	if f.Transaction != "" && f.Order != "" {
		r.derive(s, f, r.keep(s, f, nil), nil)
	}
}
