package projections

import (
	"cmp"

	"github.com/payfold/payfold/internal/events"
)

// claim is the rule of checkout.completed and subscription.paid. What the event
// says of its payment is added to what is known of it (see Payment.merge); the
// event that makes it complete claims it for its user, and what was bought is
// granted. A later one is a duplicate payment. One that cannot be used yet is
// rejected and claims nothing, but what it says counts for a later one.
func claim(r Rules, s *State, f *facts) (Outcome, error) {
	offer := r.offer(f)
	told, unusable := r.tell(f, offer)
	if StartsSubscription(f.Event) {
		return r.startSubscription(s, f, told, unusable)
	}
	c := claiming{payment: f.payment, offer: offer, unusable: unusable, conflict: conflicts(f)}
	claimed, usable := f.payment.UserID != "", unusable == "" && f.PaymentID() != "" && !c.conflict
	if usable {
		c.payment = s.add(f, told)
		c.tooMuch = c.payment.user() != "" && c.payment.sold() && !s.canGrant(c.payment)
	}
	p := c.payment
	f.user, f.kind = cmp.Or(f.UserID, p.user(), f.user), cmp.Or(f.Kind, told.knownKind(), p.Kind, f.kind)
	reason := r.reject(f, c)
	if c.conflict {
		r.link(s, f, s.named(f)) // the names are the provider's, whoever pays
	}
	if !usable || c.tooMuch {
		return Rejected, refused(reason)
	}
	if !f.known || f.payment.FirstAt.IsZero() || !claimed && p.sold() && p.user() != "" {
		p.EventID, p.OccurredAt, p.StreamSeq = f.ID, f.OccurredAt, int64(f.Seq)
	}
	f.payment, f.known = p, true
	r.touch(s, f, p)
	switch {
	case reason != "":
		return Rejected, refused(reason)
	case claimed:
		return DuplicatePayment, nil
	}
	return Applied, nil
}

// offer is what the catalogue sells under the event's product key.
func (r Rules) offer(f *facts) *Offer {
	offer := r.Catalogue.offer(f.ProductKey, f.OccurredAt)
	if p := f.payment; offer != nil && f.Kind == "" && p.UserID != "" && p.rank(kindRank) == kindSaid && p.Kind != offer.Kind {
		return nil // nothing to add to a payment of another kind
	}
	return offer
}

// add is the event's payment with what the event says of it.
func (s *State) add(f *facts, told Payment) Payment {
	p := s.named(f)
	claimed := p.UserID != ""
	if !claimed && p.rank(kindRank) == told.rank(kindRank) {
		p.setRank(kindRank, 0) // a later one decides as long as nothing is granted
	}
	p.merge(told)
	if !claimed {
		p.Buyer = cmp.Or(f.UserID, p.Buyer)
	}
	p.absorb(s)
	return p
}

// claiming is what a claim found out about its event.
type claiming struct {
	payment  Payment // with what the event says, if that can be used
	offer    *Offer
	unusable Reason // what it says can never be used
	conflict bool   // somebody else, or something else, has the payment
	tooMuch  bool   // a balance could not hold what is to be granted
}

// reject is the first reason that applies, empty for none.
func (r Rules) reject(f *facts, c claiming) Reason {
	p := c.payment
	switch {
	case !isKind(f.kind):
		return UnknownKind
	case f.user == "" && cmp.Or(f.SubscriptionID, p.SubscriptionID) == "":
		return MissingUser
	case f.PaymentID() == "":
		return MissingPaymentID
	case r.Catalogue != nil && c.offer == nil && p.rank(creditsRank) == 0:
		return UnknownProduct
	case c.unusable == KindMismatch:
		return c.unusable
	case f.kind == KindOneTime && p.Credits == nil && c.offer == nil && !f.Credits.Present && !c.conflict:
		return MissingCredits
	case c.unusable != "" || c.tooMuch:
		return OutOfRange
	case c.conflict:
		return PaymentConflict
	}
	return ""
}

