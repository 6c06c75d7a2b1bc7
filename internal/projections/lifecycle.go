package projections

import (
	"cmp"
	"strings"
)

// lifecycle is the rule of the events about the status of a subscription. They name an old
// payment or none. So they claim nothing themselves. But an event that brings the user lets the
// payments be claimed that waited for the user.
func (r Rules) lifecycle(s *State, f *facts) (Outcome, error) {
	if !isKind(f.kind) {
		return Rejected, rejection(UnknownKind)
	}
	other := f.kind != KindSubscription
	switch {
	case f.SubscriptionID == "" && other:
		if r.keepNames(s, f); f.claimed {
			return Applied, nil
		}
		return Ignored, nil
	case f.SubscriptionID == "" && f.user == "":
		r.bind(s, f)
		return Rejected, rejection(MissingUser)
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
	switch {
	case f.claimed:
		return Applied, nil
	case other:
		return Ignored, nil
	}
	return outcome, nil
}

// bind records the subscription of the event's payment, and the payment's names. So the event shares a row with
// every other event of the payment, of which it may need the user.
func (r Rules) bind(s *State, f *facts) {
	if f.PaymentID() == "" {
		return
	}
	p := s.named(f)
	if f.UserID == "" || p.UserID == "" || f.UserID == p.UserID {
		p.SubscriptionID = cmp.Or(p.SubscriptionID, f.SubscriptionID)
	}
	r.link(s, f, &p)
}

// statusOf returns the status of a subscription; empty if the event gives none. It is the event's type; only an update
// has a field for it, whose text may be any. An update that says "unknown" gives none.
func statusOf(f *facts) string {
	switch {
	case f.Type != "subscription.update":
		return strings.TrimPrefix(f.Type, "subscription.")
	case f.Status == statusUnknown:
		return ""
	}
	return f.Status
}
