package projections

import "cmp"

// lifecycle is the rule of the events about the status of a subscription. They name an old
// payment or none. So they claim nothing themselves. But if an event brings the user, the
// payments that waited for this user are claimed.
func (r Rules) lifecycle(s *State, f *facts) (Outcome, Reason) {
	if !isKind(f.kind) {
		return Rejected, UnknownKind
	}
	other := f.kind != KindSubscription
	switch {
	case f.SubscriptionID == "" && other:
		if r.keepNames(s, f); f.claimed {
			return Applied, ""
		}
		return Ignored, ""
	case f.SubscriptionID == "" && f.user == "":
		r.bind(s, f)
		return Rejected, MissingUser
	}
	key, holders := f.SubscriptionID, int64(0)
	if key == "" {
		key, holders = ImplicitSubscription(f.user), 1
	}
	paymentID := ""
	if !f.payment.FirstAt.IsZero() {
		paymentID = f.payment.ProviderPaymentID
	}
	r.bind(s, f) // first, because setSubscription claims the payments that waited
	outcome := r.setSubscription(s, f, key, &change{
		status: statusOf(f), at: f.OccurredAt, startedAt: f.OccurredAt, user: f.user, kind: f.Kind, productKey: f.ProductKey, paymentID: paymentID,
		periodStart: f.PeriodStart, periodEnd: f.PeriodEnd, canceledAt: f.CanceledAt, holders: holders,
	})
	r.tellKind(s, f)
	switch {
	case f.claimed:
		return Applied, ""
	case other:
		return Ignored, ""
	}
	return outcome, ""
}

// bind records the subscription of the event's payment, and the payment's names. So all events of the payment share
// one row. One of them may bring the user that this event needs.
func (r Rules) bind(s *State, f *facts) {
	if f.PaymentID() == "" {
		return
	}
	p := s.named(f)
	p.SubscriptionID = cmp.Or(p.SubscriptionID, f.SubscriptionID)
	r.link(s, f, &p)
}

// statusOf returns the status that the event gives the subscription; empty if it gives none. A provider's own word for a
// status can be any text. "unknown" gives no status.
func statusOf(f *facts) string {
	if f.Status == statusUnknown {
		return ""
	}
	return f.Status
}
