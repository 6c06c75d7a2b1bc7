package projections

import (
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// SubscriptionState is one subscription of the provider, or a name of one that an event has told. Its user can be unknown.
// Everything but its provider follows from its facts (see subscription_rule.go).
type SubscriptionState struct {
	SubscriptionID     string    `db:"subscription_id,key"`
	Provider           string    `db:"provider"` // empty for an implicit one
	UserID             string    `db:"user_id"`
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"` // empty if no event has given one
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	StartedAt          time.Time `db:"started_at"`  // the earliest provider's time of its events
	Kind               string    `db:"kind"`        // that its events name; it is shown only if this is empty or KindSubscription
	OccurredAt         time.Time `db:"occurred_at"` // of the event that decides the status
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`

	// The columns below are for the rules and for views. The view that people read does not have them.

	CountsUntil time.Time `db:"counts_until"` // until when its status counts; zero: no end is known
	Facts       Facts     `db:"facts"`
}

const implicitPrefix = "implicit:"

// ImplicitSubscription returns the id of a user's subscription for events that name none.
func ImplicitSubscription(user string) string { return implicitPrefix + user }

func (s *SubscriptionState) implicit() bool { return isImplicit(s.SubscriptionID) }

func isImplicit(subscription string) bool { return strings.HasPrefix(subscription, implicitPrefix) }

// Users lists the users whom the subscription's events name.
func (s *SubscriptionState) Users() []string { return addName(s.Facts.users(), s.UserID) }

// isShown reports whether the portal can show the subscription to its user.
func (s *SubscriptionState) isShown() bool {
	return s.Status != "" && (s.Kind == "" || s.Kind == KindSubscription)
}

// HasEnded reports whether a subscription of that status has ended, and with it a licence that lasts as long. A provider's
// word that payfold does not know ends nothing.
func HasEnded(status string) bool {
	return slices.Contains([]string{events.Canceled, events.Expired, events.Unpaid, events.Incomplete}, status)
}

// live lists the statuses of subscriptions that have not ended: those that give the user more come first.
var live = []string{events.Active, events.Trialing, events.ScheduledCancel, events.PastDue, events.Paused}

// standing returns the place of the subscription's status in live, or one after the last.
func (s *SubscriptionState) standing() int {
	if at := slices.Index(live, s.Status); at >= 0 {
		return at
	}
	return len(live)
}

// Subscription is the one subscription of a user that the portal shows.
type Subscription struct {
	UserID             string    `db:"user_id,key"`
	SubscriptionID     string    `db:"subscription_id"` // empty if the provider names none
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"`
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	OccurredAt         time.Time `db:"occurred_at"`
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`
}

// shown returns the subscription as the portal shows it.
func (s *SubscriptionState) shown() Subscription {
	id := s.SubscriptionID
	if s.implicit() {
		id = ""
	}
	return Subscription{
		UserID: s.UserID, SubscriptionID: id, ProductKey: s.ProductKey, Status: s.Status,
		CurrentPeriodStart: s.CurrentPeriodStart, CurrentPeriodEnd: s.CurrentPeriodEnd,
		CanceledAt: s.CanceledAt, ProviderPaymentID: s.ProviderPaymentID,
		OccurredAt: s.OccurredAt, EventID: s.EventID, StreamSeq: s.StreamSeq,
	}
}

// comesBefore orders the subscriptions of a user: the portal shows the first. One that gives the user more comes first,
// then one that the provider names, then the one that started last, then the last in the alphabet.
func (s *SubscriptionState) comesBefore(other *SubscriptionState) bool {
	if mine, others := s.standing(), other.standing(); mine != others {
		return mine < others
	}
	if s.implicit() != other.implicit() {
		return other.implicit()
	}
	if !s.StartedAt.Equal(other.StartedAt) {
		return s.StartedAt.After(other.StartedAt)
	}
	return s.SubscriptionID > other.SubscriptionID
}

// Shows reports whether the portal shows that subscription.
func (s Subscription) Shows(state SubscriptionState) bool {
	return s.SubscriptionID == state.SubscriptionID || s.SubscriptionID == "" && state.SubscriptionID == ImplicitSubscription(s.UserID)
}
