package projections

import (
	"cmp"
	"slices"
)

// claim is the rule of checkout.completed and subscription.paid: the first
// event of a payment claims it for its user and grants what was bought; a later
// one is a duplicate payment, which only fills what is missing.
func claim(r Rules, s *State, f *facts) (Outcome, error) {
	if r.Catalogue.sells(f.Product) { // what the provider says was sold, whatever the buyer wrote into the metadata
		f.ProductKey = f.Product
	}
	offer := r.Catalogue.offer(f.ProductKey, f.OccurredAt)
	if f.Kind == "" && f.payment.Kind == "" && offer != nil {
		f.kind = offer.Kind
	}
	if f.kind != KindSubscription && f.kind != KindOneTime && f.kind != KindPro {
		return Rejected, refused(UnknownKind)
	}
	paid := f.Type == "subscription.paid"
	mayWaitForUser := paid && f.kind == KindSubscription && f.SubscriptionID != ""
	if f.user == "" && !mayWaitForUser {
		return Rejected, refused(MissingUser)
	}
	// A checkout that starts a subscription and names no transaction is followed
	// by the subscription.paid that does: it sets the state and claims nothing.
	if !paid && f.SubscriptionID != "" && f.Transaction == "" {
		f.payment = Payment{}
		if f.kind != KindSubscription {
			return Applied, nil
		}
		return r.setSubscription(s, f, statusActive), nil
	}
	if f.PaymentID() == "" {
		return Rejected, refused(MissingPaymentID)
	}
	claimed := f.known && f.payment.UserID != ""
	if err := r.sells(f, offer, claimed); err != nil {
		return Rejected, err
	}
	if offer != nil && offer.Kind != f.kind {
		offer = nil // of a payment that is claimed already: nothing to add to it
	}
	credits, err := r.grantable(f, offer)
	if err != nil {
		return Rejected, err
	}
	if f.known && conflicts(f) {
		return Rejected, refused(PaymentConflict)
	}
	p := s.named(f)
	lacksCredits := p.Credits == nil
	if !lacksCredits { // they came with an earlier event, under the offer it was made
		offer = r.Catalogue.offer(p.ProductKey, p.OccurredAt)
	}
	p.fill(f, credits)
	if lacksCredits && p.Credits != nil && !s.canGrant(f.user, f.kind, *p.Credits) {
		return Rejected, refused(OutOfRange)
	}
	if p.Kind == "" || !claimed && f.user != "" {
		p.Kind, p.UserID = f.kind, f.user
		p.EventID, p.OccurredAt, p.StreamSeq = f.ID, f.OccurredAt, int64(f.Seq)
	}
	s.putPayment(p)
	f.payment = p

	if p.UserID != "" && (!claimed || lacksCredits) {
		s.grant(p, granting{f.ID, f.OccurredAt, int64(f.Seq), offer})
	}
	switch f.kind {
	case KindSubscription:
		r.setSubscription(s, f, statusActive)
	case KindPro:
		s.chooseLicense(p.UserID)
	}
	if claimed {
		return DuplicatePayment, nil
	}
	return Applied, nil
}

// sells refuses what the catalogue does not sell, or a pack without credits. It
// asks nothing of a payment that is claimed already.
func (r Rules) sells(f *facts, offer *Offer, claimed bool) error {
	switch {
	case claimed:
		return nil
	case r.Catalogue != nil && offer == nil:
		return refused(UnknownProduct)
	case r.Catalogue != nil && offer.Kind != f.kind:
		return refused(KindMismatch)
	case r.Catalogue == nil && f.kind == KindOneTime && !f.Credits.Present:
		return refused(MissingCredits)
	}
	return nil
}

func conflicts(f *facts) bool {
	p := f.payment
	return p.UserID != "" && (p.UserID != f.user || p.Kind != f.kind)
}

// claimWaiting claims the payments of a subscription that came before its user
// was known. Each is granted under its own event, id and time, so that the
// ledger is the same as if the user had been known.
func (r Rules) claimWaiting(s *State, subscription, user string) {
	waiting := make([]Payment, 0, len(s.unclaimed[subscription]))
	for id := range s.unclaimed[subscription] {
		p, _ := s.Payments.Get(id)
		waiting = append(waiting, p)
	}
	slices.SortFunc(waiting, func(a, b Payment) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	for _, p := range waiting {
		p.UserID = user
		s.putPayment(p)
		s.grant(p, granting{p.EventID, p.OccurredAt, p.StreamSeq, r.Catalogue.offer(p.ProductKey, p.OccurredAt)})
	}
}
