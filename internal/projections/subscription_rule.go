package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// terms is what a subscription says of its payments. A payment takes from it what its own events do not say.
type terms struct {
	user       string
	kind       Kind
	gitHubUser string
	sold       Facts // that say what is sold

	checkout string // in which it was bought: the first that an event names
	first    *Fact  // that a payment arrived; nil: none has

	// The first two payments that are not of a trial. The subscription has begun with the first; the second is kept, because
	// the news that a trial began with the first one can come late.
	begun Facts
}

// termsOf reads the facts of a subscription. The first event that names a user decides whose it is.
//
// Without a catalogue, the kind is that of payments whose own events name none. A kind that a checkout names has priority.
// Otherwise they are licences if an event names the kind KindPro and none KindSubscription.
func (r Rules) termsOf(facts Facts) (t terms) {
	var sold, named Kind
	for _, f := range facts {
		if t.user == "" {
			t.user = f.User
		}
		if kind := r.kindIn(f); t.gitHubUser == "" && (kind == KindPro || f.Says == Sold && kind == "") {
			t.gitHubUser = f.GitHubUser
		}
		if t.checkout == "" {
			t.checkout = f.Checkout
		}
		if t.first == nil && f.Says == Paid {
			t.first = f
		}
		if r.sells(f) {
			t.sold = append(t.sold, f)
		}
		if f.Says == Sold {
			sold = shownKind(sold, f.Kind)
		} else {
			named = shownKind(named, f.Kind)
		}
	}
	if r.Catalogue == nil {
		if t.kind = sold; sold == "" && named == KindPro {
			t.kind = named
		}
	}
	for _, f := range facts {
		if len(t.begun) < 2 && f.Says == Paid && f.status() != events.Trialing && !t.beginsTrial(Facts{f}) && r.paysFor(f, t) {
			t.begun = append(t.begun, f)
		}
	}
	return t
}

// changes reports whether payments can be for something else than before, and from which time on: the zero time if all of
// them can.
func (t *terms) changes(now *terms) (from time.Time, changed bool) {
	if now.user != t.user || now.kind != t.kind || now.gitHubUser != t.gitHubUser {
		return time.Time{}, true
	}
	since := func(at time.Time) {
		if !at.IsZero() && (!changed || at.Before(from)) {
			from, changed = at, true
		}
	}
	if was, is := t.bought(), now.bought(); was != is {
		for _, of := range []*terms{t, now} {
			if of.first != nil {
				since(of.first.At)
			}
		}
	}
	if was, is := t.begins(), now.begins(); !was.Equal(is) {
		since(was)
		since(is)
	}
	for _, one := range now.sold {
		if slices.Contains(t.sold, one) {
			continue
		}
		first := t.sold.First(func(f *Fact) bool { return f.ByBuyer == one.ByBuyer })
		if first == nil || one.before(first) { // earlier payments are for it, too
			return time.Time{}, true
		}
		since(one.At.Add(-sentTogether))
	}
	return from, changed
}

// begins returns the time of the first payment that is not of a trial; zero if there is none.
func (t *terms) begins() time.Time { return t.begun.paidAt() }

// bought returns the payment of the subscription's checkout, which is the first by the provider's time, and the checkout;
// empty if one of them is not known.
func (t *terms) bought() (of struct{ payment, checkout string }) {
	if t.first != nil && t.checkout != "" {
		of.payment, of.checkout = t.first.Payment, t.checkout
	}
	return of
}

// sells reports whether the fact says what the payments of its subscription are for: that of a checkout, and under a
// catalogue also that of an event about the status, if the catalogue has its product.
func (r Rules) sells(f *Fact) bool {
	if r.Catalogue == nil {
		return f.Says == Sold
	}
	return (f.Says == Sold || f.Says == Status) && r.Catalogue.Sells(f.Product)
}

// soldAt returns the fact that says what a payment of that time is for: the newest that is not later, otherwise the first.
// A provider may tell a change after the payment that it waited for. A fact in which only the buyer names the product
// counts if there is no other.
func (t *terms) soldAt(at time.Time) *Fact {
	at = at.Add(sentTogether)
	for _, byBuyer := range []bool{false, true} {
		named := func(f *Fact) bool { return f.ByBuyer == byBuyer }
		if one := t.sold.last(func(f *Fact) bool { return named(f) && !f.At.After(at) }); one != nil {
			return one
		}
		if one := t.sold.First(named); one != nil {
			return one
		}
	}
	return nil
}

// beginsTrial reports whether the subscription says that a trial begins with a payment that does not say it: it is trialing
// within an hour of the payment, and the payment is for nothing else that the provider names. What is paid then, if
// anything, is a fee, or the price of the trial.
func (t *terms) beginsTrial(paid Facts) bool {
	if paid.First(func(f *Fact) bool { return f.MayBeginTrial }) == nil {
		return false
	}
	at := paid[0].At
	says := t.soldAt(at)
	if says == nil || says.Status != events.Trialing || at.Sub(says.At).Abs() > time.Hour || !says.Until.IsZero() && !at.Before(says.Until) {
		return false
	}
	return paid.First(func(f *Fact) bool { return namesProduct(f) && f.Product != says.Product }) == nil
}

