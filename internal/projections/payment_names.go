package projections

// findPayment returns the payment that has these names. Two different transactions are two
// payments, even if they have one order. The order decides only if the event or the row has no
// transaction. If each name has a row of its own, which lacks the other name, both rows are one
// payment: p is their merge (see mergeRows), and same is the row of the order.
func (s *State) findPayment(transaction, order string) (p, same Payment, known bool) {
	byTransaction, isCharged := s.paymentNamed(transaction, s.byTransaction)
	byOrder, isOrdered := s.paymentNamed(order, s.byOrder)
	switch {
	case isCharged && isOrdered && byTransaction.ProviderPaymentID != byOrder.ProviderPaymentID && byTransaction.OrderID == "" && byOrder.TransactionID == "":
		return mergeRows(byTransaction, byOrder), byOrder, true
	case isCharged:
		return byTransaction, Payment{}, true
	case isOrdered && transaction != "" && byOrder.TransactionID != "":
		return Payment{}, Payment{}, false
	}
	return byOrder, Payment{}, isOrdered
}

// mergeRows returns the payment of two rows that are one payment. If the rows have two users or
// two kinds, only one of them decides, and the other adds only its name, like a second claim.
// What the other one granted is taken back.
func mergeRows(byTransaction, byOrder Payment) Payment {
	one := byTransaction
	switch {
	case byTransaction.agreesWith(byOrder):
		one.merge(&byOrder)
	case byOrder.decidesBefore(byTransaction):
		one = byOrder
		one.ProviderPaymentID, one.TransactionID, one.FirstOfOrder = byTransaction.ProviderPaymentID, byTransaction.TransactionID, false
	}
	one.OrderID, one.MergedID = byOrder.OrderID, byOrder.ProviderPaymentID
	for _, row := range []Payment{byTransaction, byOrder} {
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

// decidesBefore orders two rows of one payment: a claimed row first, then one that is complete,
// then one with a claim, then the earlier one.
func (p Payment) decidesBefore(other Payment) bool {
	switch {
	case (p.UserID != "") != (other.UserID != ""):
		return p.UserID != ""
	case p.complete() != other.complete():
		return p.complete()
	case p.FirstAt.IsZero() != other.FirstAt.IsZero():
		return other.FirstAt.IsZero()
	}
	return p.FirstAt.Before(other.FirstAt)
}

// paymentNamed returns the payment that has this name in the index, or else the payment whose
// key it is. Keys are unique among transactions and orders together.
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

// named returns the event's payment, known or new, with the names that the event adds.
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
