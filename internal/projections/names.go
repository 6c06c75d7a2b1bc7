package projections

// findPayment finds the payment that has the names of the event. Two different transactions are
// two payments, even if they have one order. The order decides only if the event or the row has no
// transaction. If each name has a row of its own, which lacks the other name, both rows are one
// payment: then f.joined is the row of the order.
func (s *State) findPayment(f *step) {
	charged := s.paymentNamed(f.Transaction, s.byTransaction)
	ordered := s.paymentNamed(f.Order, s.byOrder)
	switch {
	case charged != nil && ordered != nil && charged != ordered && charged.OrderID == "" && ordered.TransactionID == "":
		f.payment, f.joined = *charged, ordered.ProviderPaymentID
	case charged != nil:
		f.payment = *charged
	case ordered != nil && (f.Transaction == "" || ordered.TransactionID == ""):
		f.payment = *ordered
	}
}

// paymentNamed returns the payment that has this name in the index, or else the payment with this
// key; nil if there is none (see Table.find). No id is both a transaction and an order.
func (s *State) paymentNamed(name string, index map[string]string) *Payment {
	if name == "" {
		return nil
	}
	if id, ok := index[name]; ok {
		name = id
	}
	return s.Payments.find(name)
}

// HasTransaction reports whether a payment has this transaction.
func (s *State) HasTransaction(name string) bool { return s.paymentNamed(name, s.byTransaction) != nil }

// HasOrder reports whether a payment is meant by an event that names only this order.
func (s *State) HasOrder(name string) bool { return s.paymentNamed(name, s.byOrder) != nil }

// name stores the event's payment with the names that the event adds, and the fact, if there is one. A row that turned
// out to be the same payment gives its facts to it and keeps nothing. The payment, or both rows, are to be derived.
func (r Rules) name(s *State, f *step, said *Fact) (changed []string) {
	p := f.payment
	if p.ProviderPaymentID == "" {
		p = Payment{ProviderPaymentID: f.PaymentID(), EventID: f.ID, OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq)}
	}
	facts := s.factsWith(f, said)
	if f.joined != "" {
		other, _ := s.Payments.Get(f.joined)
		p.OrderID, other.OrderID, f.former = other.OrderID, "", other.Facts.subscriptions()
		p.Joined = true
		s.change(&other, nil)
		changed = append(changed, f.joined)
	}
	p.Provider = providerOf(p.Provider, f.Provider)
	if _, taken := s.byTransaction[f.Transaction]; p.TransactionID == "" && !taken {
		p.TransactionID = f.Transaction
	}
	if _, taken := s.byOrder[f.Order]; p.OrderID == "" && !taken {
		p.OrderID = f.Order
	}
	s.change(&p, facts)
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

// change stores a payment with other facts. It is not derived yet.
func (s *State) change(p *Payment, facts Facts) {
	p.Facts = facts
	s.putPayment(p)
}

// keepNames records that the two names in a rejected or ignored event belong to one payment. The provider says so, and
// this is true whatever else the event says.
func (r Rules) keepNames(s *State, f *step) {
	if f.Transaction != "" && f.Order != "" {
		r.derive(s, f, r.name(s, f, nil), nil)
	}
}
