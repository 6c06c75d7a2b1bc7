package projections

import (
	"cmp"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Since returns for each subscription the time from which on its payments can change because of these events, although no
// event names them: the zero time if all of them can. The state must have the payments and subscriptions that the events
// name. Checking the events one at a time is enough: events that change nothing alone change nothing together.
func (r Rules) Since(s *State, batch []events.Event) map[string]time.Time {
	since := map[string]time.Time{}
	for i := range batch {
		f := newStep(s, &batch[i])
		if !f.HasEffect() || f.Action == events.None {
			continue
		}
		r.findProduct(f)
		for _, t := range r.wouldTouch(s, f) {
			from, changed := t.was.changes(&t.is)
			if known, noted := since[t.id]; changed && len(t.before) > 0 && (!noted || from.Before(known)) {
				since[t.id] = from
			}
		}
	}
	return since
}

// wouldTouch returns the subscriptions that the event would touch.
func (r Rules) wouldTouch(s *State, f *step) []touched {
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
		payments = append(payments, teller{id, s.factsWith(f, ofPayment)})
	}
	return r.touch(s, f, payments, ofSubscription)
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
		noteAll(&Payment{}, e.SubscriptionID, e.PeriodEnd)
		for _, p := range []*Payment{s.paymentNamed(e.Transaction, s.byTransaction), s.paymentNamed(e.Order, s.byOrder)} {
			if p != nil {
				noteAll(p, e.SubscriptionID, e.PeriodEnd)
			}
		}
	}
	for _, loaded := range s.Payments.fresh() {
		note(loaded.value.SubscriptionID, loaded.value.PeriodEnd)
	}
	return subscriptions, ends
}
