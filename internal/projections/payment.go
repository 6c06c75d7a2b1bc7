package projections

import (
	"cmp"
	"slices"
	"time"
)

// Payment is one payment of the provider: all that its events say of it, in
// whatever order they come (see merge), and who claimed it. It has up to two
// names, a transaction and an order. A payment without a user is unclaimed: the
// event that completes what is known of it claims it.
type Payment struct {
	ProviderPaymentID string    `db:"provider_payment_id,key"` // the transaction, else the order, it was first seen with
	OrderID           string    `db:"order_id"`
	SubscriptionID    string    `db:"subscription_id"`
	UserID            string    `db:"user_id"`
	Kind              string    `db:"kind"`
	ProductKey        string    `db:"product_key"`
	Amount            *int64    `db:"amount"`
	Currency          string    `db:"currency"`
	Credits           *int64    `db:"credits"`
	RefundedAmount    *int64    `db:"refunded_amount"`
	EventID           string    `db:"event_id"`
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`

	TransactionID string `db:"transaction_id"` // empty as long as only its order is known
	FirstOfOrder  bool   `db:"first_of_order"` // its order's id alone means this row

	ReversedAt time.Time `db:"reversed_at"` // the time of the reversal that left nothing of it

	GitHubUsername string    `db:"github_username"` // whom a licence invites
	GitHubNamedAt  time.Time `db:"github_named_at"` // the provider's time of the event that brought the name

	Buyer       string    `db:"buyer"`        // the user, as long as it is not claimed
	MergedInto  string    `db:"merged_into"`  // the payment that this row turned out to be; then it says nothing else but its name
	MergedID    string    `db:"merged_id"`    // the row that turned out to be this payment
	FirstAt     time.Time `db:"first_at"`     // the earliest provider's time of its claims; zero: none has come
	LastAt      time.Time `db:"last_at"`      // the latest, as long as a subscription has to be told
	PeriodStart time.Time `db:"period_start"` // as LastAt
	PeriodEnd   time.Time `db:"period_end"`
	GrantLines  int64     `db:"grant_lines"`  // the credits come in so many lines, one a month
	ValidMonths int64     `db:"valid_months"` // and expire after so many months; 0: never
	Ranks       int64     `db:"ranks"`        // who said what; see rank

	OtherUserID string `db:"other_user_id"` // whose MergedID was, or else this row, until both turned out to be one payment
}

// Ranks: what ranks higher goes before, whichever comes first. Each is a
// hexadecimal digit of Payment.Ranks; 0: nobody has said it.
const (
	amountRank  int64 = 0x1
	creditsRank int64 = 0x10
	productRank int64 = 0x100
	kindRank    int64 = 0x1000

	amountOfOrder       int64 = 1
	amountOfTransaction int64 = 2

	// What was sold, credits and product: by whom it is said, and added to that where
	// a catalogue knows it, by the product that the metadata or the provider names.
	soldWithSubscription int64 = 1 // by a checkout that started the subscription
	soldByOrder          int64 = 2 // by an event that names the order alone
	soldByTransaction    int64 = 3
	offeredByMetadata    int64 = 3
	offeredByProvider    int64 = 6

	productUnsold int64 = 1 // of a product; what was sold ranks above: rank of credits + 1

	kindImplied          int64 = 1 // by being of a subscription
	kindNotSold          int64 = 2 // metadata says it, of something that the catalogue does not sell
	kindWithSubscription int64 = 3
	kindSaid             int64 = 4
)

func (p *Payment) rank(of int64) int64 { return p.Ranks / of % 0x10 }

func (p *Payment) setRank(of, rank int64) { p.Ranks += (rank - p.rank(of)) * of }

// merge adds what another row, an event or a subscription says of the same
// payment. It does not matter in which order: what ranks higher is kept, of equals
// the largest.
func (p *Payment) merge(q Payment) {
	p.SubscriptionID = cmp.Or(p.SubscriptionID, q.SubscriptionID)
	p.UserID, p.Buyer = cmp.Or(p.UserID, q.UserID), cmp.Or(p.Buyer, q.Buyer)
	if q.rank(kindRank) > p.rank(kindRank) {
		p.Kind = q.Kind
		p.setRank(kindRank, q.rank(kindRank))
	}
	if q.ProductKey != "" && moreThan(p.ProductKey == "", q.rank(productRank)-p.rank(productRank), cmp.Compare(p.ProductKey, q.ProductKey)) {
		p.ProductKey = q.ProductKey
		p.setRank(productRank, q.rank(productRank))
	}
	if q.sellsMore(*p) {
		p.Credits, p.GrantLines, p.ValidMonths = q.Credits, q.GrantLines, q.ValidMonths
		p.setRank(creditsRank, q.rank(creditsRank))
	}
	p.mergeAmount(q)
	if !q.FirstAt.IsZero() && (p.FirstAt.IsZero() || q.FirstAt.Before(p.FirstAt)) {
		p.FirstAt = q.FirstAt
	}
	noPeriod := p.PeriodStart.IsZero() && p.PeriodEnd.IsZero()
	if says := !q.PeriodStart.IsZero() || !q.PeriodEnd.IsZero(); says && (noPeriod || !q.LastAt.Before(p.LastAt)) {
		p.PeriodStart, p.PeriodEnd = q.PeriodStart, q.PeriodEnd
	}
	if q.LastAt.After(p.LastAt) {
		p.LastAt = q.LastAt
	}
	p.nameGitHubUser(q.GitHubUsername, q.GitHubNamedAt)
	if p.rank(kindRank) == kindSaid && p.Kind != KindPro {
		p.GitHubUsername, p.GitHubNamedAt = "", time.Time{}
	}
}

// moreThan compares by the first that decides.
func moreThan[R cmp.Ordered](first bool, ranks R, then ...int) bool {
	var zero R
	if first || ranks != zero {
		return first || ranks > zero
	}
	return cmp.Or(then...) > 0
}

func (p *Payment) mergeAmount(q Payment) {
	if q.Amount == nil {
		return
	}
	if p.Amount == nil || moreThan(false, q.rank(amountRank)-p.rank(amountRank), cmp.Compare(*q.Amount, *p.Amount), cmp.Compare(q.Currency, p.Currency)) {
		p.Amount, p.Currency = q.Amount, cmp.Or(q.Currency, p.Currency)
		p.setRank(amountRank, q.rank(amountRank))
	}
	p.Currency = cmp.Or(p.Currency, q.Currency)
}

// sellsMore compares what two say was sold: the rank, then more. Without a catalogue
// any credits go before none; an offer of none says that there are none.
func (p Payment) sellsMore(than Payment) bool {
	rank, others := p.rank(creditsRank), than.rank(creditsRank)
	if rank == 0 {
		return false
	}
	order := cmp.Compare(rank, others)
	if some := cmp.Compare(p.creditsOrZero(), 0) - cmp.Compare(than.creditsOrZero(), 0); rank <= soldByTransaction {
		order = cmp.Or(some, order)
	}
	return cmp.Or(order, cmp.Compare(p.creditsOrZero(), than.creditsOrZero()),
		cmp.Compare(p.GrantLines, than.GrantLines), cmp.Compare(p.ValidMonths, than.ValidMonths)) > 0
}

func (p Payment) creditsOrZero() int64 {
	if p.Credits == nil {
		return 0
	}
	return *p.Credits
}

// nameGitHubUser keeps the name with the earliest provider's time, of several the
// smallest: the same one in whatever order the events come.
func (p *Payment) nameGitHubUser(name string, at time.Time) {
	if name == "" || p.GitHubUsername != "" && cmp.Or(at.Compare(p.GitHubNamedAt), cmp.Compare(name, p.GitHubUsername)) >= 0 {
		return
	}
	p.GitHubUsername, p.GitHubNamedAt = name, at
}

// sold says whether all is known of it but maybe its user.
func (p Payment) sold() bool {
	return !p.FirstAt.IsZero() && p.rank(creditsRank) > 0 && isKind(p.Kind) && (p.Kind != KindOneTime || p.Credits != nil)
}

// grants is the credits it ought to have granted.
func (p Payment) grants() int64 {
	if p.UserID == "" || p.Kind == KindPro {
		return 0
	}
	return p.creditsOrZero()
}

// subscription is the key of the one that it pays; empty for none.
func (p Payment) subscription() string {
	switch {
	case !p.sold():
		return ""
	case p.SubscriptionID != "":
		return p.SubscriptionID
	case p.Kind == KindSubscription && p.UserID != "":
		return ImplicitSubscription(p.UserID)
	}
	return ""
}

// LoadPayment puts a payment as the database has it.
func (s *State) LoadPayment(p Payment) {
	if _, here := s.Payments.Get(p.ProviderPaymentID); here {
		return
	}
	s.Payments.Load(p.ProviderPaymentID, p)
	s.indexPayment(Payment{}, p)
}

func (s *State) putPayment(p Payment) {
	before, _ := s.Payments.Get(p.ProviderPaymentID)
	if s.before != nil {
		if _, noted := s.before[p.ProviderPaymentID]; !noted {
			s.before[p.ProviderPaymentID] = before
		}
	}
	s.Payments.Put(p.ProviderPaymentID, p)
	s.indexPayment(before, p)
}

func (s *State) indexPayment(before, p Payment) {
	if p.TransactionID != "" {
		s.byTransaction[p.TransactionID] = p.ProviderPaymentID
	}
	if p.FirstOfOrder {
		s.byOrder[p.OrderID] = p.ProviderPaymentID
	}
	if before.Kind == KindPro && before.UserID != "" {
		delete(s.proOf[before.UserID], p.ProviderPaymentID)
	}
	if p.Kind == KindPro && p.UserID != "" {
		addTo(s.proOf, p.UserID, p.ProviderPaymentID)
	}
	if before.SubscriptionID != "" {
		delete(s.paymentsOf[before.SubscriptionID], p.ProviderPaymentID)
	}
	if p.SubscriptionID != "" {
		addTo(s.paymentsOf, p.SubscriptionID, p.ProviderPaymentID)
	}
}

// paymentsIn lists the payments of a subscription that are here, in the order of the log.
func (s *State) paymentsIn(subscription string, which func(Payment) bool) []Payment {
	var list []Payment
	for id := range s.paymentsOf[subscription] {
		if p, _ := s.Payments.Get(id); which(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Payment) int {
		return cmp.Or(cmp.Compare(a.StreamSeq, b.StreamSeq), cmp.Compare(a.ProviderPaymentID, b.ProviderPaymentID))
	})
	return list
}
