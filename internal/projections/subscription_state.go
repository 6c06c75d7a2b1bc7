package projections

import (
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// SubscriptionState is one subscription of the provider. Its user can be unknown. Status,
// period and payment come from the latest event by the provider's time, then by the order of
// the log. But a cancellation is final (see setSubscription).
type SubscriptionState struct {
	SubscriptionID     string    `db:"subscription_id,key"`
	Provider           string    `db:"provider"` // empty for an implicit one
	UserID             string    `db:"user_id"`
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"`
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	StartedAt          time.Time `db:"started_at"` // the earliest provider's time of its events
	OccurredAt         time.Time `db:"occurred_at"`
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`

	// Kind is the kind that its events say. It is shown to its user only if that is empty or
	// KindSubscription.
	Kind string `db:"kind"`

	// NamedKind is the kind that the events say which name the subscription, except those that start it. Under a
	// catalogue it is empty.
	NamedKind string `db:"named_kind"`

	// Sold… is what a checkout that started the subscription says of its payments.
	SoldKind        string `db:"sold_kind"`
	SoldProductKey  string `db:"sold_product_key"`
	SoldCredits     *int64 `db:"sold_credits"`
	SoldLines       int64  `db:"sold_lines"` // see Payment; 0 if no checkout said what was sold
	SoldValidMonths int64  `db:"sold_valid_months"`

	// The user whom its payments invite if their own events name none; see Payment. Events that say the NamedKind KindPro
	// name this user, too.
	SoldGitHubUsername string    `db:"sold_github_username"`
	SoldGitHubNamedAt  time.Time `db:"sold_github_named_at"`

	Holders int64 `db:"holders"` // of an implicit subscription: the number of payments and events that refer to it

	SoldRanks int64 `db:"sold_ranks"` // see Payment
}

const (
	statusActive   = "active"
	statusCanceled = "canceled"
	// statusUnknown: no event has given a status yet (see statusOf). The subscription is not live.
	statusUnknown = "unknown"
	// statusMerged is the status of a subscription for which Merged reports true. A provider may give
	// any subscription this status, too.
	statusMerged = "merged"
)

const implicitPrefix = "implicit:"

// ImplicitSubscription returns the id of a user's subscription for events that name none.
func ImplicitSubscription(user string) string { return implicitPrefix + user }

func (s *SubscriptionState) implicit() bool {
	return strings.HasPrefix(s.SubscriptionID, implicitPrefix)
}

// Merged reports whether nothing refers to an implicit subscription any more. Such a subscription is not shown.
func (s *SubscriptionState) Merged() bool { return s.implicit() && s.Holders <= 0 }

func (s *SubscriptionState) live() bool {
	switch s.Status {
	case statusActive, "trialing", "past_due", "scheduled_cancel", "paused":
		return true
	}
	return false
}

// shownKinds lists the kinds. Of two that events say of one subscription, the later in the list counts: if one event
// says that it is a subscription, it is one.
var shownKinds = []Kind{"", KindOneTime, KindPro, KindSubscription}

// shownKind merges two kinds.
func shownKind(a, b Kind) Kind {
	return shownKinds[max(0, slices.Index(shownKinds, a), slices.Index(shownKinds, b))]
}

// sell merges what a checkout that starts the subscription says of its payments.
func (s *SubscriptionState) sell(said Payment) {
	kind := said.statedKind()
	if kind == "" || kind == KindPro {
		s.nameGitHubUser(said.GitHubUsername, said.GitHubNamedAt)
	}
	for _, of := range []int64{creditsRank, productRank} { // the checkout names only the order, and is about all payments
		said.setRank(of, max(0, said.rank(of)-(soldByOrder-soldWithSubscription)))
	}
	if said.rank(productRank) == 0 {
		said.ProductKey = ""
	}
	sold := s.sold()
	sold.merge(&said)
	s.SoldKind = shownKind(s.SoldKind, kind)
	if sold.offered() {
		s.SoldKind = sold.Kind
	}
	s.SoldProductKey, s.SoldCredits, s.SoldLines, s.SoldValidMonths = sold.ProductKey, sold.Credits, sold.GrantLines, sold.ValidMonths
	s.SoldRanks = creditsRank*sold.rank(creditsRank) + productRank*sold.rank(productRank)
}

// isChangedBy reports whether nameKind would change the row.
func (s *SubscriptionState) isChangedBy(e *events.Event) bool {
	now := *s
	now.nameKind(e)
	return now != *s
}

// nameKind merges what an event that names the subscription says of all of its payments.
func (s *SubscriptionState) nameKind(e *events.Event) {
	s.NamedKind = shownKind(s.NamedKind, e.Kind)
	if e.Kind == KindPro {
		s.nameGitHubUser(e.GitHubUser, e.OccurredAt)
	}
}

func (s *SubscriptionState) nameGitHubUser(name string, at time.Time) {
	sold := s.sold()
	sold.nameGitHubUser(name, at, ofSubscription)
	s.SoldGitHubUsername, s.SoldGitHubNamedAt = sold.GitHubUsername, sold.GitHubNamedAt
}

// sold returns what the subscription says of each of its payments. The kind is that of a checkout that started it. If
// there is none, it is KindPro if an event that names the subscription says so, and none says KindSubscription.
func (s *SubscriptionState) sold() Payment {
	p := Payment{
		Kind: s.SoldKind, ProductKey: s.SoldProductKey, Ranks: s.SoldRanks,
		Credits: s.SoldCredits, GrantLines: s.SoldLines, ValidMonths: s.SoldValidMonths,
	}
	if p.Kind == "" && s.NamedKind == KindPro {
		p.Kind = KindPro
	}
	if p.Kind != "" {
		p.setRank(kindRank, kindOfSubscription)
	}
	p.nameGitHubUser(s.SoldGitHubUsername, s.SoldGitHubNamedAt, ofSubscription)
	return p
}
