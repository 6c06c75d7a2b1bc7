package projections

import (
	"cmp"
	"maps"
	"slices"
)

// claim is the rule of checkout.completed and subscription.paid: the first
// event of a payment claims it for its user and grants what was bought; a later
// one is a duplicate payment, which only fills what is missing.
func claim(s *State, f *facts) (Outcome, error) {
	if f.kind != KindSubscription && f.kind != KindOneTime && f.kind != KindPro {
		return Rejected, refused(UnknownKind)
	}
	paid := f.Type == "subscription.paid"
	mayWaitForUser := paid && f.kind == KindSubscription && f.SubscriptionID != ""
	if f.user == "" && !mayWaitForUser {
		return Rejected, refused(MissingUser)
	}
	// A checkout that starts a subscription and names no transaction is followed
	// by the subscription.paid that does.
	startsOnly := !paid && f.kind == KindSubscription && f.SubscriptionID != "" && f.Transaction == ""
	if f.PaymentID() == "" && !startsOnly {
		return Rejected, refused(MissingPaymentID)
	}
	claimed := f.known && f.payment.UserID != ""
	if f.kind == KindOneTime && !f.Credits.Present && !claimed {
		return Rejected, refused(MissingCredits)
	}
	credits, err := grantable(f)
	if err != nil {
		return Rejected, err
	}
	if f.known && !startsOnly && conflicts(f) {
		return Rejected, refused(PaymentConflict)
	}
	if startsOnly {
		return startSubscription(s, f)
	}

	p := s.named(f)
	lacksCredits := p.Credits == nil
	p.fill(f, credits)
	if lacksCredits && p.Credits != nil && !s.canGrant(f.user, f.kind, *p.Credits) {
		return Rejected, refused(OutOfRange)
	}
	if !f.known || !claimed && f.user != "" {
		p.Kind, p.UserID = f.kind, f.user
		p.EventID, p.OccurredAt, p.StreamSeq = f.ID, f.OccurredAt, int64(f.Seq)
	}
	s.putPayment(p)
	f.payment = p

	if p.UserID != "" && (!claimed || lacksCredits) {
		s.grant(p, f.Event.ID, f)
	}
	outcome := Applied
	switch f.kind {
	case KindSubscription:
		outcome = s.paySubscription(f, p)
	case KindPro:
		s.license(f, p)
	}
	if claimed {
		return DuplicatePayment, nil
	}
	return outcome, nil
}

func conflicts(f *facts) bool {
	p := f.payment
	return p.UserID != "" && p.UserID != f.user || p.Kind != "" && p.Kind != f.kind
}

// startSubscription sets the state and claims nothing but what had to wait for the user.
func startSubscription(s *State, f *facts) (Outcome, error) {
	return s.paySubscription(f, Payment{}), nil
}

// claimWaiting claims the payments of a subscription that came before its user
// was known. Each is granted under its own event, id and time, so that the
// ledger is the same as if the user had been known.
func (s *State) claimWaiting(subscription, user string) {
	waiting := make([]Payment, 0, len(s.unclaimed[subscription]))
	for id := range maps.Keys(s.unclaimed[subscription]) {
		p, _ := s.Payments.Get(id)
		waiting = append(waiting, p)
	}
	slices.SortFunc(waiting, func(a, b Payment) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	for _, p := range waiting {
		p.UserID = user
		s.putPayment(p)
		s.grant(p, p.EventID, nil)
	}
}