// StartsSubscription says whether it is a checkout that starts a subscription and
// names no transaction. The subscription.paid that follows does: the checkout
// claims nothing, and leaves what was bought with the subscription, for all of its
// payments.
func StartsSubscription(e events.Event) bool {
	return e.Type == "checkout.completed" && e.SubscriptionID != "" && e.Transaction == ""
}

func (r Rules) startSubscription(s *State, f *facts, told Payment, unusable Reason) (Outcome, error) {
	f.payment, f.known, f.same = Payment{}, false, Payment{}
	state, _ := s.Subscriptions.Get(f.SubscriptionID)
	f.user, f.kind = cmp.Or(f.UserID, state.UserID), cmp.Or(f.Kind, told.knownKind(), state.SoldKind, state.Kind, KindSubscription)
	if unusable != "" {
		return Rejected, refused(unusable)
	}
	outcome := r.setSubscription(s, f, f.SubscriptionID, news{
		status: statusActive, at: f.OccurredAt, startedAt: f.OccurredAt, user: f.UserID, kind: told.knownKind(), productKey: f.ProductKey,
		periodStart: f.PeriodStart, periodEnd: f.PeriodEnd, sold: told,
	})
	for _, p := range s.paymentsIn(f.SubscriptionID, func(Payment) bool { return true }) {
		r.touch(s, f, p)
	}
	if f.claimed {
		return Applied, nil
	}
	return outcome, nil
}

// tell is what the event says of its payment, and why it can never be used.
func (r Rules) tell(f *facts, offer *Offer) (told Payment, unusable Reason) {
	told = Payment{
		SubscriptionID: f.SubscriptionID, Buyer: f.UserID, ProductKey: f.ProductKey, Kind: f.Kind,
		FirstAt: f.OccurredAt, LastAt: f.OccurredAt, PeriodStart: f.PeriodStart, PeriodEnd: f.PeriodEnd,
	}
	told.nameGitHubUser(f.GitHubUser, f.OccurredAt)
	switch {
	case offer != nil:
		told.Kind = offer.Kind
		told.setRank(kindRank, kindSaid)
	case f.Kind != "" && r.Catalogue == nil:
		told.setRank(kindRank, kindSaid)
	case f.Kind != "":
		told.setRank(kindRank, kindNotSold)
	case f.isOfSubscription():
		told.Kind = KindSubscription
		told.setRank(kindRank, kindImplied)
	}
	switch {
	case f.Kind != "" && !isKind(f.Kind):
		return told, UnknownKind
	case offer != nil && f.Kind != "" && f.Kind != offer.Kind:
		return told, KindMismatch
	}
	credits, err := r.grantable(f, told.Kind, offer)
	if err != nil {
		return told, OutOfRange
	}
	if f.Amount.Present {
		told.Amount, told.Currency = f.Amount.Pointer(), f.Currency
		told.setRank(amountRank, amountOfOrder)
		if f.AmountOfTransaction {
			told.setRank(amountRank, amountOfTransaction)
		}
	}
	told.setRank(productRank, productUnsold)
	if offer == nil && r.Catalogue != nil {
		return told, ""
	}
	rank := soldByOrder
	if f.Transaction != "" {
		rank = soldByTransaction
	}
	switch {
	case offer != nil && f.ProductKey == f.Product: // a buyer can write the metadata
		rank += offeredByProvider
	case offer != nil:
		rank += offeredByMetadata
	}
	told.setRank(creditsRank, rank)
	told.setRank(productRank, rank+1)
	told.Credits, told.GrantLines, told.ValidMonths = credits, offer.lines(), offer.validMonths()
	return told, ""
}

// knownKind is the kind that the event itself says, not one that is implied.
func (p Payment) knownKind() Kind {
	if p.rank(kindRank) == kindSaid {
		return p.Kind
	}
	return ""
}

// conflicts: a payment stays with the user and the kind that claimed it.
func conflicts(f *facts) bool {
	p := f.payment
	if p.UserID == "" {
		return false
	}
	return f.UserID != "" && f.UserID != p.UserID || f.Kind != "" && f.Kind != p.Kind && p.rank(kindRank) == kindSaid
}

func isKind(kind Kind) bool {
	return kind == KindSubscription || kind == KindOneTime || kind == KindPro
}