// shownKinds lists the kinds. Of two that events say of one subscription, the later in the list counts: if one event
// says that it is a subscription, it is one.
var shownKinds = []Kind{"", catalogue.None, KindOneTime, KindPro, KindSubscription}

func shownKind(a, b Kind) Kind {
	if a == b || b == "" {
		return a
	}
	return shownKinds[max(0, slices.Index(shownKinds, a), slices.Index(shownKinds, b))]
}

// deriveSubscription returns the subscription as its facts say, whose terms are of.
func (r Rules) deriveSubscription(s SubscriptionState, of terms) SubscriptionState {
	derived := SubscriptionState{SubscriptionID: s.SubscriptionID, Provider: s.Provider, Facts: s.Facts}
	if len(s.Facts) == 0 {
		return derived
	}
	first, byBuyer := s.Facts[0], true
	derived.UserID, derived.StartedAt = of.user, first.At
	derived.EventID, derived.OccurredAt, derived.StreamSeq = first.EventID, first.At, first.Seq
	for _, f := range s.Facts {
		kind := r.kindIn(f)
		if f.Says == Paid && f.Status == "" && of.beginsTrial(Facts{f}) {
			said := *f
			said.Status, f = maybeTrialing, &said
		}
		derived.Kind = shownKind(derived.Kind, kind)
		if f.Says == Named || f.Says == Paid && !r.paysFor(f, of) || !derived.follows(f) {
			continue
		}
		derived.apply(f)
		if r.showsProduct(f, kind) && (byBuyer || !f.ByBuyer) {
			named := f
			if !derived.implicit() { // its payments are not for what others say of it
				named = productOf(f, of)
			}
			derived.ProductKey, byBuyer = named.Product, named.ByBuyer
		}
	}
	end := r.paidUntil(&derived, of)
	if f := s.Facts.extension(); f != nil {
		derived.CurrentPeriodEnd, end = later(derived.CurrentPeriodEnd, f.Extended), later(end, f.Extended)
	}
	if derived.CountsUntil = end; !end.IsZero() && (derived.Status == events.Active || derived.Status == events.PastDue) {
		if offer := r.Catalogue.Offer(derived.ProductKey, derived.OccurredAt); offer != nil {
			derived.CountsUntil = end.Add(time.Duration(offer.GraceDays) * 24 * time.Hour)
		}
	}
	return derived
}

// paidUntil returns the end of what a subscription has paid; the zero time if no end is known. That is the end of its
// period. But some providers begin the next period although its payment has failed, and may then cancel the subscription:
// what is paid ends where that period begins, or with the last payment that ends within it.
func (r Rules) paidUntil(s *SubscriptionState, of terms) time.Time {
	end := s.CurrentPeriodEnd
	switch s.Status {
	case events.PastDue:
		if end.IsZero() {
			return s.OccurredAt
		}
	case events.Canceled:
		if end.IsZero() {
			return s.CanceledAt
		}
		if !s.hasFailed() {
			return end
		}
	default:
		return end
	}
	pays := func(f *Fact) bool { return f.Says == Paid && r.paysFor(f, of) && s.isOfPeriod(f) }
	if s.CurrentPeriodStart.IsZero() || s.Facts.First(pays) != nil {
		return end
	}
	paid := s.CurrentPeriodStart
	for _, f := range s.Facts {
		if f.Says == Paid && r.paysFor(f, of) {
			paid = later(paid, f.Until) // the provider may have moved the end of a period that was paid
		}
	}
	return paid
}

// hasFailed reports whether the newest event about the current period that says so says that its payment has failed.
func (s *SubscriptionState) hasFailed() bool {
	says := []string{events.Active, events.Trialing, events.PastDue, events.Unpaid}
	newest := s.Facts.last(func(f *Fact) bool {
		return f.Says == Status && slices.Contains(says, f.Status) && s.isOfPeriod(f)
	})
	return newest != nil && (newest.Status == events.PastDue || newest.Status == events.Unpaid)
}

// isOfPeriod reports whether the fact is about the current period or a later one. If it names no period, its time decides;
// the payment of a period can come a little before it.
func (s *SubscriptionState) isOfPeriod(f *Fact) bool {
	if f.Until.IsZero() {
		return f.At.After(s.CurrentPeriodStart.Add(-beforePeriod))
	}
	return !f.Until.Before(s.CurrentPeriodEnd)
}

// beforePeriod is how long before a period its payment can come.
const beforePeriod = 24 * time.Hour

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// productOf returns the fact whose product a fact shows: where only the buyer names the product of a payment, what the
// provider says that it is for has priority, as for the payment itself.
func productOf(f *Fact, of terms) *Fact {
	if sold := of.soldAt(f.At); f.Says == Paid && f.ByBuyer && sold != nil && !sold.ByBuyer && sold.Product != "" {
		return sold
	}
	return f
}

