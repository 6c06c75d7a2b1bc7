package projections

// findPayment returns the payment that these names mean, with all that is known
// of it. Two different transactions are two payments, whatever their order; the
// order decides only where one side has no transaction. Where each name has led to
// a row of its own so far, same is the order's: both are one payment, the
// transaction's (see united).
func (s *State) findPayment(transaction, order string) (p, same Payment, known bool) {
	charged, isCharged := s.paymentNamed(transaction, s.byTransaction)
	ordered, isOrdered := s.paymentNamed(order, s.byOrder)
	switch {
	case isCharged && isOrdered && charged.ProviderPaymentID != ordered.ProviderPaymentID && charged.OrderID == "" && ordered.TransactionID == "":
		return united(charged, ordered), ordered, true
	case isCharged:
		return charged, Payment{}, true
	case isOrdered && transaction != "" && ordered.TransactionID != "":
		return Payment{}, Payment{}, false
	}
	return ordered, Payment{}, isOrdered
}

// united is the payment that two rows turned out to be. What both say is merged.
// Where they are of two users or of two kinds, one of them adds nothing but its
// name, as a claim that comes second does: what it granted is taken back.
func united(charged, ordered Payment) Payment {
	one := charged
	switch {
	case charged.agreesWith(ordered):
		one.merge(ordered)
	case ordered.decidesBefore(charged):
		one = ordered
		one.ProviderPaymentID, one.TransactionID, one.FirstOfOrder = charged.ProviderPaymentID, charged.TransactionID, false
	}
	one.OrderID, one.MergedID = ordered.OrderID, ordered.ProviderPaymentID
	for _, row := range []Payment{charged, ordered} {
		if row.user() != one.user() {
			one.OtherUserID = row.user()
		}
	}
	return one
}

func (p Payment) agreesWith(other Payment) bool {
	mine, others := p.user(), other.user()
	return (mine == "" || others == "" || mine == others) &&
		(p.Kind == other.Kind || p.rank(kindRank) != other.rank(kindRank))
}

// decidesBefore: what was claimed goes before what was not, then what could be, then the earlier.
func (p Payment) decidesBefore(other Payment) bool {
	switch {
	case (p.UserID != "") != (other.UserID != ""):
		return p.UserID != ""
	case p.sold() != other.sold():
		return p.sold()
	case p.FirstAt.IsZero() != other.FirstAt.IsZero():
		return other.FirstAt.IsZero()
	}
	return p.FirstAt.Before(other.FirstAt)
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
