package projections

// reverse is the rule of refund.created and dispute.created. They need only a name of the
// payment, because the payment knows the user and the kind. What the payment granted is taken back
// now; if the payment is unclaimed, it is taken back when the payment is claimed.
func (r Rules) reverse(s *State, f *facts) (Outcome, Reason) {
	if f.PaymentID() == "" {
		return Rejected, MissingPaymentID
	}
	amount, paid := f.RefundAmount, f.PaidAmount
	cumulative := f.RefundedTotal.Present
	if cumulative && !(f.effect == chargesBack && (amount.Bad || amount.Value > f.RefundedTotal.Value)) {
		amount = f.RefundedTotal
	}
	if amount.Bad || amount.Value < 0 || paid.Bad || paid.Value < 0 {
		return Rejected, OutOfRange
	}
	row := Reversal{
		EventID: f.ID, ProviderPaymentID: f.PaymentID(), OrderID: f.Order, Cause: string(f.effect), Status: f.Status,
		Amount: amount.Pointer(), Paid: paid.Pointer(), OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq), Cumulative: cumulative,
	}
	if !row.counts() {
		s.Reversals.Put(row.EventID, row)
		return Ignored, ""
	}
	p := s.named(f)
	f.payment = p
	row.ProviderPaymentID = p.ProviderPaymentID
	s.Reversals.Put(row.EventID, row)
	s.indexReversal(&row)
	r.recompute(s, f, &p)
	return Applied, ""
}
