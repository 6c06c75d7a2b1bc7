package projections_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// reach says what a live projector would have loaded for one event.
type reach struct {
	event   events.Event
	before  []projections.Payment
	since   map[string]time.Time
	periods map[string]bool
}

// reachOf asks for the reach of the next event. The state has all rows of the shop.
func reachOf(s *projections.State, rules projections.Rules, e events.Event) reach {
	s.Settle()
	batch := []events.Event{e}
	r := reach{e, s.Payments.All(), rules.Since(s, batch), map[string]bool{}}
	subscriptions, ends := s.Periods(batch)
	for i, subscription := range subscriptions {
		r.periods[periodName(subscription, ends[i])] = true
	}
	for i := range r.before {
		if p := &r.before[i]; r.loads(p) {
			r.periods[periodName(p.SubscriptionID, p.PeriodEnd)] = !p.PeriodEnd.IsZero()
		}
	}
	return r
}

func periodName(subscription string, end time.Time) string {
	return fmt.Sprint(subscription, end.UnixMicro())
}

// loads reports whether the payment is loaded, apart from its period.
func (r *reach) loads(p *projections.Payment) bool {
	from, reached := r.since[p.SubscriptionID]
	return p.UserID == "" || isNamed(p, r.event) || reached && !p.OccurredAt.Before(from)
}

// requireCovers requires that the event has changed no payment that a live projector would not have loaded.
func (r *reach) requireCovers(t require.TestingT, s *projections.State, log fmt.Stringer) {
	for _, before := range r.before {
		if r.loads(&before) || r.periods[periodName(before.SubscriptionID, before.PeriodEnd)] {
			continue
		}
		now, _ := s.Payments.Get(before.ProviderPaymentID)
		require.Equal(t, before, now, "the event reaches a payment that is not loaded; the log:\n%s", log)
	}
}

func isNamed(p *projections.Payment, e events.Event) bool {
	names := []string{p.ProviderPaymentID, p.TransactionID, p.OrderID}
	return e.Transaction != "" && slices.Contains(names, e.Transaction) || e.Order != "" && slices.Contains(names, e.Order)
}
