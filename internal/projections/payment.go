package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
)

// Payment is one payment of the provider: the merge of what all its events say (see merge),
// and the user for whom it is claimed. It has up to two names, a transaction and an order.
// A payment without a user is unclaimed. The event that makes it complete claims it.
type Payment struct {
	ProviderPaymentID string    `db:"provider_payment_id,key"` // the transaction, or else the order, from the first event that named the payment
	Provider          string    `db:"provider"`
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

	TransactionID string `db:"transaction_id"` // empty while only the order is known
	FirstOfOrder  bool   `db:"first_of_order"` // an event that names only the order means this payment

	ReversedAt time.Time `db:"reversed_at"` // the time of the reversal after which nothing was left

	GitHubUsername string    `db:"github_username"` // the user whom a licence invites
	GitHubNamedAt  time.Time `db:"github_named_at"` // the provider's time of the event that brought the name

	Buyer       string    `db:"buyer"`        // the user, while the payment is unclaimed
	MergedInto  string    `db:"merged_into"`  // if set, this row is only another name of that payment
	MergedID    string    `db:"merged_id"`    // the row that is another name of this payment
	FirstAt     time.Time `db:"first_at"`     // the earliest provider's time of its claims; zero if there is none
	LastAt      time.Time `db:"last_at"`      // the latest; zero after the payment has updated the subscription that it names
	PeriodStart time.Time `db:"period_start"` // like PeriodEnd, zero if LastAt is zero
	PeriodEnd   time.Time `db:"period_end"`
	GrantLines  int64     `db:"grant_lines"`  // number of ledger lines of the credits, one a month
	ValidMonths int64     `db:"valid_months"` // until the credits expire; 0: never
	Ranks       int64     `db:"ranks"`        // the rank of each value's source; see amountRank

	OtherUserID string `db:"other_user_id"` // the other user, if two rows of two users became this payment
}

// The ranks of the sources of a payment's values. A value from a source of higher rank wins,
// in any order of arrival. Each rank is a hexadecimal digit of Payment.Ranks; 0 means that no
// source has given the value.
const (
	amountRank  int64 = 0x1
	creditsRank int64 = 0x10
	productRank int64 = 0x100
	kindRank    int64 = 0x1000
	githubRank  int64 = 0x10000
	buyerRank   int64 = 0x100000
	statedRank  int64 = 0x1000000 // not a rank: the number of statedKind in shownKinds

	amountOfOrder       int64 = 1
	amountOfTransaction int64 = 2

	// The rank of the credits is one of the next three. If a catalogue has the product, one of
	// the last two is added.
	soldWithSubscription int64 = 1 // a checkout that started the subscription
	soldByOrder          int64 = 2 // an event that names only the order
	soldByTransaction    int64 = 3 // an event that names the transaction
	offeredByMetadata    int64 = 3 // the metadata names the product
	offeredByProvider    int64 = 6 // the provider names the product

	// The rank of a product is the rank of the credits + 1, or this if the credits have no rank.
	productUnsold int64 = 1

	kindImplied        int64 = 1 // the event belongs to a subscription
	kindNotSold        int64 = 2 // the metadata says the kind, but the catalogue does not have the product
	kindOfSubscription int64 = 3 // see SubscriptionState.sold
	kindSaid           int64 = 4 // the payment's own event or the catalogue says the kind

	// The ranks of the GitHub user and of the buyer.
	ofSubscription int64 = 1
	ofPayment      int64 = 2 // the payment's own event names the user
)

func (p *Payment) rank(of int64) int64 { return p.Ranks / of % 0x10 }

func (p *Payment) setRank(of, rank int64) { p.Ranks += (rank - p.rank(of)) * of }

// merge adds what another row, an event or a subscription says of the same payment. The value of higher rank wins;
// between equal ranks, a fixed order of the values decides. So amount, credits, product, times and GitHub user do not
// depend on the order of merges. The first user and the first subscription stay, and without a catalogue the first of
// two kinds with equal rank. The last of two periods with the same time wins. An offer of the catalogue wins as a
// whole: the kind and the product are those of the credits.
func (p *Payment) merge(q *Payment) {
	p.SubscriptionID = cmp.Or(p.SubscriptionID, q.SubscriptionID)
	p.UserID = cmp.Or(p.UserID, q.UserID)
	p.nameBuyer(q.Buyer, q.rank(buyerRank))
	productOrder := cmp.Or(cmp.Compare(q.rank(productRank), p.rank(productRank)), cmp.Compare(p.ProductKey, q.ProductKey))
	kindOrder := cmp.Compare(q.rank(kindRank), p.rank(kindRank))
	if kindOrder == 0 && q.rank(kindRank) == kindNotSold {
		kindOrder = cmp.Compare(q.Kind, p.Kind)
	}
	kindWins := kindOrder > 0
	productWins := q.ProductKey != "" && (p.ProductKey == "" || productOrder > 0)
	creditsWin, offered := q.sellsMore(p), p.offered() || q.offered()
	if offered {
		kindWins, productWins = creditsWin, creditsWin
	}
	if kindWins {
		p.Kind = q.Kind
		p.setRank(kindRank, q.rank(kindRank))
	}
	if productWins {
		p.ProductKey = q.ProductKey
		p.setRank(productRank, q.rank(productRank))
	}
	if creditsWin {
		p.Credits, p.GrantLines, p.ValidMonths = q.Credits, q.GrantLines, q.ValidMonths
		p.setRank(creditsRank, q.rank(creditsRank))
	}
	p.setRank(statedRank, max(p.rank(statedRank), q.rank(statedRank)))
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
	p.nameGitHubUser(q.GitHubUsername, q.GitHubNamedAt, q.rank(githubRank))
	if !offered && p.rank(kindRank) == kindSaid && p.Kind != KindPro {
		p.forgetGitHubUser()
	}
}

