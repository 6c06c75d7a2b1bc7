package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
)

// purchase is what the events of one payment say, without what its subscription says.
type purchase struct {
	user         string // whom the first event names
	kind         Kind   // that an event names, if there is no catalogue
	subscription string // that the first event names
	paid         Facts  // that the payment arrived, of that user and that kind
	others       Facts  // that the payment arrived, of another user or kind
}

// purchaseOf reads the facts of a payment. The first event that says everything decides whose the payment is, and without
// a catalogue its kind; if none does, the first that says so much. So nobody takes over what somebody else has paid for.
func (r Rules) purchaseOf(facts Facts) (p purchase) {
	if claim := facts.First(r.claims); claim != nil {
		p.user, p.kind = claim.User, claim.Kind
	}
	for _, f := range facts {
		if f.Says == Paid {
			p.user = cmp.Or(p.user, f.User)
		}
		if p.subscription == "" && f.Says != Sold {
			p.subscription = f.Subscription
		}
	}
	ofUser := func(f *Fact) bool { return f.User == "" || f.User == p.user }
	for _, f := range facts {
		if f.Says == Paid && ofUser(f) {
			p.kind = cmp.Or(p.kind, f.Kind)
		}
	}
	if r.Catalogue != nil {
		p.kind = ""
	}
	isOther := func(f *Fact) bool { return !ofUser(f) || p.kind != "" && f.Kind != "" && f.Kind != p.kind }
	p.paid = facts.where(func(f *Fact) bool { return f.Says == Paid && !isOther(f) })
	p.others = facts.where(func(f *Fact) bool { return f.Says == Paid && isOther(f) })
	return p
}

// claims reports whether an event says everything that a claim needs.
func (r Rules) claims(f *Fact) bool {
	switch {
	case f.Says != Paid || f.User == "":
		return false
	case r.Catalogue != nil:
		return r.offerOf(f) != nil
	}
	return isKind(f.Kind) && (f.Kind != KindOneTime || f.Credits != nil)
}

// implicitUser returns the user whose implicit subscription the payment pays; empty if it pays none.
func (r Rules) implicitUser(p *purchase) string {
	if p.subscription != "" || len(p.paid) == 0 {
		return ""
	}
	sold := r.bestSale(p.paid, false)
	if !sold.known {
		return ""
	}
	kind := cmp.Or(sold.kind, p.kind)
	if kind == "" && p.paid.First(func(f *Fact) bool { return f.Recurring }) != nil {
		kind = KindSubscription
	}
	if kind != KindSubscription {
		return ""
	}
	return p.user
}

// sale is what was sold with a payment, and what that grants.
type sale struct {
	known    bool // otherwise nothing is known, at most the product
	source   source
	credited source // of the credits, without a catalogue
	byBuyer  bool
	kind     Kind // empty without a catalogue if no event names it
	product  string
	credits  *int64    // in all; nil: none
	months   int64     // ledger lines, one a month
	valid    int64     // months until the credits expire; 0: never
	expires  time.Time // when given credits expire; zero: never
	lasts    bool
	rest     bool // of a period, with which its months end
	trial    bool // it grants what the catalogue has for a trial
}

// source orders the facts that say what was sold: the later in this list has priority.
type source int

const (
	fromSubscription source = iota
	fromOrder
	fromTransaction
)

// saleOf returns what a fact says was sold, with a trial or without.
func (r Rules) saleOf(f *Fact, from source, trial bool) sale {
	s := sale{source: from, byBuyer: f.ByBuyer, kind: f.Kind, product: f.Product, months: 1}
	if from != fromSubscription && f.ByOrder {
		s.source = fromOrder
	}
	if s.credited = s.source; r.Catalogue == nil {
		s.known, s.credits, s.expires = true, times(f.Credits, f.Units), f.Expires
		if s.kind == KindPro || trial {
			s.credits = nil
		}
		return s
	}
	offer := r.offerOf(f)
	if offer == nil {
		s.kind = ""
		return s
	}
	s.known, s.kind, s.months, s.valid, s.lasts = true, offer.Kind, offer.Months, offer.ValidMonths, offer.LastsAsSubscription
	s.expires = f.Expires
	s.credits = times(granted(offer, trial), f.Units)
	if s.trial = trial; trial {
		s.months = 1
	}
	return s
}

// granted returns the credits that the offer grants for one unit; nil for none.
func granted(offer *catalogue.Offer, trial bool) *int64 {
	credits := offer.Credits * max(offer.Months, 1)
	if trial {
		credits = offer.TrialCredits
	}
	if credits == 0 || offer.Kind == KindPro {
		return nil
	}
	return &credits
}

