package projections

import (
	"cmp"
	"strings"
	"time"
)

// SubscriptionState is one subscription of the provider, also while its user is
// unknown. Status, period and payment are those of the latest event by the
// provider's time, then by the order of the log.
type SubscriptionState struct {
	SubscriptionID     string    `db:"subscription_id,key"`
	UserID             string    `db:"user_id"`
	ProductKey         string    `db:"product_key"`
	Status             string    `db:"status"`
	CurrentPeriodStart time.Time `db:"current_period_start"`
	CurrentPeriodEnd   time.Time `db:"current_period_end"`
	CanceledAt         time.Time `db:"canceled_at"`
	ProviderPaymentID  string    `db:"provider_payment_id"`
	StartedAt          time.Time `db:"started_at"` // the earliest provider time of any of its events
	OccurredAt         time.Time `db:"occurred_at"`
	EventID            string    `db:"event_id"`
	StreamSeq          int64     `db:"stream_seq"`

	// What its events say that it is; only subscriptions are shown to their users.
	Kind string `db:"kind"`

	// What a checkout that started it left for its payments.
	SoldKind        string `db:"sold_kind"`
	SoldProductKey  string `db:"sold_product_key"`
	SoldCredits     *int64 `db:"sold_credits"`
	SoldLines       int64  `db:"sold_lines"` // see Payment; 0: nothing is left with it
	SoldValidMonths int64  `db:"sold_valid_months"`

	SoldGitHubUsername string    `db:"sold_github_username"` // whom its payments invite; see Payment
	SoldGitHubNamedAt  time.Time `db:"sold_github_named_at"`

	Holders int64 `db:"holders"` // of an implicit one: the payments and events that make it be there

	SoldRanks int64 `db:"sold_ranks"` // see Payment
}

const (
	statusActive   = "active"
	statusCanceled = "canceled"
	// statusUnknown is that of a subscription of which only an update without a
	// status has been heard. It is not live.
	statusUnknown = "unknown"
	// statusMerged is that of an implicit subscription whose payments turned out to
	// be of another one. It is not shown.
	statusMerged = "merged"
)

// LoadSubscription puts a subscription as the database has it.
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

// news is what an event, or a payment, says of a subscription.
type news struct {
	at, startedAt          time.Time
	status                 string // empty: the one it has
	user                   string
	kind                   Kind // empty: it does not say
	productKey             string
	paymentID              string
	periodStart, periodEnd time.Time
	canceledAt             time.Time
	sold                   Payment // what a checkout that starts it says of its payments
	holds                  int64   // see Holders
	aside                  bool    // it says nothing of status, product, payment and period
}

// setSubscription tells a subscription the news, claims what waited for its user,
// and chooses the user's current one again. News older than what the state knows
// only fill what is empty: Stale. A cancellation is final and applies whenever it
// comes, of several the earliest; but an implicit subscription is revived by the
// next payment.
func (r Rules) setSubscription(s *State, f *facts, key string, n news) Outcome {
	state, known := s.Subscriptions.Get(key)
	if !known || state.Status == statusMerged {
		known = false
		state = SubscriptionState{SubscriptionID: key, StartedAt: n.startedAt, Status: statusUnknown}
	}
	implicit := strings.HasPrefix(key, implicitPrefix)
	older, final := known && state.Status != statusUnknown && n.at.Before(state.OccurredAt), state.Status == statusCanceled && !implicit
	newest := !older && !final
	earliestCancellation := n.status == statusCanceled && !implicit && (older || !final)
	outcome := Applied
	switch {
	case n.aside && known:
	case newest || earliestCancellation:
		state.overwrite(f, n)
	default:
		outcome = Stale
		state.fill(n)
	}
	found := state.UserID == "" && n.user != ""
	state.UserID = cmp.Or(state.UserID, n.user)
	if n.startedAt.Before(state.StartedAt) && !n.aside {
		state.StartedAt = n.startedAt
	}
	state.Kind = shownKind(state.Kind, n.kind)
	state.sell(n.sold)
	state.Holders += n.holds
	s.putSubscription(state)
	if found {
		for _, p := range s.paymentsIn(key, func(p Payment) bool { return p.UserID == "" }) {
			r.touch(s, f, p)
		}
	}
	if state.UserID != "" {
		s.chooseSubscription(state.UserID)
	}
	return outcome
}

// shownKind: a subscription is one where any event says so.
func shownKind(a, b Kind) Kind {
	for _, kind := range []Kind{KindSubscription, KindPro, KindOneTime} {
		if a == kind || b == kind {
			return kind
		}
	}
	return ""
}

// sell keeps what a checkout that starts the subscription says of its payments.
func (s *SubscriptionState) sell(told Payment) {
	if told.Ranks == 0 {
		return
	}
	if told.rank(kindRank) == kindSaid {
		told.setRank(kindRank, kindWithSubscription)
	} else {
		told.setRank(kindRank, 0)
	}
	for _, of := range []int64{creditsRank, productRank} { // it names the order alone, and is not of one payment
		told.setRank(of, max(0, told.rank(of)-(soldByOrder-soldWithSubscription)))
	}
	if told.rank(productRank) == 0 {
		told.ProductKey = ""
	}
	sold := s.sold()
	if s.SoldKind != "" && told.rank(kindRank) > 0 {
		sold.Kind = shownKind(s.SoldKind, told.Kind)
	}
	sold.merge(told)
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

// sold is what the subscription knows of each of its payments.
func (s SubscriptionState) sold() Payment {
	p := Payment{
		Kind: s.SoldKind, ProductKey: s.SoldProductKey, Ranks: s.SoldRanks,
		Credits: s.SoldCredits, GrantLines: s.SoldLines, ValidMonths: s.SoldValidMonths,
	}
	p.nameGitHubUser(s.SoldGitHubUsername, s.SoldGitHubNamedAt)
	return p
}

func (s *SubscriptionState) overwrite(f *facts, n news) {
	s.Status, s.CanceledAt = cmp.Or(n.status, s.Status), time.Time{}
	if s.Status == statusCanceled {
		s.CanceledAt = firstTime(n.canceledAt, n.at)
	}
	s.ProductKey = cmp.Or(n.productKey, s.ProductKey)
	s.ProviderPaymentID = cmp.Or(n.paymentID, s.ProviderPaymentID)
	if !n.periodStart.IsZero() || !n.periodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = n.periodStart, n.periodEnd
	}
	if n.status != "" || s.Status == statusUnknown { // else who decided the status is still who did
		s.OccurredAt, s.EventID, s.StreamSeq = n.at, f.ID, int64(f.Seq)
	}
}

func (s *SubscriptionState) fill(n news) {
	s.ProductKey = cmp.Or(s.ProductKey, n.productKey)
	s.ProviderPaymentID = cmp.Or(s.ProviderPaymentID, n.paymentID)
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		s.CurrentPeriodStart, s.CurrentPeriodEnd = n.periodStart, n.periodEnd
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
