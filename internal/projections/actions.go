package projections

import (
	"cmp"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// pay is the rule of payments. The event's fact is kept even if something is missing to claim the payment: a later event
// can add it. A fact that can never be used is not kept.
func (r Rules) pay(s *State, f *step) (Outcome, Reason) {
	if f.Unpaid {
		r.keepNames(s, f)
		return Ignored, NotPaid
	}
	if f.beginsTrial() {
		return r.beginTrial(s, f)
	}
	before, unusable := f.payment, r.unusable(f)
	if unusable != "" || f.PaymentID() == "" {
		f.kind = cmp.Or(f.Kind, f.offeredKind(), f.kind)
		f.note = ""
		r.keepNames(s, f)
		return Rejected, r.missing(f, &before, unusable)
	}
	if f.note == "" && r.sellsOthers(f) {
		f.note = OneOfSeveral
	}
	if r.overflows(s, f) {
		f.note = ""
		r.keepNames(s, f)
		return Rejected, OutOfRange
	}
	r.tell(s, f)
	p, _ := s.Payments.Get(f.payment.ProviderPaymentID)
	f.payment = p
	f.user, f.kind = cmp.Or(f.UserID, p.UserID, f.user), cmp.Or(f.Kind, f.offeredKind(), p.Kind, f.kind)
	switch reason := r.missing(f, &p, ""); {
	case reason != "":
		return Rejected, reason
	case before.UserID != "" && before.UserID == p.UserID:
		return DuplicatePayment, ""
	}
	return Applied, ""
}

// beginTrial is the rule of a payment of 0 that grants nothing: it says only that a trial of its subscription begins.
func (r Rules) beginTrial(s *State, f *step) (Outcome, Reason) {
	if reason := r.unusable(f); f.SubscriptionID == "" || reason == UnknownKind || reason == KindMismatch {
		r.keepNames(s, f)
		return Ignored, ""
	}
	r.tell(s, f)
	return Ignored, ""
}

// unusable returns why what the event says was sold can never be used; empty if it can. It corrects numbers that the
// purchase does not need, and notes that.
func (r Rules) unusable(f *step) Reason {
	offer := f.offer
	switch {
	case f.Kind != "" && !isKind(f.Kind):
		return UnknownKind
	case offer != nil && f.Kind != "" && f.Kind != offer.Kind:
		return KindMismatch
	}
	if f.Amount.Bad || f.Amount.Value < 0 {
		f.Amount, f.note = events.Number{}, AmountUnreadable
	}
	if f.units.Present && (f.units.Bad || f.units.Value < 1) {
		f.units = events.Number{}
		if f.note == "" {
			f.note = UnitsUnreadable
		} else {
			f.note = BothUnreadable
		}
	}
	if r.Catalogue != nil && !f.Given {
		f.Credits = events.Number{}
	} else {
		offer = given(f.Credits.Value)
	}
	credits, fits := f.Credits, f.Credits.Value >= 1 && f.Credits.Value <= catalogue.MaxCredits
	if credits.Present && (credits.Bad || !fits) || f.units.Value > offer.MaxUnits() {
		return OutOfRange
	}
	return ""
}

// overflows reports whether the user's balance could not hold what the payment would grant.
func (r Rules) overflows(s *State, f *step) bool {
	if !s.nearlyFull { // nearly always
		return false
	}
	p := f.payment
	p.ProviderPaymentID = cmp.Or(p.ProviderPaymentID, f.PaymentID())
	said, _ := r.says(f)
	p.Facts = p.Facts.with(said)
	derived, _ := r.derivePayment(p, r.termsFor(s, &p), nil)
	return !s.canGrant(&derived)
}

// missing returns the first reason that keeps the event from claiming its payment p; empty if there is none, or if the
// payment waits for the user of its subscription.
func (r Rules) missing(f *step, p *Payment, unusable Reason) Reason {
	user := r.purchaseOf(p.Facts).user
	switch {
	case !isSold(f.kind) && f.Kind == "" && r.Catalogue != nil && f.ProductKey != "":
		return UnknownProduct
	case !isSold(f.kind):
		return UnknownKind
	case f.user == "" && cmp.Or(f.SubscriptionID, p.SubscriptionID) == "":
		return MissingUser
	case f.PaymentID() == "":
		return MissingPaymentID
	case (r.Catalogue == nil || f.Given) && f.kind == KindOneTime && p.Credits == nil && !f.Credits.Present:
		return MissingCredits
	case r.Catalogue != nil && f.offeredKind() == "" && !p.Known:
		return UnknownProduct
	case unusable == KindMismatch:
		return unusable
	case unusable != "":
		return unusable
	case f.UserID != "" && user != "" && f.UserID != user:
		return PaymentConflict
	case r.Catalogue == nil && f.Kind != "" && p.Kind != "" && f.Kind != p.Kind:
		return PaymentConflict
	}
	return ""
}

// sell is the rule of a checkout: it says what was sold for a subscription, whose payments are other events. If it names a
// transaction, that is a payment of the subscription.
func (r Rules) sell(s *State, f *step) (Outcome, Reason) {
	if f.SubscriptionID == "" {
		r.keepNames(s, f)
		return Ignored, ""
	}
	state, _ := s.Subscriptions.Get(f.SubscriptionID)
	f.user, f.kind = cmp.Or(f.UserID, state.UserID), cmp.Or(f.Kind, f.offeredKind(), state.Kind, KindSubscription)
	if reason := r.unusable(f); reason != "" {
		f.note = ""
		r.link(s, f)
		return Rejected, reason
	}
	r.tell(s, f)
	f.payment = Payment{} // the order is that of the checkout
	return r.decided(s, f), ""
}

// link records that the event's payment is one of its subscription.
func (r Rules) link(s *State, f *step) {
	if f.PaymentID() == "" {
		return
	}
	r.derive(s, f, r.keep(s, f, f.naming()), nil)
}

// setStatus is the rule of the events about the status of a subscription. They name an old payment or none, so they claim
// nothing themselves. But if an event brings the user, the payments that waited for this user are claimed. What is known of
// the payment does not make an event one of its user's implicit subscription, because the payment may come later.
func (r Rules) setStatus(s *State, f *step) (Outcome, Reason) {
	if !isSold(f.kind) {
		r.keepNames(s, f)
		return Rejected, UnknownKind
	}
	switch {
	case f.SubscriptionID == "" && f.ownKind() != KindSubscription:
		if r.keepNames(s, f); f.claimed {
			return Applied, ""
		}
		return Ignored, ""
	case f.SubscriptionID == "" && f.UserID == "":
		r.link(s, f)
		return Rejected, MissingUser
	}
	r.tell(s, f)
	if outcome := r.decided(s, f); f.claimed || f.licensed || f.kind == KindSubscription {
		return outcome, ""
	}
	return Ignored, ""
}

// decided returns the outcome of an event about a subscription: it is stale if another event has decided the status.
func (r Rules) decided(s *State, f *step) Outcome {
	state := s.Subscriptions.find(f.subscription())
	if f.claimed || f.licensed || f.Status == "" || state.EventID == f.ID {
		return Applied
	}
	return Stale
}

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
	naming := f.naming()
	naming.Subscription = ""
	changed := r.keep(s, f, naming)
	row := Reversal{
		EventID: f.ID, ReversalID: cmp.Or(f.Reversal.ID, f.ID), OrderID: f.Order, Cause: string(f.Reversal.Cause),
		Status: string(f.Reversal.Status), Amount: amount.Pointer(), Currency: f.Reversal.Currency, Total: total.Pointer(), Paid: paid.Pointer(),
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
// money could mean that the credits are its share, or that they come on top. But 0 beside an amount means only money.
func usableCredits(r *events.Reversal) bool {
	switch n := r.Credits; {
	case !n.Present:
		return true
	case n.Bad || n.Value < 0 || n.Value > catalogue.MaxCredits || r.Total.Present:
		return false
	case n.Value == 0:
		return r.Amount.Present
	}
	return !r.Amount.Present && !r.Paid.Present
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
