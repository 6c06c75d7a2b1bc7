package projections

import (
	"time"

	"github.com/payfold/payfold/internal/catalogue"
)

// Payment is one payment of the provider, or a name of one that an event has told. It has up to two names, a transaction
// and an order. Everything but the names follows from its facts, its subscription and its reversals (see payment_rule.go).
type Payment struct {
	ProviderPaymentID  string    `db:"provider_payment_id,key"` // the transaction, or else the order, from the first event that named it
	Provider           string    `db:"provider"`
	TransactionID      string    `db:"transaction_id"`       // empty while only the order is known
	OrderID            string    `db:"order_id"`             // no two payments have one; an event that names only the order means this payment
	ProviderCheckoutID string    `db:"provider_checkout_id"` // several payments can have one
	SubscriptionID     string    `db:"subscription_id"`
	UserID             string    `db:"user_id"` // empty until it is claimed
	Kind               string    `db:"kind"`
	ProductKey         string    `db:"product_key"`
	Amount             *int64    `db:"amount"`
	Currency           string    `db:"currency"`
	Credits            *int64    `db:"credits"` // that it grants in all
	RefundedAmount     *int64    `db:"refunded_amount"`
	PeriodStart        time.Time `db:"period_start"`
	PeriodEnd          time.Time `db:"period_end"`
	ReversedAt         time.Time `db:"reversed_at"` // the time of the reversal after which nothing was left
	GitHubUsername     string    `db:"github_username"`
	EventID            string    `db:"event_id"` // the first event that says that it was paid
	OccurredAt         time.Time `db:"occurred_at"`
	StreamSeq          int64     `db:"stream_seq"`

	// The columns below are for the rules. The view that people read does not have them.

	Paid        bool   `db:"paid"`         // an event says that it was paid
	Known       bool   `db:"known"`        // everything but its user is known
	Joined      bool   `db:"joined"`       // the row that had its order's name turned out to be this payment
	Lasts       bool   `db:"lasts"`        // its licence ends with its subscription
	ReversedBy  string `db:"reversed_by"`  // the event of the reversal after which nothing was left
	ReversedSeq int64  `db:"reversed_seq"` // of that event
	Facts       Facts  `db:"facts"`
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

// subscriptions lists the subscriptions that the events of a payment name.
func (f Facts) subscriptions() (all []string) {
	for _, one := range f {
		if one.Says != Sold {
			all = addName(all, one.Subscription)
		}
	}
	return all
}

// Users lists the users whom the payment's events name, and the one who has claimed it.
func (p *Payment) Users() []string { return addName(p.Facts.users(), p.UserID) }

// Subscriptions lists the subscriptions to which the payment's facts can belong.
func (p *Payment) Subscriptions() []string {
	all := p.Facts.subscriptions()
	if len(all) == 0 {
		for _, user := range p.Users() {
			all = append(all, ImplicitSubscription(user))
		}
	}
	return all
}

// isGone reports whether the row turned out to be the same payment as another one, which has its names and facts now.
func (p *Payment) isGone() bool { return p.TransactionID == "" && p.OrderID == "" }

// ids returns the payment ids that its reversals may have.
func (p *Payment) ids() []string {
	if p.isGone() {
		return nil
	}
	if !p.Joined { // the order's name can be the transaction of another payment
		return []string{p.ProviderPaymentID}
	}
	return []string{p.ProviderPaymentID, p.OrderID}
}

// licensed returns the user whose licence the payment can give; empty if it gives none.
func (p *Payment) licensed() string {
	if p.Kind == KindPro {
		return p.UserID
	}
	return ""
}

// Period returns the period of the user's subscription that the payment pays; the zero value if the period is not known, or
// the payment is not claimed, or nothing of it is left.
func (p *Payment) Period() Period {
	if p.SubscriptionID == "" || p.PeriodEnd.IsZero() || p.UserID == "" || p.Kind != KindSubscription || !p.ReversedAt.IsZero() {
		return Period{}
	}
	return Period{p.SubscriptionID, p.PeriodEnd.UnixMicro(), p.UserID}
}

// Period is one period of one subscription of a user.
type Period struct {
	subscription string
	end          int64 // in microseconds since 1970
	user         string
}

// orZero returns a number; 0 if it is absent.
func orZero(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}

// addName adds a name that is neither empty nor in the list.
func addName(list []string, name string) []string {
	for _, has := range list {
		if has == name {
			return list
		}
	}
	if name == "" {
		return list
	}
	return append(list, name)
}

// firstSubscription returns the subscription of the first fact of a payment that names one.
func (f Facts) firstSubscription() string {
	for _, one := range f {
		if one.Subscription != "" && one.Says != Sold {
			return one.Subscription
		}
	}
	return ""
}
