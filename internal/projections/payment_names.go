package projections

import "github.com/payfold/payfold/internal/events"

// findPayment finds the payment that has the names of the event. Two different transactions are
// two payments, even if they have one order. The order decides only if the event or the row has no
// transaction. If each name has a row of its own, which lacks the other name, both rows are one
// payment. Then f.payment is their merge (see mergeRows), and f.same is the row of the order.
func (s *State) findPayment(f *facts) {
	charged := s.paymentNamed(f.Transaction, s.byTransaction)
	ordered := s.paymentNamed(f.Order, s.byOrder)
	switch {
	case charged != nil && ordered != nil && charged != ordered && charged.OrderID == "" && ordered.TransactionID == "":
		f.payment, f.same = mergeRows(charged, ordered), *ordered
	case charged != nil:
		f.payment = *charged
	case ordered != nil && (f.Transaction == "" || ordered.TransactionID == ""):
		f.payment = *ordered
	}
}

// mergeRows returns the payment of two rows that are one payment. Its event is that of the row that decides. If the rows
// have two users or two kinds, the other row adds only its name, like a second claim, and what it granted is taken back.
func mergeRows(byTransaction, byOrder *Payment) Payment {
	one := *byTransaction
	ofOrder := byOrder.decidesBefore(byTransaction)
	switch {
	case byTransaction.agreesWith(byOrder):
		if one.merge(byOrder); ofOrder { // the row of the transaction may be of a refund
			one.EventID, one.OccurredAt, one.StreamSeq = byOrder.EventID, byOrder.OccurredAt, byOrder.StreamSeq
		}
	case ofOrder:
		one = *byOrder
		one.ProviderPaymentID, one.TransactionID, one.FirstOfOrder = byTransaction.ProviderPaymentID, byTransaction.TransactionID, false
	}
	one.OrderID, one.MergedID = byOrder.OrderID, byOrder.ProviderPaymentID
	for _, row := range []*Payment{byTransaction, byOrder} {
		if row.user() != one.user() {
			one.OtherUserID = row.user()
		}
	}
	return one
}

func (p *Payment) agreesWith(other *Payment) bool {
	mine, others := p.ownUser(), other.ownUser()
	return (mine == "" || others == "" || mine == others) &&
		(p.Kind == other.Kind || p.rank(kindRank) != other.rank(kindRank) || p.rank(kindRank) == kindNotSold || p.offered() || other.offered())
}

// ownUser returns the user for whom the payment is claimed, or whom its own events name.
func (p *Payment) ownUser() string {
	if p.UserID == "" && p.rank(buyerRank) < ofPayment {
		return ""
	}
	return p.user()
}

// decidesBefore orders two rows of one payment: a claimed row first, then one that is complete,
// then one with a claim, then the earlier one.
func (p *Payment) decidesBefore(other *Payment) bool {
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

// paymentNamed returns the payment that has this name in the index, or else the payment with this
// key; nil if there is none (see Table.find). No id is both a transaction and an order.
func (s *State) paymentNamed(name string, index map[string]string) *Payment {
	if name == "" {
		return nil
	}
	if id, ok := index[name]; ok {
		name = id
	}
	p := s.Payments.find(name)
	if p != nil && p.MergedInto != "" {
		p = s.Payments.find(p.MergedInto)
	}
	return p
}

// HasTransaction reports whether a payment has this transaction.
func (s *State) HasTransaction(name string) bool { return s.paymentNamed(name, s.byTransaction) != nil }

// HasOrder reports whether a payment is meant by an event that names only this order.
func (s *State) HasOrder(name string) bool { return s.paymentNamed(name, s.byOrder) != nil }

// providerOf returns the provider of a payment or a subscription that two events name. An own event of the shop says
// something about a payment of its provider.
func providerOf(known, now string) string {
	if known == "" || known == events.OwnEvents {
		return now
	}
	return known
}

// named returns the event's payment, known or new, with the names that the event adds.
func (s *State) named(f *facts) (p Payment) {
	p = f.payment
	if p.ProviderPaymentID == "" {
		p = Payment{ProviderPaymentID: f.PaymentID(), EventID: f.ID, OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq)}
	}
	p.Provider = providerOf(p.Provider, f.Provider)
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