// nameBuyer keeps the user of higher rank; of two of equal rank, the first.
func (p *Payment) nameBuyer(user string, rank int64) {
	if user != "" && (p.user() == "" || rank > p.rank(buyerRank)) {
		p.Buyer = user
		p.setRank(buyerRank, rank)
	}
}

// offered reports whether what was sold comes from an offer of the catalogue.
func (p *Payment) offered() bool { return p.rank(creditsRank) > soldByTransaction }

func (p *Payment) mergeAmount(q *Payment) {
	if q.Amount == nil {
		return
	}
	order := cmp.Compare(q.rank(amountRank), p.rank(amountRank))
	if p.Amount == nil || cmp.Or(order, cmp.Compare(*q.Amount, *p.Amount), cmp.Compare(q.Currency, p.Currency)) > 0 {
		p.Amount, p.Currency = q.Amount, cmp.Or(q.Currency, p.Currency)
		p.setRank(amountRank, q.rank(amountRank))
	}
	p.Currency = cmp.Or(p.Currency, q.Currency)
}

// sellsMore compares what was sold: first by rank, then by amount. Without a catalogue, any credits
// win over none, whatever their ranks. With a catalogue, an offer without credits grants none; of two
// offers that grant the same, the kind and the product decide.
func (p *Payment) sellsMore(than *Payment) bool {
	order := cmp.Compare(p.rank(creditsRank), than.rank(creditsRank))
	if some := cmp.Compare(orZero(p.Credits), 0) - cmp.Compare(orZero(than.Credits), 0); !p.offered() {
		order = cmp.Or(some, order)
	}
	return cmp.Or(order, cmp.Compare(orZero(p.Credits), orZero(than.Credits)),
		cmp.Compare(p.GrantLines, than.GrantLines), cmp.Compare(p.ValidMonths, than.ValidMonths),
		cmp.Compare(p.Kind, than.Kind), cmp.Compare(than.ProductKey, p.ProductKey)) > 0
}

// orZero returns a number; 0 if it is absent.
func orZero(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}

// nameGitHubUser keeps the name of higher rank; of two names of equal rank, the one with the earlier provider's time;
// of two with the same time, the smaller. So the result does not depend on the order of the events.
func (p *Payment) nameGitHubUser(name string, at time.Time, rank int64) {
	order := cmp.Or(cmp.Compare(p.rank(githubRank), rank), at.Compare(p.GitHubNamedAt), cmp.Compare(name, p.GitHubUsername))
	if name == "" || p.GitHubUsername != "" && order >= 0 {
		return
	}
	p.GitHubUsername, p.GitHubNamedAt = name, at
	p.setRank(githubRank, rank)
}

func (p *Payment) forgetGitHubUser() {
	p.GitHubUsername, p.GitHubNamedAt = "", time.Time{}
	p.setRank(githubRank, 0)
}

// complete reports whether everything about the payment is known, except perhaps its user.
func (p *Payment) complete() bool {
	return !p.FirstAt.IsZero() && p.rank(creditsRank) > 0 && isKind(p.Kind) && (p.Kind != KindOneTime || p.Credits != nil)
}

// creditsDue returns the credits that the payment must have granted.
func (p *Payment) creditsDue() int64 {
	if p.UserID == "" || p.Kind == KindPro {
		return 0
	}
	return orZero(p.Credits)
}

// inOtherMonths reports whether the payment is claimed like the other one, for the same user and as the same kind, but
// its credits become available or expire in other months.
func (p *Payment) inOtherMonths(than *Payment) bool {
	return p.UserID != "" && p.UserID == than.UserID && p.Kind == than.Kind &&
		(max(p.GrantLines, 1) != max(than.GrantLines, 1) || p.ValidMonths != than.ValidMonths)
}

// subscription returns the key of the subscription that the payment pays; empty if none.
func (p *Payment) subscription() string {
	switch {
	case !p.complete():
		return ""
	case p.SubscriptionID != "":
		return p.SubscriptionID
	case p.Kind == KindSubscription && p.UserID != "":
		return ImplicitSubscription(p.UserID)
	}
	return ""
}

func (p *Payment) user() string { return cmp.Or(p.UserID, p.Buyer) }

// licensed returns the user whose licence the payment can give; empty if it gives none.
func (p *Payment) licensed() string {
	if p.Kind == KindPro {
		return p.UserID
	}
	return ""
}

// ids returns the payment ids that its ledger lines and reversals may have.
func (p *Payment) ids() []string {
	if p.MergedID == "" {
		return []string{p.ProviderPaymentID}
	}
	return []string{p.ProviderPaymentID, p.MergedID}
}

// statedKind returns the kind that the payment's own events or their offers say; empty if none does. If offers say
// several, it is that which shownKind prefers, and the payment's Kind can be another one.
func (p *Payment) statedKind() Kind { return shownKinds[p.rank(statedRank)] }

// stateKind sets the kind that an event or its offer says.
func (p *Payment) stateKind(kind Kind) {
	p.Kind = kind
	p.setRank(kindRank, kindSaid)
	p.setRank(statedRank, int64(max(0, slices.Index(shownKinds, kind))))
}

// Kind is what was bought.
type Kind = catalogue.Kind

// The kinds.
const (
	KindSubscription = catalogue.Subscription
	KindOneTime      = catalogue.OneTime
	KindPro          = catalogue.Pro
)

func isKind(kind Kind) bool {
	return kind == KindSubscription || kind == KindOneTime || kind == KindPro
}
