package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Fact is what one event says of a payment or of a subscription. It never changes. Payments, subscriptions and licences
// are functions of their facts.
type Fact struct {
	EventID string    `json:"event"`
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"` // the provider's time
	Says    Says      `json:"says"`

	Subscription string `json:"subscription,omitempty"` // in the facts of a payment: the subscription that the event names
	Payment      string `json:"payment,omitempty"`      // in the facts of a subscription: the payment that the fact is about
	Checkout     string `json:"checkout,omitempty"`     // the provider's id of the checkout, if the event names it itself

	User       string `json:"user,omitempty"`
	Kind       Kind   `json:"kind,omitempty"`      // the kind that the event names
	Recurring  bool   `json:"recurring,omitempty"` // the event belongs to a subscription, even if it names none
	GitHubUser string `json:"github,omitempty"`

	Product string `json:"product,omitempty"`
	ByBuyer bool   `json:"by_buyer,omitempty"` // only the metadata names the product, and a buyer can write metadata
	ByOrder bool   `json:"by_order,omitempty"` // the event names no transaction
	Units   int64  `json:"units,omitempty"`    // of the product; 0: the event does not say it
	Credits *int64 `json:"credits,omitempty"`  // of one unit, if there is no catalogue, or if they are given
	Trial   bool   `json:"trial,omitempty"`    // nothing was due, as when a trial begins

	MayBeginTrial bool `json:"may_begin_trial,omitempty"` // only the subscription says whether a trial begins with the payment

	Given   bool      `json:"given,omitempty"`  // the shop itself grants Credits, whatever the catalogue sells
	Expires time.Time `json:"expires,omitzero"` // when these credits expire; zero: never

	Amount        *int64 `json:"amount,omitempty"`
	AmountOfOrder bool   `json:"amount_of_order,omitempty"` // not of the transaction
	Currency      string `json:"currency,omitempty"`

	Status     string    `json:"status,omitempty"`
	From       time.Time `json:"from,omitzero"` // the period
	Until      time.Time `json:"until,omitzero"`
	Prorated   bool      `json:"prorated,omitempty"` // the payment pays for the rest of the period, after a change
	CanceledAt time.Time `json:"canceled_at,omitzero"`
	Begins     bool      `json:"begins,omitempty"`  // the subscription begins, also again after it was canceled
	Extended   time.Time `json:"extended,omitzero"` // the shop extends the subscription at least until then
}

// Says is what a fact is about.
type Says string

// What facts say.
const (
	Paid   Says = "paid"   // the payment arrived
	Sold   Says = "sold"   // a checkout began the subscription
	Status Says = "status" // the subscription has that status
	Named  Says = "named"  // the event names the payment or the subscription, and says nothing else that counts
)

// before orders the facts: by the provider's time, then by the event's id. No rule looks at the order of arrival.
func (f *Fact) before(g *Fact) bool { return inOrder(f, g) < 0 }

func inOrder(a, b *Fact) int {
	if order := a.At.Compare(b.At); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.EventID, b.EventID))
}

// maybeTrialing is the Status of a payment of 0 that says none. It counts as trialing only for a subscription that may
// begin: a free plan costs 0, too.
const maybeTrialing = "maybe trialing"

// said is the status that the event itself says; empty if it says none.
func (f *Fact) said() string {
	if f.Status == maybeTrialing {
		return ""
	}
	return f.Status
}

// IsFree reports whether it is a payment of 0 that says no status. Only its subscription tells whether a trial begins.
func (f *Fact) IsFree() bool { return f.Status == maybeTrialing }

// status is the status that the fact gives its subscription, if it counts: a payment that says none means an active one.
func (f *Fact) status() string {
	switch {
	case f.Status == maybeTrialing:
		return events.Trialing
	case f.Status == "" && f.Says == Paid:
		return events.Active
	}
	return f.Status
}

// rank orders the facts of one moment: a status that comes later in a subscription's life counts.
func (f *Fact) rank() int { return slices.Index(inLife, f.status()) }

var inLife = []string{
	events.Incomplete, events.Trialing, events.Active, events.PastDue, events.Unpaid, events.Paused,
	events.ScheduledCancel, events.Expired, events.Canceled,
}

