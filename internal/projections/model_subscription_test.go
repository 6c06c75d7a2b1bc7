package projections_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// naiveSubscription is a subscription, from all its events in order.
type naiveSubscription struct {
	id, user, product, status, kind string
	start, end, canceledAt          time.Time
	since                           time.Time // when it got its status
	started                         time.Time
	byProvider                      bool          // the provider names the product
	newest                          *naivePayment // that pays for more than a change, if there is one
	said                            []said
}

func (m *naive) subscriptions(payments []*naivePayment) map[string]*naiveSubscription {
	of := map[string][]said{}
	add := func(id string, s said) {
		if !slices.ContainsFunc(of[id], func(has said) bool { return has.ID == s.ID }) {
			of[id] = append(of[id], s)
		}
	}
	for _, s := range m.said {
		if s.Action != events.Subscription && s.Action != events.Checkout && !s.begins() || s.unusable {
			continue
		}
		named := s.Kind
		if s.offer != nil {
			s.Kind = s.offer.Kind
		}
		if id := s.SubscriptionID; id != "" {
			add(id, s)
		} else if s.Action == events.Subscription && s.UserID != "" && (named == "" || named == "subscription") {
			add(implicit+s.UserID, s)
		}
	}
	for _, p := range payments {
		for _, s := range p.paid {
			if p.subscription != "" && !p.known { // it brings its user and its kind, and no status
				unknown := s
				unknown.pays, unknown.UserID = "none", cmp.Or(s.UserID, p.named)
				add(p.subscription, unknown)
			}
			s.pays, s.of = p.kind, p
			if s.product != "" {
				s.product = p.product
			}
			s.UserID = cmp.Or(s.UserID, p.named)
			if p.subscription != "" && p.known {
				add(p.subscription, s)
			}
		}
	}
	all := map[string]*naiveSubscription{}
	for id, said := range of {
		slices.SortStableFunc(said, inTime)
		s := &naiveSubscription{id: id, started: said[0].OccurredAt, user: firstOf(said, userOf), said: said}
		if user, is := strings.CutPrefix(id, implicit); is {
			s.user = user
		}
		for _, one := range said {
			one.withTrial = m.withTrial(one, said)
			s.apply(one)
		}
		for _, one := range said {
			if one.Action == events.Subscription && one.Extended.After(s.end) {
				s.end = one.Extended
			}
		}
		all[id] = s
	}
	return all
}

// withTrial reports whether a trial begins with an event that is a payment.
func (m *naive) withTrial(one said, of []said) bool {
	return one.Action == events.Payment && !one.begins() && one.Status == "" &&
		beginsTrial([]said{one}, m.checkoutFor(of, one.OccurredAt))
}

// apply is called with the events in order, the newest last.
func (s *naiveSubscription) apply(one said) {
	kinds := []string{"", "none", "one_time", "pro", "subscription"}
	if kind := one.Kind; slices.Index(kinds, kind) > slices.Index(kinds, s.kind) {
		s.kind = kind
	}
	payment, status := one.Action == events.Payment && !one.begins(), one.status()
	if one.withTrial {
		status = "trialing"
	}
	if (one.Trial || one.withTrial) && one.Status == "" && !slices.Contains([]string{"", "incomplete", "expired", "canceled"}, s.status) {
		status = "" // a payment of 0 can also be that of a free plan
	}
	unnamed := strings.HasPrefix(s.id, implicit)
	switch {
	case payment && (one.pays == "one_time" || one.pays == "none"):
		return
	case s.status == "canceled" && !payment && status != "canceled" && !one.Begins:
		return
	case s.status == "canceled" && payment && !unnamed && (one.PeriodStart.IsZero() ||
		one.PeriodStart.Before(s.canceledAt)):
		return
	case s.status == "canceled" && payment && !unnamed && one.PeriodStart.Before(s.since) && !one.PeriodEnd.IsZero() &&
		!one.PeriodEnd.After(s.end):
		return
	case (s.status == "scheduled_cancel" || s.status == "paused" && !one.PeriodEnd.IsZero()) && payment && one.Status == "" && !one.PeriodEnd.After(s.end):
		return
	case payment && s.status != "canceled" && one.Status == "" && !one.Prorated &&
		!one.PeriodEnd.IsZero() && !one.PeriodEnd.After(s.start):
		return
	}
	if kind := cmp.Or(one.pays, one.Kind); kind != "one_time" && kind != "none" {
		if one.product != "" && (one.byProvider || !s.byProvider) { // a buyer's key does not take the place of a product
			s.product, s.byProvider = one.product, one.byProvider
		}
	}
	if !one.Prorated && (!one.PeriodStart.IsZero() || !one.PeriodEnd.IsZero()) {
		s.start, s.end = one.PeriodStart, one.PeriodEnd
	}
	if payment && (!one.Prorated || s.newest == nil || s.paysLonger(one)) {
		s.newest = one.of
	}
	if status == "" || status == "canceled" && s.status == "canceled" { // the first cancellation counts
		return
	}
	s.status, s.canceledAt, s.since = status, time.Time{}, one.OccurredAt
	if status == "canceled" {
		s.canceledAt = one.CanceledAt
		if one.CanceledAt.IsZero() {
			s.canceledAt = one.OccurredAt
		}
	}
}

func (s *naiveSubscription) paysLonger(one said) bool {
	var start, end time.Time
	for _, said := range s.said {
		if said.of == s.newest && !said.PeriodEnd.IsZero() {
			start, end = said.PeriodStart, said.PeriodEnd
		}
	}
	if end.IsZero() || !one.PeriodEnd.After(end) {
		return false
	}
	isYear := start.IsZero() || one.PeriodEnd.Sub(start) > 2*end.Sub(start)
	return isYear || !slices.ContainsFunc(s.said, func(said said) bool { // the end of the newest one was moved
		return said.of == nil && start.Equal(said.PeriodStart) && !said.PeriodEnd.Before(one.PeriodEnd)
	})
}

func (s *naiveSubscription) ended() bool {
	return slices.Contains([]string{"canceled", "expired", "unpaid", "incomplete"}, s.status)
}

// shownOf returns the subscription of each user that the portal shows.
func shownOf(all map[string]*naiveSubscription) map[string]*naiveSubscription {
	gives := []string{"active", "trialing", "scheduled_cancel", "past_due", "paused"}
	place := func(s *naiveSubscription) int {
		if at := slices.Index(gives, s.status); at >= 0 {
			return at
		}
		return len(gives)
	}
	named := func(s *naiveSubscription) bool { return !strings.HasPrefix(s.id, implicit) }
	shown := map[string]*naiveSubscription{}
	shows := func(s *naiveSubscription) bool {
		return s.status != "" && s.user != "" && (s.kind == "" || s.kind == "subscription")
	}
	for _, s := range slices.SortedFunc(maps.Values(all), func(a, b *naiveSubscription) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), trueFirst(named(a), named(b)), b.started.Compare(a.started),
			strings.Compare(b.id, a.id))
	}) {
		if shows(s) && shown[s.user] == nil {
			shown[s.user] = s
		}
	}
	return shown
}