// showsProduct reports whether the product of the fact is that of the subscription, and not of something else that was
// sold with it.
func (r Rules) showsProduct(f *Fact, kind Kind) bool {
	if r.Catalogue != nil && f.Says == Paid && !r.Catalogue.Sells(f.Product) {
		return false
	}
	return f.Product != "" && kind != KindOneTime && kind != catalogue.None
}

// kindIn returns the kind that the catalogue has for the product of the fact, otherwise the kind that the event names.
func (r Rules) kindIn(f *Fact) Kind {
	if offer := r.offerOf(f); offer != nil {
		return offer.Kind
	}
	return f.Kind
}

// paysFor reports whether a payment says that its subscription is active. One for something that the shop does not sell,
// or that is no subscription, does not.
func (r Rules) paysFor(f *Fact, of terms) bool {
	kind, sold := cmp.Or(r.kindIn(f), of.kind), r.Catalogue == nil || r.Catalogue.Sells(f.Product)
	if r.Catalogue != nil && !sold && namesProduct(f) {
		return false
	}
	if one := of.soldAt(f.At); one != nil && (kind == "" || !sold) {
		kind, sold = r.kindIn(one), true
	}
	return sold && kind != KindOneTime && kind != catalogue.None
}

// follows reports whether the status of the fact can follow the present one. A cancellation is final, but a payment for a
// later period makes the subscription active again, and so does the provider if it says that it begins again;
// of an implicit subscription any payment does. A scheduled cancellation stays until a payment for a later period, and so
// does a pause, but for a payment whose period is not known. A late payment, for a period before the present one, says
// nothing of the present one.
func (s *SubscriptionState) follows(f *Fact) bool {
	switch {
	case f.Says != Paid:
		return s.Status != events.Canceled || f.Status == events.Canceled || f.Begins
	case s.Status == events.Canceled:
		return s.implicit() || s.beginsAgain(f)
	case f.said() == "" && (s.Status == events.ScheduledCancel || s.Status == events.Paused && !f.Until.IsZero()):
		return f.Until.After(s.CurrentPeriodEnd)
	}
	return f.Prorated || f.said() != "" || f.Until.IsZero() || f.Until.After(s.CurrentPeriodStart)
}

// beginsAgain reports whether a payment of a canceled subscription is for a period that begins after the cancellation.
// What is paid in the end for the canceled period, such as its usage, is not. The time that the provider gives for the
// cancellation can be that at which somebody asked for it.
func (s *SubscriptionState) beginsAgain(f *Fact) bool {
	if f.From.IsZero() || f.From.Before(s.CanceledAt) {
		return false
	}
	return !f.From.Before(s.OccurredAt) || f.Until.IsZero() || f.Until.After(s.CurrentPeriodEnd)
}

// takes reports whether the status of the fact counts: of a subscription that has begun, a payment of 0 says none.
func (s *SubscriptionState) takes(f *Fact) bool {
	return f.Status != maybeTrialing ||
		slices.Contains([]string{"", events.Incomplete, events.Expired, events.Canceled}, s.Status)
}

// apply takes over what the next fact in order says, except the product.
func (s *SubscriptionState) apply(f *Fact) {
	status := f.status()
	if !s.takes(f) {
		status = ""
	}
	again := s.Status == events.Canceled && status == events.Canceled
	if status != "" && !again {
		s.Status, s.CanceledAt = status, time.Time{}
		s.EventID, s.OccurredAt, s.StreamSeq = f.EventID, f.At, f.Seq
		if status == events.Canceled {
			s.CanceledAt = f.At
			if !f.CanceledAt.IsZero() {
				s.CanceledAt = f.CanceledAt
			}
		}
	}
	if f.hasPeriod() && !f.Prorated {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = f.From, f.Until
	}
	if f.Says == Paid && (!f.Prorated || s.ProviderPaymentID == "" || s.paysLonger(f)) {
		s.ProviderPaymentID = f.Payment
	}
}

// paysLonger reports whether a payment pays for a time after the period of the newest one: the change began a new period,
// as one from months to years does. If the provider has moved the end of that period, it is still the same one, unless it
// became more than twice as long.
func (s *SubscriptionState) paysLonger(f *Fact) bool {
	newest := s.Facts.last(func(one *Fact) bool {
		return one.Says == Paid && one.Payment == s.ProviderPaymentID && !one.Until.IsZero()
	})
	if newest == nil || !f.Until.After(newest.Until) {
		return false
	}
	moved := func(one *Fact) bool {
		return one.Says != Paid && one.From.Equal(newest.From) && !one.Until.Before(f.Until)
	}
	if newest.From.IsZero() || f.Until.Sub(newest.From) > 2*newest.Until.Sub(newest.From) {
		return true
	}
	return s.Facts.First(moved) == nil
}
