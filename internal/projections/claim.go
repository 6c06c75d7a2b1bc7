package projections

import (
	"cmp"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// claim is the rule of payments and checkouts. It merges what the event says
// of its payment into what is known of that payment (see Payment.merge). The event that makes
// the payment complete claims it for its user, and grants what was bought. A later event is a
// duplicate payment. An event that cannot be used yet is rejected and claims nothing, but what it
// says is kept.
func (r Rules) claim(s *State, f *facts) (Outcome, Reason) {
	f.offer = r.Catalogue.Offer(f.ProductKey, f.OccurredAt)
	if f.Action == events.Checkout {
		return r.startSubscription(s, f)
	}
	if f.Unpaid {
		r.keepNames(s, f)
		return Ignored, NotPaid
	}
	if f.Trial && r.sellsSubscription(f) {
		r.keepNames(s, f)
		return Ignored, ""
	}
	said, unusable := r.statement(f)
	p := &f.payment
	c := claimCheck{unusable: unusable, conflict: r.conflicts(s, f)}
	claimed, usable := f.payment.UserID != "", unusable == "" && f.PaymentID() != "" && !c.conflict
	if usable {
		merged := s.add(f, &said)
		p = &merged
		c.tooMuch = p.user() != "" && p.complete() && !s.canGrant(p)
	}
	f.user, f.kind = cmp.Or(f.UserID, p.user(), f.user), cmp.Or(f.Kind, said.statedKind(), p.Kind, f.kind)
	reason := r.reject(f, p, c)
	if !usable || c.tooMuch {
		r.keepNames(s, f)
		if c.conflict && unusable == "" {
			r.tellKind(s, f)
		}
		return Rejected, reason
	}
	if f.payment.FirstAt.IsZero() || !claimed && p.complete() && p.user() != "" {
		p.EventID, p.OccurredAt, p.StreamSeq = f.ID, f.OccurredAt, int64(f.Seq)
	}
	f.payment = *p
	r.recompute(s, f, p)
	r.tellKind(s, f)
	switch {
	case reason != "":
		return Rejected, reason
	case claimed:
		return DuplicatePayment, ""
	}
	return Applied, ""
}

// sellsSubscription reports whether the event can be about a subscription, as far as it says what was sold.
func (r Rules) sellsSubscription(f *facts) bool {
	kind := f.Kind
	if f.offer != nil {
		kind = f.offer.Kind
	}
	return kind == "" || kind == KindSubscription
}

// keepNames records that the two names in a rejected or ignored event belong to one payment. The provider says so, and
// this is true whatever else the event says.
func (r Rules) keepNames(s *State, f *facts) {
	if f.Transaction != "" && f.Order != "" {
		named := s.named(f)
		r.link(s, f, &named)
	}
}

// add returns the event's payment, merged with what the event says of it.
func (s *State) add(f *facts, said *Payment) Payment {
	p := s.named(f)
	claimed := p.UserID != ""
	// Until the payment is claimed, the latest event decides the kind.
	if !claimed && !p.offered() && p.rank(kindRank) == kindSaid && said.rank(kindRank) == kindSaid {
		p.setRank(kindRank, 0)
		p.setRank(statedRank, 0)
	}
	p.merge(said)
	if !claimed {
		p.Buyer = cmp.Or(f.UserID, p.Buyer)
	}
	p.inherit(s)
	return p
}

// claimCheck is what claim finds out before it rejects or claims.
type claimCheck struct {
	unusable Reason // why the event can never be used; empty if there is no such reason
	conflict bool   // see conflicts
	tooMuch  bool   // the balance would overflow
}

// reject returns the first reason that applies; empty if none does. p is the payment, merged with
// what the event says if that is usable.
func (r Rules) reject(f *facts, p *Payment, c claimCheck) Reason {
	switch {
	case !isKind(f.kind):
		return UnknownKind
	case f.user == "" && cmp.Or(f.SubscriptionID, p.SubscriptionID) == "":
		return MissingUser
	case f.PaymentID() == "":
		return MissingPaymentID
	case r.Catalogue != nil && f.offer == nil && p.rank(creditsRank) == 0:
		return UnknownProduct
	case c.unusable == KindMismatch:
		return c.unusable
	case f.kind == KindOneTime && p.Credits == nil && r.Catalogue == nil && !f.Credits.Present && !c.conflict:
		return MissingCredits
	case c.unusable != "" || c.tooMuch:
		return OutOfRange
	case c.conflict:
		return PaymentConflict
	}
	return ""
}

// startSubscription is the rule of a checkout: it says what was sold for a subscription, whose payments are other events.
// If it names a transaction, that is a payment of the subscription.
func (r Rules) startSubscription(s *State, f *facts) (Outcome, Reason) {
	if f.SubscriptionID == "" {
		r.keepNames(s, f)
		return Ignored, ""
	}
	if f.Transaction != "" {
		r.bind(s, f)
	}
	f.payment, f.same = Payment{}, Payment{}
	said, unusable := r.statement(f)
	state, _ := s.Subscriptions.Get(f.SubscriptionID)
	f.user, f.kind = cmp.Or(f.UserID, state.UserID), cmp.Or(f.Kind, said.statedKind(), state.SoldKind, state.Kind, KindSubscription)
	if unusable != "" {
		return Rejected, unusable
	}
	outcome := r.setSubscription(s, f, f.SubscriptionID, &change{
		status: f.Status, at: f.OccurredAt, startedAt: f.OccurredAt, user: f.UserID, kind: said.statedKind(), productKey: f.ProductKey,
		periodStart: f.PeriodStart, periodEnd: f.PeriodEnd, sold: &said,
	})
	if f.claimed {
		return Applied, ""
	}
	return outcome, ""
}

// statement returns what the event says of its payment. If the event can never be used,
// unusable says why.
func (r Rules) statement(f *facts) (said Payment, unusable Reason) {
	said = Payment{
		SubscriptionID: f.SubscriptionID, ProductKey: f.ProductKey, Kind: f.Kind,
		FirstAt: f.OccurredAt, LastAt: f.OccurredAt, PeriodStart: f.PeriodStart, PeriodEnd: f.PeriodEnd,
	}
	said.nameBuyer(f.UserID, ofPayment)
	said.nameGitHubUser(f.GitHubUser, f.OccurredAt, ofPayment)
	switch {
	case f.offer != nil:
		said.stateKind(f.offer.Kind)
	case f.Kind != "" && r.Catalogue == nil:
		said.stateKind(f.Kind)
	case f.Kind != "":
		said.setRank(kindRank, kindNotSold)
	case f.isOfSubscription():
		said.Kind = KindSubscription
		said.setRank(kindRank, kindImplied)
	}
	switch {
	case f.Kind != "" && !isKind(f.Kind):
		return said, UnknownKind
	case f.offer != nil && f.Kind != "" && f.Kind != f.offer.Kind:
		return said, KindMismatch
	}
	credits, inRange := r.grantable(f, said.Kind)
	if !inRange {
		return said, OutOfRange
	}
	if f.Amount.Present {
		said.Amount, said.Currency = f.Amount.Pointer(), f.Currency
		said.setRank(amountRank, amountOfOrder)
		if f.AmountOfTransaction {
			said.setRank(amountRank, amountOfTransaction)
		}
	}
	said.setRank(productRank, productUnsold)
	if f.offer == nil && r.Catalogue != nil {
		return said, ""
	}
	rank := soldByOrder
	if f.Transaction != "" {
		rank = soldByTransaction
	}
	switch {
	case f.offer != nil && f.ProductKey == f.Product: // the provider's product ranks higher, because a buyer can write the metadata
		rank += offeredByProvider
	case f.offer != nil:
		rank += offeredByMetadata
	}
	said.setRank(creditsRank, rank)
	said.setRank(productRank, rank+1)
	said.Credits, said.GrantLines, said.ValidMonths = credits, 1, 0
	if f.offer != nil {
		said.GrantLines, said.ValidMonths = f.offer.Months, f.offer.ValidMonths
	}
	return said, ""
}

// conflicts reports whether the event's payment is claimed for another user or as another kind. A payment that has
// granted credits stays with their user, even if it is no longer complete. Under a catalogue, no two kinds are in
// conflict, because the payment's offers decide its kind.
func (r Rules) conflicts(s *State, f *facts) bool {
	p := &f.payment
	claimed := p.UserID != ""
	if f.UserID != "" && f.UserID != p.user() && (claimed || s.Ledger.has(p)) {
		return true
	}
	return r.Catalogue == nil && claimed && f.Kind != "" && f.Kind != p.Kind && p.rank(kindRank) == kindSaid
}

// grantable returns the credits that the event's payment grants in all; nil for none. A licence
// grants none. If there is a catalogue, the credits come only from its offer. It also checks the amount.
func (r Rules) grantable(f *facts, kind Kind) (total *int64, inRange bool) {
	if f.Amount.Bad || f.Amount.Value < 0 {
		return nil, false
	}
	credits, lines := f.Credits, int64(1)
	if r.Catalogue != nil {
		credits = events.Number{}
	}
	if f.offer != nil {
		credits, lines = events.Number{Value: f.offer.Credits, Present: f.offer.Credits != 0}, f.offer.Months
	}
	if kind == KindPro || !credits.Present {
		return nil, true
	}
	units := int64(1)
	if f.units.Present {
		units = f.units.Value
	}
	fits := func(n int64) bool { return n >= 1 && n <= catalogue.MaxCredits }
	if credits.Bad || f.units.Bad || !fits(credits.Value) || !fits(units) || units > catalogue.MaxCredits/credits.Value {
		return nil, false
	}
	all := credits.Value * units * lines
	return &all, true
}
