package projections

import (
	"cmp"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// reverse is the rule of refunds and chargebacks. They need only a name of the payment, because the payment knows the
// user and the kind. What the payment granted is taken back now; if the payment is unclaimed, it is taken back when the
// payment is claimed. If a reversal that counted fails, what it took is given back.
func (r Rules) reverse(s *State, f *step) (Outcome, Reason) {
	if f.PaymentID() == "" {
		return Rejected, MissingPaymentID
	}
	amount, total, paid := f.Reversal.Amount, f.Reversal.Total, f.Reversal.Paid
	if amount.Bad && total.Present {
		amount.Present, amount.Bad = false, false
	}
	if amount.Bad || amount.Value < 0 || total.Bad || total.Value < 0 || paid.Bad || paid.Value < 0 || !usableCredits(&f.Reversal) {
		return Rejected, OutOfRange
	}
	naming := f.name()
	naming.Subscription = ""
	changed := r.name(s, f, naming)
	row := Reversal{
		EventID: f.ID, ReversalID: cmp.Or(f.Reversal.ID, f.ID), OrderID: f.Order, Cause: string(f.Reversal.Cause),
		Status: string(f.Reversal.Status), Amount: amount.Pointer(), Total: total.Pointer(), Paid: paid.Pointer(),
		Credits:    f.Reversal.Credits.Pointer(),
		OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq), ProviderPaymentID: f.payment.ProviderPaymentID,
	}
	countedBefore := s.reversalCounts(&f.payment, row.ReversalID)
	s.Reversals.Put(row.EventID, row)
	s.indexReversal(&row)
	r.derive(s, f, changed, nil)
	if countedBefore || s.reversalCounts(&f.payment, row.ReversalID) {
		return Applied, ""
	}
	return Ignored, ""
}

// usableCredits reports whether the credits that a reversal takes back can be used, if it names any. One that also names
// money could mean that the credits are its share, or that they come on top.
func usableCredits(r *events.Reversal) bool {
	n := r.Credits
	return !n.Present || !n.Bad && n.Value >= 1 && n.Value <= catalogue.MaxCredits && !r.Amount.Present && !r.Total.Present && !r.Paid.Present
}

// reversalCounts reports whether that reversal of the payment counts now.
func (s *State) reversalCounts(p *Payment, id string) bool {
	var last *Reversal
	for _, r := range s.reversalsFor(p) {
		if r.ReversalID == id && (last == nil || r.DecidesAfter(last)) {
			last = &r
		}
	}
	return last != nil && last.succeeded()
}