func (f *Fact) hasPeriod() bool { return !f.From.IsZero() || !f.Until.IsZero() }

// onlyExtends reports whether the fact says of its subscription nothing but that the shop extends it.
func (f *Fact) onlyExtends() bool {
	return !f.Extended.IsZero() && f.Status == "" && f.Product == "" && !f.hasPeriod()
}

// Facts are in order (see Fact.before). An event has at most one fact in a list.
type Facts []*Fact

// with returns the list and one more fact. If the event has a fact of that sort already, nothing changes.
func (f Facts) with(one *Fact) Facts {
	if f.has(one.EventID, one.Says) != nil {
		return f
	}
	at, _ := slices.BinarySearchFunc(f, one, inOrder)
	out := make(Facts, 0, len(f)+1)
	return append(append(append(out, f[:at]...), one), f[at:]...)
}

// has returns what the event says; nil if the list has no such fact.
func (f Facts) has(event string, says Says) *Fact {
	for _, one := range f {
		if one.EventID == event && one.Says == says {
			return one
		}
	}
	return nil
}

// First returns the first fact, in order, for which is returns true; nil if there is none.
func (f Facts) First(is func(*Fact) bool) *Fact {
	for _, one := range f {
		if is(one) {
			return one
		}
	}
	return nil
}

// TrialBegan returns the first fact of a subscription that says or means that it is in a trial; nil if none does.
func (f Facts) TrialBegan() *Fact {
	var s SubscriptionState
	return f.First(func(one *Fact) bool {
		if one.said() != events.Trialing && s.follows(one) {
			s.apply(one)
		}
		return one.said() == events.Trialing || s.Status == events.Trialing
	})
}

// PaysAfter reports whether the payment of these facts was paid after the trial began, and is not one with which it begins.
func (f Facts) PaysAfter(began *Fact) bool {
	of := terms{sold: f.soldBy(f.firstSubscription())}
	paid := f.where(func(one *Fact) bool { return one.Says == Paid })
	return len(paid) > 0 && !paid[0].At.Before(began.At) && !of.beginsTrial(paid)
}

// last is First from the end.
func (f Facts) last(is func(*Fact) bool) *Fact {
	for _, one := range slices.Backward(f) {
		if is(one) {
			return one
		}
	}
	return nil
}

// where returns the facts for which is returns true. It asks once for each, in order.
func (f Facts) where(is func(*Fact) bool) Facts {
	for i, one := range f {
		if is(one) {
			continue
		}
		some := append(make(Facts, 0, len(f)-1), f[:i]...)
		for _, one := range f[i+1:] {
			if is(one) {
				some = append(some, one)
			}
		}
		return some
	}
	return f
}

// extension returns the fact that extends the subscription most; of equal ones the first; nil if none does.
func (f Facts) extension() (most *Fact) {
	for _, one := range f {
		if !one.Extended.IsZero() && (most == nil || one.Extended.After(most.Extended)) {
			most = one
		}
	}
	return most
}

// longest returns the payment that ends last; of equal ones the first; nil if none names its end.
func (f Facts) longest() (most *Fact) {
	for _, one := range f {
		if one.Says == Paid && !one.Until.IsZero() && (most == nil || one.Until.After(most.Until)) {
			most = one
		}
	}
	return most
}

// maxFacts bounds the facts of each sort that a payment keeps. A payment has a few events.
const maxFacts = 64

// ofPayment returns the facts that a payment keeps: the first maxFacts that say that it was paid; of those that only name
// it, the first for each subscription; and the fact of its subscription that says what it is for (see terms.soldAt). What
// is left out of a set of facts does not depend on their order of arrival.
func (f Facts) ofPayment() Facts {
	if len(f) == 1 { // nearly always
		return f
	}
	paid, names := 0, map[string]bool{}
	return f.where(func(one *Fact) bool {
		switch one.Says {
		case Paid:
			paid++
			return paid <= maxFacts
		case Sold:
			of := terms{sold: f.soldBy(one.Subscription)}
			return one == of.soldAt(f.paidAt())
		}
		known := names[one.Subscription] || len(names) == maxFacts
		names[one.Subscription] = true
		return !known
	})
}

// soldBy returns what the subscription says that a payment is for.
func (f Facts) soldBy(subscription string) Facts {
	return f.where(func(one *Fact) bool { return one.Says == Sold && one.Subscription == subscription })
}

