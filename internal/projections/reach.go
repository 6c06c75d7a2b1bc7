package projections

import (
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Since returns for each subscription the time from which on its payments can change because of these events, although no
// event names them: the zero time if all of them can. The state must have the payments and subscriptions that the events
// name. Checking the events one at a time is enough: events that change nothing alone change nothing together.
func (r Rules) Since(s *State, batch []events.Event) map[string]time.Time {
	since := map[string]time.Time{}
	note := func(subscription string, from time.Time) {
		if known, noted := since[subscription]; !noted || from.Before(known) {
			since[subscription] = from
		}
	}
	for i := range batch {
		f := newStep(s, &batch[i])
		if !f.HasEffect() || f.Action == events.None || f.Action == events.Reverse {
			continue
		}
		r.findProduct(f)
		for _, subscription := range f.subscriptions(s) {
			row := s.Subscriptions.find(subscription)
			if row == nil {
				continue // none of its payments is claimed by what it says
			}
			says := map[events.Action]Says{events.Payment: Paid, events.Checkout: Sold, events.Subscription: Status}[f.Action]
			one := f.fact(says)
			before, now := r.termsOf(row.Facts), r.termsOf(row.Facts.with(one))
			switch sells := r.sells(one); {
			case before.user != "" && before.user != now.user, before.kind != now.kind, before.gitHubUser != now.gitHubUser:
				note(subscription, time.Time{})
			case sells && (len(before.sold) == 0 || one.before(before.sold[0])):
				note(subscription, time.Time{})
			case sells:
				note(subscription, one.At)
			}
		}
	}
	return since
}

// subscriptions lists the subscriptions that the event and its payment name.
func (f *step) subscriptions(s *State) []string {
	all := addName(nil, f.SubscriptionID)
	for _, name := range f.payment.subscriptions() {
		all = addName(all, name)
	}
	if f.joined != "" {
		for _, name := range s.Payments.find(f.joined).subscriptions() {
			all = addName(all, name)
		}
	}
	return all
}

// Periods lists the periods whose payments can change because of these events: those of the payments of the state, and
// those that the events name.
func (s *State) Periods(batch []events.Event) (subscriptions []string, ends []time.Time) {
	seen := map[period]bool{}
	note := func(subscription string, end time.Time) {
		one := period{subscription, end.UnixMicro(), ""}
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
		noteAll(&Payment{}, e.SubscriptionID, e.PeriodEnd)
		for _, p := range []*Payment{s.paymentNamed(e.Transaction, s.byTransaction), s.paymentNamed(e.Order, s.byOrder)} {
			if p != nil {
				noteAll(p, e.SubscriptionID, e.PeriodEnd)
			}
		}
	}
	for i := range s.Payments.rows {
		p := &s.Payments.rows[i].value
		note(p.SubscriptionID, p.PeriodEnd)
	}
	return subscriptions, ends
}
