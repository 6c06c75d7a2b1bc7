package projections

import "cmp"

// lifecycle is the rule of the events that tell how a subscription fares. They
// carry an old payment or none: they grant nothing and claim nothing, but one
// that brings the user lets what waited for the user be claimed.
func lifecycle(r Rules, s *State, f *facts) (Outcome, error) {
	if !isKind(f.kind) {
		return Rejected, refused(UnknownKind)
	}
	other := f.kind != KindSubscription
	switch {
	case f.SubscriptionID == "" && other:
		return Ignored, nil
	case f.SubscriptionID == "" && f.user == "":
		return Rejected, refused(MissingUser)
	}
	key, holds := f.SubscriptionID, int64(0)
	if key == "" {
		key, holds = ImplicitSubscription(f.user), 1
	}
	paymentID := ""
	if !f.payment.FirstAt.IsZero() {
		paymentID = f.payment.ProviderPaymentID
	}
	r.bind(s, f) // first: the user that the event brings is told to the payment as it is then
	outcome := r.setSubscription(s, f, key, news{
		status: statusOf(f), at: f.OccurredAt, startedAt: f.OccurredAt, user: f.user, kind: f.Kind, productKey: f.ProductKey, paymentID: paymentID,
		periodStart: f.PeriodStart, periodEnd: f.PeriodEnd, canceledAt: f.CanceledAt, holds: holds,
	})
	switch {
	case f.claimed:
		return Applied, nil
	case other:
		return Ignored, nil
	}
	return outcome, nil
}

// bind notes which subscription the event's payment is of, and its other name.
func (r Rules) bind(s *State, f *facts) {
	if f.SubscriptionID == "" || f.PaymentID() == "" {
		return
	}
	p := s.named(f)
	if f.UserID == "" || p.UserID == "" || f.UserID == p.UserID {
		p.SubscriptionID = cmp.Or(p.SubscriptionID, f.SubscriptionID)
	}
	r.link(s, f, p)
}

// link keeps the event's payment with the names that the event adds.
func (r Rules) link(s *State, f *facts, p Payment) {
	if stored, _ := s.Payments.Get(p.ProviderPaymentID); p == stored {
		return
	}
	f.payment = p
	r.touch(s, f, p)
}