// paidAt returns the time of the first fact that says that a payment arrived; zero if there is none.
func (f Facts) paidAt() time.Time {
	if one := f.First(func(f *Fact) bool { return f.Says == Paid }); one != nil {
		return one.At
	}
	return time.Time{}
}

// What a subscription keeps of its newest facts.
const (
	keptChanges       = 6 // that give another status than a cancellation, or say what is sold
	keptCancellations = 2
	keptPayments      = 6
)

// ofSubscription returns the facts that a subscription keeps: the newest of each sort, the newest that says a status, the
// newest besides payments that says a period, and the newest payment for a whole period and the one that ends last, because
// they decide its status, its period, its product and what its next payments are for; the newest that says that it begins;
// the longest extension; begun (see terms); and the first of all, of a payment, with a checkout, with each user, with a
// GitHub user, with a cancellation, with each kind, and with each product and number of units, because late payments are
// for them. What is left out of a set of facts does not depend on their order of arrival.
func (f Facts) ofSubscription(begun Facts) Facts {
	if len(f) <= 1 {
		return f
	}
	keep := make([]bool, len(f))
	keep[0] = true
	extension, longest := f.extension(), f.longest()
	changes, cancellations, payments := keptChanges, keptCancellations, keptPayments
	var status, period, begins, whole bool
	for i, one := range slices.Backward(f) {
		if !begins && one.Begins { // earlier facts may say a cancellation
			keep[i], begins = true, true
		}
		if !status && one.said() != "" { // newer facts may say none
			keep[i], status = true, true
		}
		if !period && one.Says != Paid && one.hasPeriod() { // likewise
			keep[i], period = true, true
		}
		if !whole && one.Says == Paid && !one.Prorated { // newer ones may pay for changes
			keep[i], whole = true, true
		}
		if one == extension || one == longest || slices.Contains(begun, one) {
			keep[i] = true
		}
		left := &changes
		switch {
		case one.Says == Named || one.onlyExtends():
			continue
		case one.Says == Paid:
			left = &payments
		case one.Status == events.Canceled:
			left = &cancellations
		}
		*left--
		keep[i] = keep[i] || *left >= 0
	}
	var seen firsts
	for i, one := range f {
		keep[i] = seen.add(one) || keep[i]
	}
	if !slices.Contains(keep, false) {
		return f
	}
	i := -1
	return f.where(func(*Fact) bool { i++; return keep[i] })
}

// firsts says what earlier facts of a subscription have said.
type firsts struct {
	payment, checkout, gitHubUser, licensed, cancellation bool

	kinds [2][]Kind  // of a checkout, and of other events
	users []string   // at most maxFacts
	sold  []offering // at most maxSold
}

// offering is what a fact says that the payments of a subscription are for.
type offering struct {
	product string
	byBuyer bool
	units   int64
}

// maxSold bounds how many of them a subscription keeps. Seats change more often than plans.
const maxSold = 16

// add reports whether the fact is the first one in any way.
func (seen *firsts) add(f *Fact) (first bool) {
	note := func(known *bool, says bool) {
		first = first || says && !*known
		*known = *known || says
	}
	note(&seen.payment, f.Says == Paid)
	note(&seen.checkout, f.Checkout != "")
	note(&seen.gitHubUser, f.GitHubUser != "")
	note(&seen.licensed, f.GitHubUser != "" && f.Kind == KindPro)
	note(&seen.cancellation, f.Status == events.Canceled)
	if f.User != "" && len(seen.users) < maxFacts && !slices.Contains(seen.users, f.User) {
		seen.users, first = append(seen.users, f.User), true
	}
	if one := (offering{f.Product, f.ByBuyer, f.Units}); one.product != "" && (f.Says == Sold || f.Says == Status) &&
		len(seen.sold) < maxSold && !slices.Contains(seen.sold, one) {
		seen.sold, first = append(seen.sold, one), true
	}
	kinds := &seen.kinds[0]
	if f.Says == Sold {
		kinds = &seen.kinds[1]
	}
	if f.Kind != "" && !slices.Contains(*kinds, f.Kind) {
		*kinds, first = append(*kinds, f.Kind), true
	}
	return first
}
