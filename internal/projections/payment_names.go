package projections

// findPayment returns the payment that these names mean, with all that is known
// of it. Two different transactions are two payments, whatever their order; the
// order decides only where one side has no transaction. Where each name has led to
// a row of its own so far, same is the order's: both are one payment, the
// transaction's.
func (s *State) findPayment(transaction, order string) (p, same Payment, known bool) {
	charged, isCharged := s.paymentNamed(transaction, s.byTransaction)
	ordered, isOrdered := s.paymentNamed(order, s.byOrder)
	switch {
	case isCharged && isOrdered && charged.ProviderPaymentID != ordered.ProviderPaymentID && canBeOne(charged, ordered):
		charged.merge(ordered)
		charged.OrderID, charged.MergedID = ordered.OrderID, ordered.ProviderPaymentID
		return charged, ordered, true
	case isCharged:
		return charged, Payment{}, true
	case isOrdered && transaction != "" && ordered.TransactionID != "":
		return Payment{}, Payment{}, false
	}
	return ordered, Payment{}, isOrdered
}

func canBeOne(charged, ordered Payment) bool {
	if charged.OrderID != "" || ordered.TransactionID != "" {
		return false
	}
	if mine, others := charged.user(), ordered.user(); mine != "" && others != "" && mine != others {
		return false
	}
	claimed := charged.UserID != "" && ordered.UserID != ""
	return !claimed || charged.Kind == ordered.Kind || charged.rank(kindRank) != ordered.rank(kindRank)
}

func (p Payment) user() string {
	if p.UserID != "" {
		return p.UserID
	}
	return p.Buyer
}

// paymentNamed looks in the index of that kind of name, then among the names
// that payments were first seen with, which are unique whatever their kind.
func (s *State) paymentNamed(name string, index map[string]string) (Payment, bool) {
	if name == "" {
		return Payment{}, false
	}
	if id, ok := index[name]; ok {
		name = id
	}
	p, known := s.Payments.Get(name)
	if p.MergedInto != "" {
		p, known = s.Payments.Get(p.MergedInto)
	}
	return p, known
}

// named returns the event's payment, known or new, with the names the event adds.
func (s *State) named(f *facts) Payment {
	p := f.payment
	if !f.known {
		p = Payment{ProviderPaymentID: f.PaymentID(), EventID: f.ID, OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq)}
	}
	if _, taken := s.byTransaction[f.Transaction]; p.TransactionID == "" && !taken {
		p.TransactionID = f.Transaction
	}
	if p.OrderID == "" && f.Order != "" {
		p.OrderID = f.Order
		_, taken := s.byOrder[f.Order]
		p.FirstOfOrder = !taken
	}
	return p
}

// unite leaves of the row that turned out to be the same payment its name.
func (s *State) unite(f *facts) {
	row := f.same
	if row.ProviderPaymentID == "" {
		return
	}
	f.same = Payment{}
	s.putPayment(Payment{
		ProviderPaymentID: row.ProviderPaymentID, MergedInto: f.payment.ProviderPaymentID,
		OrderID: row.OrderID, FirstOfOrder: row.FirstOfOrder,
		EventID: row.EventID, OccurredAt: row.OccurredAt, StreamSeq: row.StreamSeq,
	})
	s.release(row, "")
}

// ids are those that its ledger lines and reversals may have.
func (p Payment) ids() []string {
	if p.MergedID == "" {
		return []string{p.ProviderPaymentID}
	}
	return []string{p.ProviderPaymentID, p.MergedID}
}
