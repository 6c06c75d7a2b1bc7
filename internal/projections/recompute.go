package projections

import "time"

// recompute stores a payment that has changed, and brings up to date what depends on it. The
// payment inherits from its subscription, is claimed if it is complete, gets its ledger lines,
// and updates its subscription and licences.
func (r Rules) recompute(s *State, f *facts, p *Payment) {
	own := p.ProviderPaymentID == f.payment.ProviderPaymentID
	before, _ := s.Payments.Get(p.ProviderPaymentID)
	p.inherit(s)
	others := !own && f.claims() && f.payment.ProviderPaymentID != ""
	now := ledgerEvent{f.ID, f.OccurredAt, int64(f.Seq), others}
	again := now
	if !(own && f.claims()) {
		again = ledgerEvent{p.EventID, p.OccurredAt, p.StreamSeq, false}
	}
	by := now
	if before.UserID == "" {
		by = again
	}
	switch {
	case p.UserID == "" && p.Buyer != "" && p.complete() && s.canGrant(p):
		p.UserID, p.Buyer = p.Buyer, ""
		f.claimed = true
	case p.UserID != "" && !p.complete(): // it has another kind now, for which something is still unknown
		p.UserID, p.Buyer = "", p.UserID
	case p.UserID != "":
		p.Buyer = ""
	}
	lastAt, start, end := p.LastAt, p.PeriodStart, p.PeriodEnd
	if key := p.subscription(); key != "" && key == p.SubscriptionID { // the subscription takes these over below
		p.LastAt, p.PeriodStart, p.PeriodEnd = time.Time{}, time.Time{}, time.Time{}
	}
	otherMonths := p.inOtherMonths(&before) || own && p.inOtherMonths(&f.same)
	mergedUser := "" // the user of the row that from now on is only a name of this payment
	if own && p.MergedID == f.same.ProviderPaymentID {
		mergedUser = f.same.licensed()
		s.keepNameOnly(f)
	}
	s.putPayment(p)
	s.writeLedger(p, by, again, now, otherMonths)
	s.releaseImplicit(&before, p.subscription())
	p.LastAt, p.PeriodStart, p.PeriodEnd = lastAt, start, end
	r.updateSubscription(s, f, &before, p)
	s.chooseLicenses(f.OccurredAt, p.licensed(), before.licensed(), mergedUser)
}

// inherit merges what the payment's subscription knows: the user, and what was sold with it. The kind and the GitHub
// user that the payment inherited before are forgotten, because the subscription may say something else now.
func (p *Payment) inherit(s *State) {
	if p.SubscriptionID == "" {
		return
	}
	if p.rank(kindRank) == kindOfSubscription && !p.offered() {
		p.Kind = ""
		p.setRank(kindRank, 0)
	}
	if p.rank(githubRank) == ofSubscription {
		p.forgetGitHubUser()
	}
	var sold Payment
	if state := s.Subscriptions.find(p.SubscriptionID); state != nil {
		sold = state.sold()
		p.nameBuyer(state.UserID, ofSubscription)
	}
	p.merge(&sold)
	if p.rank(kindRank) == 0 && !p.FirstAt.IsZero() {
		p.Kind = KindSubscription
		p.setRank(kindRank, kindImplied)
	}
	if p.Kind != KindPro && p.rank(githubRank) == ofSubscription {
		p.forgetGitHubUser()
	}
}

// inheritsAnew reports whether inherit would change the payment.
func (p *Payment) inheritsAnew(s *State) bool {
	now := *p
	now.inherit(s)
	return now != *p
}

// updateSubscription applies the payment to the subscription that it pays. A payment that is not
// complete yet gives only its user, kind and start. If it has neither user nor kind, the subscription
// still gets a row. Otherwise a checkout that completes the payment at the same moment, in another
// database transaction, would not find the payment.
func (r Rules) updateSubscription(s *State, f *facts, before, p *Payment) {
	key := p.subscription()
	if key == "" && p.SubscriptionID != "" && !p.FirstAt.IsZero() {
		r.setSubscription(s, f, p.SubscriptionID, p.ownerAndStart())
	}
	if key == "" || p.LastAt.IsZero() {
		return
	}
	holders := int64(0)
	switch {
	case p.SubscriptionID != "":
	case before.subscription() != key:
		holders = 1
	case !p.LastAt.After(before.LastAt) && p.PeriodEnd.Equal(before.PeriodEnd) && p.ProductKey == before.ProductKey:
		if p.FirstAt.Before(before.FirstAt) {
			r.setSubscription(s, f, key, p.ownerAndStart())
		}
		return
	}
	r.setSubscription(s, f, key, &change{
		status: statusActive, at: p.LastAt, startedAt: p.FirstAt, user: p.user(), kind: p.statedKind(), productKey: p.ProductKey,
		paymentID: p.ProviderPaymentID, periodStart: p.PeriodStart, periodEnd: p.PeriodEnd, holders: holders,
	})
}

// ownerAndStart returns a change that gives a subscription only its user, kind and start.
func (p *Payment) ownerAndStart() *change {
	return &change{at: p.FirstAt, startedAt: p.FirstAt, user: p.user(), kind: p.statedKind(), ownerOnly: true}
}

// releaseImplicit takes a payment away from its implicit subscription if it belongs to another
// subscription now, or to none. The implicit subscription is not shown once nothing refers to it.
func (s *State) releaseImplicit(before *Payment, now string) {
	key := before.subscription()
	if key == "" || key == now || before.SubscriptionID != "" {
		return
	}
	if s.Subscriptions.find(key) == nil {
		return
	}
	state := s.Subscriptions.change(key)
	if state.Holders--; state.Merged() {
		state.Status = statusMerged // the subscription keeps its user, so that it is found when it is needed again
	}
	s.chooseSubscription(before.UserID)
}

// keepNameOnly turns f.same, the other row of the event's payment, into a mere name of this payment.
func (s *State) keepNameOnly(f *facts) {
	row := f.same
	if row.ProviderPaymentID == "" {
		return
	}
	f.same = Payment{}
	s.putPayment(&Payment{
		ProviderPaymentID: row.ProviderPaymentID, Provider: row.Provider, MergedInto: f.payment.ProviderPaymentID,
		OrderID: row.OrderID, FirstOfOrder: row.FirstOfOrder,
		EventID: row.EventID, OccurredAt: row.OccurredAt, StreamSeq: row.StreamSeq,
	})
	s.releaseImplicit(&row, "")
}

// link stores p, the event's payment, if the event added a name to it.
func (r Rules) link(s *State, f *facts, p *Payment) {
	if stored := s.Payments.find(p.ProviderPaymentID); stored != nil && *p == *stored {
		return
	}
	f.payment = *p
	r.recompute(s, f, p)
}
