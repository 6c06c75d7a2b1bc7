package projections

import (
	"cmp"
	"time"
)

// Payment is one payment of the provider: who claimed it first, and for what.
// It has up to two names, a transaction and an order. A payment without a user
// is unclaimed: the event that brings the user of its subscription claims it. One
// without a kind has only been reversed so far.
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
	FirstOfOrder  bool   `db:"first_of_order"` // its order's id alone means this payment

	ReversedAt time.Time `db:"reversed_at"` // the time of the reversal that left nothing of it

	GitHubUsername string    `db:"github_username"` // whom a licence invites
	GitHubNamedAt  time.Time `db:"github_named_at"` // the provider's time of the event that brought the name
}

// LoadPayment puts a payment as the database has it.
func (s *State) LoadPayment(p Payment) {
	if _, here := s.Payments.Get(p.ProviderPaymentID); here {
		return
	}
	s.Payments.Load(p.ProviderPaymentID, p)
	s.indexPayment(p)
}

func (s *State) putPayment(p Payment) {
	if s.before != nil {
		if _, noted := s.before[p.ProviderPaymentID]; !noted {
			s.before[p.ProviderPaymentID], _ = s.Payments.Get(p.ProviderPaymentID)
		}
	}
	s.Payments.Put(p.ProviderPaymentID, p)
	s.indexPayment(p)
}

func (s *State) indexPayment(p Payment) {
	if p.TransactionID != "" {
		s.byTransaction[p.TransactionID] = p.ProviderPaymentID
	}
	if p.FirstOfOrder {
		s.byOrder[p.OrderID] = p.ProviderPaymentID
	}
	if p.Kind == KindPro && p.UserID != "" {
		addTo(s.proOf, p.UserID, p.ProviderPaymentID)
	}
	if p.SubscriptionID == "" || p.Kind == "" {
		return
	}
	if p.UserID != "" {
		delete(s.unclaimed[p.SubscriptionID], p.ProviderPaymentID)
		return
	}
	addTo(s.unclaimed, p.SubscriptionID, p.ProviderPaymentID)
}

// findPayment returns the payment that one of these names means. Two different
// transactions are two payments, whatever their order; the order decides only
// where one side has no transaction.
func (s *State) findPayment(transaction, order string) (Payment, bool) {
	charged, isCharged := s.paymentNamed(transaction, s.byTransaction)
	ordered, isOrdered := s.paymentNamed(order, s.byOrder)
	switch {
	case isCharged && charged.Kind == "" && isOrdered && ordered.Kind != "" && ordered.TransactionID == "":
		return ordered, true // the one that was paid; the other has only been reversed so far
	case isCharged:
		return charged, true
	case isOrdered && transaction != "" && ordered.TransactionID != "":
		return Payment{}, false
	}
	return ordered, isOrdered
}

// paymentNamed looks in the index of that kind of name, then among the names
// that payments were first seen with, which are unique whatever their kind.
func (s *State) paymentNamed(name string, index map[string]string) (Payment, bool) {
	if name == "" {
		return Payment{}, false
	}
	if id, ok := index[name]; ok {
		name = id
	}
	return s.Payments.Get(name)
}

// named returns the event's payment, known or new, with the names the event adds.
func (s *State) named(f *facts) Payment {
	p := f.payment
	if !f.known {
		p = Payment{ProviderPaymentID: f.PaymentID()}
	}
	if _, taken := s.byTransaction[f.Transaction]; p.TransactionID == "" && !taken {
		p.TransactionID = f.Transaction
	}
	if p.OrderID == "" && f.Order != "" {
		p.OrderID = f.Order
		_, taken := s.byOrder[f.Order]
		p.FirstOfOrder = !taken
	}
	return p
}

// fill takes over what the payment lacks and the event knows.
func (p *Payment) fill(f *facts, credits *int64) {
	p.SubscriptionID = cmp.Or(p.SubscriptionID, f.SubscriptionID)
	p.ProductKey = cmp.Or(p.ProductKey, f.ProductKey)
	if p.Amount == nil && f.Amount.Present {
		amount := f.Amount.Value
		p.Amount, p.Currency = &amount, cmp.Or(p.Currency, f.Currency)
	}
	if p.Credits == nil {
		p.Credits = credits
	}
	if f.kind == KindPro {
		p.nameGitHubUser(f.GitHubUser, f.OccurredAt)
	}
}

// nameGitHubUser keeps the name with the earliest provider's time, of several the
// smallest: the same one in whatever order the events come.
func (p *Payment) nameGitHubUser(name string, at time.Time) {
	if name == "" || p.GitHubUsername != "" && cmp.Or(at.Compare(p.GitHubNamedAt), cmp.Compare(name, p.GitHubUsername)) >= 0 {
		return
	}
	p.GitHubUsername, p.GitHubNamedAt = name, at
}
