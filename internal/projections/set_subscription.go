package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// change is what an event or a payment says of a subscription.
type change struct {
	at, startedAt          time.Time
	status                 string // empty: unchanged
	user                   string
	kind                   Kind // empty: unknown
	productKey             string
	paymentID              string
	periodStart, periodEnd time.Time
	canceledAt             time.Time
	sold                   *Payment // what a checkout that starts the subscription says of its payments; see sell
	namesKind              bool     // the event names the kind of the subscription's payments; see nameKind
	holders                int64    // is added to Holders
	ownerOnly              bool     // the change says nothing of status, product, payment or period
}

// setSubscription applies a change to a subscription, claims the payments that waited for its user, and chooses the
// user's current subscription again. If the subscription now says something else of its payments, all of them are
// brought up to date. A change that is older than the state only fills empty fields; it is Stale. A cancellation is
// final and applies in any order; of several, the earliest counts. Only an implicit subscription can become active
// again, with its next payment.
func (r Rules) setSubscription(s *State, f *facts, key string, c *change) Outcome {
	state := s.Subscriptions.change(key)
	formerUser, known := state.UserID, state.SubscriptionID != "" && !state.Merged()
	if !known {
		*state = SubscriptionState{SubscriptionID: key, StartedAt: c.startedAt, Status: statusUnknown}
	}
	implicit := state.implicit()
	if !implicit {
		state.Provider = providerOf(state.Provider, f.Provider)
	}
	older, final := known && state.Status != statusUnknown && c.at.Before(state.OccurredAt), state.Status == statusCanceled && !implicit
	newest := !older && !final
	earliestCancellation := c.status == statusCanceled && !implicit && (older || !final)
	outcome := Applied
	switch {
	case c.ownerOnly && known:
	case newest || earliestCancellation:
		state.overwrite(f, c)
	default:
		outcome = Stale
		state.fill(c)
	}
	found := state.UserID == "" && c.user != ""
	state.UserID = cmp.Or(state.UserID, c.user)
	if c.startedAt.Before(state.StartedAt) {
		state.StartedAt = c.startedAt
	}
	state.Kind = shownKind(state.Kind, c.kind)
	resold := state.resell(f, c)
	state.Holders += c.holders
	user := state.UserID
	move(s.ofUser, key, formerUser, user)
	if found || resold { // a payment may add a subscription; then state is no longer valid
		for _, p := range s.paymentsIn(key, func(p *Payment) bool { return p.UserID == "" || resold && p.inheritsAnew(s) }) {
			r.recompute(s, f, &p)
		}
	}
	if user != "" {
		s.chooseSubscription(user)
	}
	return outcome
}

// tellKind tells the event's subscription the kind that the event names, also if the event is rejected because another
// one has claimed its payment. So what the other payments of the subscription are does not depend on which of the two
// came first. Under a catalogue, only the catalogue says what a payment is.
func (r Rules) tellKind(s *State, f *facts) {
	if r.Catalogue != nil || f.SubscriptionID == "" || f.Kind == "" {
		return
	}
	if state := s.Subscriptions.find(f.SubscriptionID); state != nil && !state.isChangedBy(&f.Event) {
		return
	}
	r.setSubscription(s, f, f.SubscriptionID, &change{at: f.OccurredAt, startedAt: f.OccurredAt, ownerOnly: true, namesKind: true})
}

// Resold lists the subscriptions of the state all of whose payments the events can change, because an event says
// something else of them than the row does. If no event of a batch says so alone, all of them together do not.
// Checkouts that start a subscription are not looked at.
func (r Rules) Resold(s *State, batch []events.Event) (subscriptions []string) {
	if r.Catalogue != nil {
		return nil
	}
	for i := range batch {
		e := &batch[i]
		if e.Kind == "" || e.SubscriptionID == "" || e.Action == events.None || e.Action == events.Reverse {
			continue
		}
		row := s.Subscriptions.find(e.SubscriptionID)
		if row == nil || slices.Contains(subscriptions, e.SubscriptionID) {
			continue
		}
		now := *row
		if now.nameKind(e); now != *row && now.sold() != row.sold() {
			subscriptions = append(subscriptions, e.SubscriptionID)
		}
	}
	return subscriptions
}

// resell applies what the change says of the subscription's payments. It reports whether that is something else than
// before.
func (s *SubscriptionState) resell(f *facts, c *change) bool {
	if c.sold == nil && !c.namesKind {
		return false
	}
	before := s.sold()
	if c.sold != nil {
		s.sell(*c.sold)
	}
	if c.namesKind {
		s.nameKind(&f.Event)
	}
	return s.sold() != before
}

func (s *SubscriptionState) overwrite(f *facts, c *change) {
	s.Status, s.CanceledAt = cmp.Or(c.status, s.Status), time.Time{}
	if s.Status == statusCanceled {
		s.CanceledAt = cmp.Or(c.canceledAt, c.at)
	}
	s.ProductKey = cmp.Or(c.productKey, s.ProductKey)
	s.ProviderPaymentID = cmp.Or(c.paymentID, s.ProviderPaymentID)
	if !c.periodStart.IsZero() || !c.periodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = c.periodStart, c.periodEnd
	}
	if c.status != "" || s.Status == statusUnknown { // otherwise the status still comes from the earlier event
		s.OccurredAt, s.EventID, s.StreamSeq = c.at, f.ID, int64(f.Seq)
	}
}

func (s *SubscriptionState) fill(c *change) {
	s.ProductKey = cmp.Or(s.ProductKey, c.productKey)
	s.ProviderPaymentID = cmp.Or(s.ProviderPaymentID, c.paymentID)
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = c.periodStart, c.periodEnd
	}
}
