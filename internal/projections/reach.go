package projections

import (
	"cmp"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Since returns for each subscription the time from which on its payments can change because of these events, although no
// event names them: the zero time if all of them can. The state must have the payments and subscriptions that the events
// name. Events of one payment are looked at together, because one can name its subscription and another its kind or its
// user. Other events that change nothing alone change nothing together.
func (r Rules) Since(s *State, batch []events.Event) map[string]time.Time {
	since, told := map[string]time.Time{}, saidBefore{}
	for i := range batch {
		f := newStep(s, &batch[i])
		if !f.HasEffect() {
			continue
		}
		r.findProduct(f)
		for _, t := range r.wouldTouch(s, f, told.of(f)) {
			from, changed := t.was.changes(&t.is)
			if known, noted := since[t.id]; changed && len(t.before) > 0 && (!noted || from.Before(known)) {
				since[t.id] = from
			}
		}
	}
	return since
}

// saidBefore has what earlier events of a batch say of payments, by each name of a payment.
type saidBefore map[string]*Facts

// of returns what the earlier events of the event's payment say. From now on both names of the event mean one payment.
func (b saidBefore) of(f *step) *Facts {
	var both *Facts
	for _, name := range []string{f.Transaction, f.Order} {
		switch said := b[name]; {
		case name == "" || said == nil:
		case both == nil:
			both = said
		default:
			for _, one := range *said {
				*both = both.with(one)
			}
		}
	}
	if both == nil {
		both = new(Facts)
	}
	for _, name := range []string{f.Transaction, f.Order} {
		if name != "" {
			b[name] = both
		}
	}
	return both
}

// wouldTouch returns the subscriptions that the event would touch, after events that said something else of its payment. It
// adds to that what this one says.
func (r Rules) wouldTouch(s *State, f *step, said *Facts) []touched {
	ofPayment, ofSubscription := r.says(f)
	if ofSubscription != nil && f.SubscriptionID == "" && (f.UserID == "" || f.ownKind() != KindSubscription) {
		ofSubscription = nil
	}
	var payments []teller
	if f.joined != "" {
		payments = append(payments, teller{id: f.joined})
		f.former = s.Payments.find(f.joined).Facts.subscriptions()
	}
	if id := cmp.Or(f.payment.ProviderPaymentID, f.PaymentID()); id != "" {
		for _, one := range s.factsWith(f, ofPayment) {
			*said = said.with(one)
		}
		*said = said.ofPayment()
		payments = append(payments, teller{id, *said})
	}
	return r.touch(s, f, payments, ofSubscription)
}

// Licensed lists the users who buy something with these events, or of whose subscriptions they say something, if there are
// licences that end with their subscription. Which payment gives such a licence follows from all pro payments of the user.
func (r Rules) Licensed(s *State, batch []events.Event) (users []string) {
	if !r.Catalogue.EndsLicences() {
		return nil
	}
	seen := map[string]bool{}
	note := func(user string) {
		if user != "" && !seen[user] {
			seen[user], users = true, append(users, user)
		}
	}
	for i := range batch {
		f := newStep(s, &batch[i])
		if !f.HasEffect() {
			continue
		}
		note(f.user)
		named := addName(f.payment.Facts.subscriptions(), f.SubscriptionID)
		if f.joined != "" {
			named = append(named, s.Payments.find(f.joined).Facts.subscriptions()...)
		}
		for _, id := range named {
			if of := s.Subscriptions.find(id); of != nil {
				for _, user := range of.Users() {
					note(user)
				}
			}
		}
	}
	return users
}

// Periods lists the periods whose payments can change because of these events: those of the payments that were loaded for
// them, and those that the events name. The payments of the periods of earlier payments are loaded already.
func (s *State) Periods(batch []events.Event) (subscriptions []string, ends []time.Time) {
	seen := map[Period]bool{}
	note := func(subscription string, end time.Time) {
		one := Period{subscription, end.UnixMicro(), ""}
		if subscription != "" && !end.IsZero() && !seen[one] {
			seen[one] = true
			subscriptions, ends = append(subscriptions, subscription), append(ends, end)
		}
	}
	noteAll := func(p *Payment, subscription string, end time.Time) {
		note(subscription, end)
		note(p.SubscriptionID, end)
		note(subscription, p.PeriodEnd)
		for _, f := range p.Facts {
			note(subscription, f.Until)
			note(f.Subscription, end)
		}
	}
	for i := range batch {
		e := &batch[i]
		for _, end := range e.PeriodEnds() {
			noteAll(&Payment{}, e.SubscriptionID, end)
			for _, p := range []*Payment{s.paymentNamed(e.Transaction, s.byTransaction), s.paymentNamed(e.Order, s.byOrder)} {
				if p != nil {
					noteAll(p, e.SubscriptionID, end)
				}
			}
		}
	}
	for _, loaded := range s.Payments.fresh() {
		note(loaded.value.SubscriptionID, loaded.value.PeriodEnd)
	}
	return subscriptions, ends
}