// times returns the credits of some units; 0 units mean one.
func times(credits *int64, units int64) *int64 {
	if credits == nil {
		return nil
	}
	all := *credits * max(units, 1)
	return &all
}

// isBetter orders two sales of one payment. A sale that is known counts. Then one whose product the provider names,
// because a buyer can write the metadata. Then the source decides, then the larger grant, and last the alphabet.
func (s *sale) isBetter(than *sale) bool {
	order := cmp.Or(compareBool(s.known, than.known), compareBool(!s.byBuyer, !than.byBuyer))
	return cmp.Or(order, cmp.Compare(s.source, than.source), cmp.Compare(orZero(s.credits), orZero(than.credits)),
		cmp.Compare(s.months, than.months), cmp.Compare(s.valid, than.valid), compareExpiry(s.expires, than.expires), cmp.Compare(s.kind, than.kind),
		compareBool(s.product != "", than.product != ""), cmp.Compare(than.product, s.product)) > 0
}

// compareExpiry orders times of expiry: never, the zero time, is the latest.
func compareExpiry(a, b time.Time) int {
	return cmp.Or(compareBool(a.IsZero(), b.IsZero()), a.Compare(b))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// bestSale returns the best of the sales of a payment's own facts. trial: all of them are with a trial. Without a
// catalogue, the kind, the product and the credits may come from different events: each from the best event that says it.
func (r Rules) bestSale(paid Facts, trial bool) (best sale) {
	for i, f := range paid {
		if s := r.saleOf(f, fromTransaction, f.Trial || trial); i == 0 {
			best = s
		} else {
			best = r.mergeSales(best, s)
		}
	}
	return best
}

func (r Rules) mergeSales(a, b sale) sale {
	if b.isBetter(&a) {
		a, b = b, a
	}
	if r.Catalogue != nil {
		if a.product == "" {
			a.product = b.product
		}
		return a
	}
	a.product, a.kind = cmp.Or(a.product, b.product), cmp.Or(a.kind, b.kind)
	if b.creditsMore(&a) {
		a.credits, a.credited, a.expires = b.credits, b.credited, b.expires
	}
	return a
}

// creditsMore orders the credits of two sales without a catalogue: any have priority over none, then the source decides,
// then the number, then the later expiry.
func (s *sale) creditsMore(than *sale) bool {
	return cmp.Or(compareBool(orZero(s.credits) > 0, orZero(than.credits) > 0), cmp.Compare(s.credited, than.credited),
		cmp.Compare(orZero(s.credits), orZero(than.credits)), compareBool(s.credits != nil, than.credits != nil),
		compareExpiry(s.expires, than.expires)) > 0
}

// derivePayment returns the payment as its facts, the terms of its subscription and its reversals say. It has the
// credits that it would grant if it were the only payment of its period (see grantsOf).
func (r Rules) derivePayment(p Payment, of terms, reversals []Reversal) (Payment, sale) {
	said := r.purchaseOf(p.Facts)
	derived := Payment{
		ProviderPaymentID: p.ProviderPaymentID, Provider: p.Provider, TransactionID: p.TransactionID, OrderID: p.OrderID, Joined: p.Joined,
		SubscriptionID: said.subscription, EventID: p.EventID, OccurredAt: p.OccurredAt, StreamSeq: p.StreamSeq, Facts: p.Facts,
	}
	decides := p.Facts.First(func(f *Fact) bool { return f.Says != Sold })
	if len(said.paid) > 0 {
		decides = said.paid[0]
	}
	if decides != nil {
		derived.EventID, derived.OccurredAt, derived.StreamSeq = decides.EventID, decides.At, decides.Seq
	}
	var sold sale
	if derived.Paid = len(said.paid) > 0; derived.Paid {
		sold = r.soldWith(&derived, &said, of)
		derived.setAmount(said.paid)
		derived.setCheckout(said.paid, of)
		sold.rest = derived.setPeriod(said.paid)
	}
	derived.Kind, derived.ProductKey, derived.Lasts = sold.kind, sold.product, sold.lasts
	derived.Known = sold.known && isSold(sold.kind) && (sold.kind != KindOneTime || sold.credits != nil)
	if derived.Known {
		derived.Credits = sold.credits
		derived.UserID = cmp.Or(said.user, of.user)
	}
	if begun := of.begins(); sold.trial && !begun.IsZero() && begun.Before(said.paid[0].At) {
		sold.credits, derived.Credits = nil, nil // no trial begins with it
	}
	if derived.Kind == KindPro {
		sold.credits, derived.Credits, derived.GitHubUsername = nil, nil, gitHubUserOf(said.paid, of)
	}
	derived.setReversals(reversals)
	return derived, sold
}

// CreditsAlone returns the credits that a payment grants under these rules if it is the only one of its period and nothing
// of it is taken back. of is its subscription; nil: it is not known.
func (r Rules) CreditsAlone(p *Payment, of *SubscriptionState) int64 {
	var said terms
	if of != nil {
		said = r.termsOf(of.Facts)
	}
	derived, _ := r.derivePayment(*p, said, nil)
	return orZero(derived.Credits)
}

// soldWith returns what was sold with the payment, as its own events and its subscription say. What the subscription says
// becomes a fact of the payment, because the subscription does not keep all of its facts.
func (r Rules) soldWith(p *Payment, said *purchase, of terms) sale {
	for _, has := range p.Facts.soldBy(said.subscription) {
		of.sold = of.sold.with(has)
	}
	trial := of.beginsTrial(said.paid)
	sold := r.bestSale(said.paid, trial)
	if r.Catalogue != nil && !sold.known && said.paid.First(namesProduct) != nil {
		return sold // the catalogue does not have what the provider says was sold
	}
	if one := of.soldAt(p.Facts.paidAt()); one != nil {
		kept := *one
		kept.Says, kept.Subscription, kept.Payment, kept.Checkout = Sold, said.subscription, "", ""
		p.Facts = p.Facts.with(&kept).ofPayment()
		sold = r.mergeSales(sold, r.saleOf(one, fromSubscription, trial))
	}
	if r.Catalogue != nil && sold.known {
		return sold
	}
	sold.kind = cmp.Or(said.kind, of.kind, said.paid.kind())
	if belongs := func(f *Fact) bool { return f.Recurring || f.Subscription != "" }; sold.kind == "" && (said.subscription != "" || said.paid.First(belongs) != nil) {
		sold.kind = KindSubscription
	}
	return sold
}

// namesProduct reports whether the provider names a product.
func namesProduct(f *Fact) bool { return f.Product != "" && !f.ByBuyer }

// isSold reports whether a payment of that kind can be claimed.
func isSold(kind Kind) bool { return isKind(kind) || kind == catalogue.None }

func (f Facts) kind() Kind {
	if one := f.First(func(one *Fact) bool { return one.Kind != "" }); one != nil {
		return one.Kind
	}
	return ""
}

func (f Facts) users() (all []string) {
	for _, one := range f {
		all = addName(all, one.User)
	}
	return all
}

// setAmount sets what was paid: what the transaction itself says has priority, then the larger amount counts.
func (p *Payment) setAmount(paid Facts) {
	sorted := slices.Clone(paid)
	slices.SortStableFunc(sorted, func(a, b *Fact) int {
		return cmp.Or(compareBool(b.Amount != nil, a.Amount != nil), compareBool(a.AmountOfOrder, b.AmountOfOrder),
			cmp.Compare(orZero(b.Amount), orZero(a.Amount)), cmp.Compare(b.Currency, a.Currency))
	})
	p.Amount = sorted[0].Amount
	if one := sorted.First(func(f *Fact) bool { return f.Currency != "" && (f.Amount != nil || p.Amount == nil) }); one != nil {
		p.Currency = one.Currency
	}
}

// setCheckout sets the checkout that the payment's own events name, otherwise that of its subscription: it began with the
// first payment, so a renewal has none.
func (p *Payment) setCheckout(paid Facts, of terms) {
	if one := paid.First(func(f *Fact) bool { return f.Checkout != "" }); one != nil {
		p.ProviderCheckoutID = one.Checkout
	} else if bought := of.bought(); bought.payment == p.ProviderPaymentID {
		p.ProviderCheckoutID = bought.checkout
	}
}

// setPeriod sets the period that the newest event says, and reports whether the payment pays only for the rest of it. The
// period of such a payment ends with it.
func (p *Payment) setPeriod(paid Facts) (rest bool) {
	one := paid.last((*Fact).hasPeriod)
	if one == nil {
		return false
	}
	p.PeriodStart, p.PeriodEnd = one.From, one.Until
	return one.Prorated
}

// gitHubUserOf returns the user whom a licence invites: the first whom the payment's own events name, otherwise that of
// its subscription.
func gitHubUserOf(paid Facts, of terms) string {
	if one := paid.First(func(f *Fact) bool { return f.GitHubUser != "" }); one != nil {
		return one.GitHubUser
	}
	return of.gitHubUser
}

func (p *Payment) setReversals(reversals []Reversal) {
	if len(reversals) == 0 {
		return
	}
	all := takenBy(reversals, p)
	p.RefundedAmount = all.amount()
	if last := all.last(all.counting(reversals), p); last != nil {
		p.ReversedAt, p.ReversedBy, p.ReversedSeq = last.OccurredAt, last.EventID, last.StreamSeq
	}
}
