package projections

import "cmp"

// reverse is the rule of refunds and chargebacks. They need only a name of the payment, because the payment knows the
// user and the kind. What the payment granted is taken back now; if the payment is unclaimed, it is taken back when the
// payment is claimed. If a reversal that counted fails, what it took is given back.
func (r Rules) reverse(s *State, f *facts) (Outcome, Reason) {
	if f.PaymentID() == "" {
		return Rejected, MissingPaymentID
	}
	amount, total, paid := f.Reversal.Amount, f.Reversal.Total, f.Reversal.Paid
	if amount.Bad && total.Present {
		amount.Present, amount.Bad = false, false
	}
	if amount.Bad || amount.Value < 0 || total.Bad || total.Value < 0 || paid.Bad || paid.Value < 0 {
		return Rejected, OutOfRange
	}
	row := Reversal{
		EventID: f.ID, ReversalID: cmp.Or(f.Reversal.ID, f.ID), OrderID: f.Order, Cause: string(f.Reversal.Cause),
		Status: string(f.Reversal.Status), Amount: amount.Pointer(), Total: total.Pointer(), Paid: paid.Pointer(),
		OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq),
	}
	p := s.named(f)
	f.payment = p
	row.ProviderPaymentID = p.ProviderPaymentID
	countedBefore := s.reversalCounts(&p, row.ReversalID)
	s.Reversals.Put(row.EventID, row)
	s.indexReversal(&row)
	r.recompute(s, f, &p)
	if countedBefore || s.reversalCounts(&p, row.ReversalID) {
		return Applied, ""
	}
	return Ignored, ""
}

// reversalCounts reports whether that reversal of the payment counts now.
func (s *State) reversalCounts(p *Payment, id string) bool {
	var last *Reversal
	for _, r := range s.reversalsFor(p) {
		if r.ReversalID == id && (last == nil || r.decidesAfter(last)) {
			last = &r
		}
	}
	return last != nil && last.succeeded()
}
