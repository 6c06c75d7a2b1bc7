package projections

import (
	"cmp"
	"time"
)

// touch brings a payment that has changed, and what depends on it, to what it
// ought to be: it takes over what its subscription knows, is claimed where it is
// complete, tells its subscription, and settles its ledger. Afterwards the event's
// own payment is f.payment as it is then.
func (r Rules) touch(s *State, f *facts, p Payment) {
	own := p.ProviderPaymentID == f.payment.ProviderPaymentID
	before, _ := s.Payments.Get(p.ProviderPaymentID)
	p.absorb(s)
	by := granting{f.ID, f.OccurredAt, int64(f.Seq)}
	now := by
	if before.UserID == "" && !(own && IsClaim(f.Type)) {
		by = granting{p.EventID, p.OccurredAt, p.StreamSeq}
	}
	switch {
	case p.UserID == "" && p.Buyer != "" && p.sold() && s.canGrant(p):
		p.UserID, p.Buyer = p.Buyer, ""
		f.claimed = true
	case p.UserID != "" && !p.sold(): // it is something else, of which not all is known
		p.UserID, p.Buyer = "", p.UserID
	case p.UserID != "":
		p.Buyer = ""
	}
	told := p
	if key := p.subscription(); key != "" && key == p.SubscriptionID { // it is told below, once and for all
		p.LastAt, p.PeriodStart, p.PeriodEnd = time.Time{}, time.Time{}, time.Time{}
	}
	united := Payment{} // a row that is this payment's from now on
	if own && p.MergedID == f.same.ProviderPaymentID {
		united = f.same
		s.unite(f)
	}
	s.putPayment(p)
	p = s.settle(p, by, now)
	s.release(before, p.subscription())
	r.tellSubscription(s, f, before, told)
	s.chooseLicenses(f.OccurredAt, p, before, united)
	if own {
		f.payment, _ = s.Payments.Get(p.ProviderPaymentID)
	}
}

// absorb takes over what a payment's subscription knows: whose it is, and what was
// sold with it.
func (p *Payment) absorb(s *State) {
	if p.SubscriptionID == "" {
		return
	}
	state, _ := s.Subscriptions.Get(p.SubscriptionID)
	if p.UserID == "" {
		p.Buyer = cmp.Or(p.Buyer, state.UserID)
	}
	p.merge(state.sold())
	if p.rank(kindRank) == 0 && !p.FirstAt.IsZero() {
		p.Kind = KindSubscription
		p.setRank(kindRank, kindImplied)
	}
}

// tellSubscription sets the state of the subscription that the payment pays. One of
// which not all is known yet tells whose and what it is, and nothing else.
func (r Rules) tellSubscription(s *State, f *facts, before, p Payment) {
	key := p.subscription()
	if key == "" && p.SubscriptionID != "" && !p.FirstAt.IsZero() && (p.user() != "" || p.knownKind() != "") {
		r.setSubscription(s, f, p.SubscriptionID, news{at: p.FirstAt, startedAt: p.FirstAt, user: p.user(), kind: p.knownKind(), aside: true})
	}
	if key == "" || p.LastAt.IsZero() {
		return
	}
	holds := int64(0)
	switch {
	case p.SubscriptionID != "":
	case before.subscription() != key:
		holds = 1
	case !p.LastAt.After(before.LastAt) && p.PeriodEnd.Equal(before.PeriodEnd) && p.ProductKey == before.ProductKey:
		return
	}
	r.setSubscription(s, f, key, news{
		status: statusActive, at: p.LastAt, startedAt: p.FirstAt, user: p.user(), kind: p.knownKind(), productKey: p.ProductKey,
		paymentID: p.ProviderPaymentID, periodStart: p.PeriodStart, periodEnd: p.PeriodEnd, holds: holds,
	})
}

// release: the payment that was told to an implicit subscription is of another now,
// or of none. One that nothing holds any more is not shown.
func (s *State) release(before Payment, now string) {
	key := before.subscription()
	if key == "" || key == now || before.SubscriptionID != "" {
		return
	}
	state, known := s.Subscriptions.Get(key)
	if !known {
		return
	}
	if state.Holders--; state.Holders <= 0 {
		state.Status = statusMerged // it keeps its user, by whom it is found when it is needed again
	}
	s.putSubscription(state)
	s.chooseSubscription(before.UserID)
}
