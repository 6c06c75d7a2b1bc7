package projections

import (
	"cmp"
	"strings"
	"time"
)

// SubscriptionState is one subscription of the provider. Its user can be unknown. Status,
// period and payment come from the latest event by the provider's time, then by the order of
// the log.
type SubscriptionState struct {
	SubscriptionID     string    `db:"subscription_id,key"`
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

	// Kind is what its events say. Only subscriptions are shown to their users.
	Kind string `db:"kind"`

	// Sold… is what a checkout that started the subscription says of its payments.
	SoldKind        string `db:"sold_kind"`
	SoldProductKey  string `db:"sold_product_key"`
	SoldCredits     *int64 `db:"sold_credits"`
	SoldLines       int64  `db:"sold_lines"` // see Payment; 0 if no checkout said what was sold
	SoldValidMonths int64  `db:"sold_valid_months"`

	SoldGitHubUsername string    `db:"sold_github_username"` // the user whom its payments invite; see Payment
	SoldGitHubNamedAt  time.Time `db:"sold_github_named_at"`

	Holders int64 `db:"holders"` // of an implicit one: the number of payments and events that refer to it

	SoldRanks int64 `db:"sold_ranks"` // see Payment
}

const (
	statusActive   = "active"
	statusCanceled = "canceled"
	// statusUnknown: no event has given a status yet. The subscription is not live.
	statusUnknown = "unknown"
	// statusMerged: all payments of an implicit subscription belong to another one now. It is
	// not shown.
	statusMerged = "merged"
)

// LoadSubscription adds a subscription of the database. One that is already here stays.
func (s *State) LoadSubscription(row SubscriptionState) {
	if _, here := s.Subscriptions.Get(row.SubscriptionID); here {
		return
	}
	s.Subscriptions.Load(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) putSubscription(row SubscriptionState) {
	before, _ := s.Subscriptions.Get(row.SubscriptionID)
	if before.UserID != "" && before.UserID != row.UserID {
		delete(s.ofUser[before.UserID], row.SubscriptionID)
	}
	s.Subscriptions.Put(row.SubscriptionID, row)
	s.indexSubscription(row)
}

func (s *State) indexSubscription(row SubscriptionState) {
	if row.UserID != "" {
		addTo(s.ofUser, row.UserID, row.SubscriptionID)
	}
}

func addTo(index map[string]map[string]bool, key, member string) {
	if index[key] == nil {
		index[key] = map[string]bool{}
	}
	index[key][member] = true
}

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
	sold                   Payment // what a checkout that starts it says of its payments; see sell
	holders                int64   // is added to Holders
	ownerOnly              bool    // it says nothing of status, product, payment or period
}

// setSubscription applies a change to a subscription, claims the payments that waited for its
// user, and chooses the user's current subscription again. A change that is older than the
// state only fills empty fields; it is Stale. A cancellation is final and applies in any order;
// of several, the earliest counts. Only an implicit subscription is revived, by its next
// payment.
func (r Rules) setSubscription(s *State, f *facts, key string, c change) Outcome {
	state, known := s.Subscriptions.Get(key)
	if !known || state.Status == statusMerged {
		known = false
		state = SubscriptionState{SubscriptionID: key, StartedAt: c.startedAt, Status: statusUnknown}
	}
	implicit := strings.HasPrefix(key, implicitPrefix)
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
	if c.startedAt.Before(state.StartedAt) && !c.ownerOnly {
		state.StartedAt = c.startedAt
	}
	state.Kind = shownKind(state.Kind, c.kind)
	state.sell(c.sold)
	state.Holders += c.holders
	s.putSubscription(state)
	if found {
		for _, p := range s.paymentsIn(key, func(p Payment) bool { return p.UserID == "" }) {
			r.recompute(s, f, p)
		}
	}
	if state.UserID != "" {
		s.chooseSubscription(state.UserID)
	}
	return outcome
}

// shownKind merges two kinds. If one event says that it is a subscription, it is one.
func shownKind(a, b Kind) Kind {
	for _, kind := range []Kind{KindSubscription, KindPro, KindOneTime} {
		if a == kind || b == kind {
			return kind
		}
	}
	return ""
}

// sell merges what a checkout that starts the subscription says of its payments.
func (s *SubscriptionState) sell(said Payment) {
	if said.Ranks == 0 {
		return
	}
	if said.rank(kindRank) == kindSaid {
		said.setRank(kindRank, kindWithSubscription)
	} else {
		said.setRank(kindRank, 0)
	}
	for _, of := range []int64{creditsRank, productRank} { // the checkout names only the order, and is not about one payment
		said.setRank(of, max(0, said.rank(of)-(soldByOrder-soldWithSubscription)))
	}
	if said.rank(productRank) == 0 {
		said.ProductKey = ""
	}
	sold := s.sold()
	if s.SoldKind != "" && said.rank(kindRank) > 0 {
		sold.Kind = shownKind(s.SoldKind, said.Kind)
	}
	sold.merge(said)
	if sold.rank(kindRank) > 0 {
		s.SoldKind = sold.Kind
	}
	s.SoldProductKey, s.SoldCredits, s.SoldLines, s.SoldValidMonths = sold.ProductKey, sold.Credits, sold.GrantLines, sold.ValidMonths
	s.SoldRanks = sold.Ranks - sold.rank(amountRank)
	s.SoldGitHubUsername, s.SoldGitHubNamedAt = sold.GitHubUsername, sold.GitHubNamedAt
	if s.SoldKind != "" && s.SoldKind != KindPro {
		s.SoldGitHubUsername, s.SoldGitHubNamedAt = "", time.Time{}
	}
}

// sold returns what the subscription says of each of its payments.
func (s SubscriptionState) sold() Payment {
	p := Payment{
		Kind: s.SoldKind, ProductKey: s.SoldProductKey, Ranks: s.SoldRanks,
		Credits: s.SoldCredits, GrantLines: s.SoldLines, ValidMonths: s.SoldValidMonths,
	}
	p.nameGitHubUser(s.SoldGitHubUsername, s.SoldGitHubNamedAt)
	return p
}

func (s *SubscriptionState) overwrite(f *facts, c change) {
	s.Status, s.CanceledAt = cmp.Or(c.status, s.Status), time.Time{}
	if s.Status == statusCanceled {
		s.CanceledAt = firstTime(c.canceledAt, c.at)
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

func (s *SubscriptionState) fill(c change) {
	s.ProductKey = cmp.Or(s.ProductKey, c.productKey)
	s.ProviderPaymentID = cmp.Or(s.ProviderPaymentID, c.paymentID)
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = c.periodStart, c.periodEnd
	}
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
