package events

// This file lists the parts of a body that the rules read, and their keys. Everything else is
// skipped, because a provider adds fields and event types without notice. Each part clears
// itself before it reads, so that of a repeated key only the last value counts.

type object struct {
	ref
	ID, Mode, Status, SubscriptionID, UserID, UserIDCamel            scalar
	PaymentID, LastTxnID, Credits, Units                             scalar
	Amount, AmountPaid, RefundAmount, Currency                       scalar
	PeriodStart, PeriodEnd, PeriodStartISO, PeriodEndISO, CanceledAt scalar
	Metadata                                                         metadata
	Customer                                                         customer
	Product                                                          identity
	Order                                                            order
	Subscription, Checkout                                           nested
	Transaction, LastTxn                                             transaction
	Items                                                            items
}

func (o *object) read(s *scanner) {
	*o = object{}
	for o.open(s); o.whole && s.next(); {
		switch string(s.key) {
		case "id":
			o.ID.read(s)
		case "mode":
			o.Mode.read(s)
		case "metadata":
			o.Metadata.read(s)
		case "customer":
			o.Customer.read(s)
		case "product":
			o.Product.read(s)
		case "order":
			o.Order.read(s)
		case "subscription":
			o.Subscription.read(s)
		case "checkout":
			o.Checkout.read(s)
		case "transaction":
			o.Transaction.read(s)
		case "last_transaction":
			o.LastTxn.read(s)
		case "last_transaction_id":
			o.LastTxnID.read(s)
		case "provider_payment_id":
			o.PaymentID.read(s)
		case "subscription_id":
			o.SubscriptionID.read(s)
		case "user_id":
			o.UserID.read(s)
		case "userId":
			o.UserIDCamel.read(s)
		case "credits":
			o.Credits.read(s)
		case "units":
			o.Units.read(s)
		case "items":
			o.Items.read(s)
		case "status":
			o.Status.read(s)
		case "canceled_at":
			o.CanceledAt.read(s)
		case "refund_amount":
			o.RefundAmount.read(s)
		case "amount_paid":
			o.AmountPaid.read(s)
		case "amount":
			o.Amount.read(s)
		case "currency":
			o.Currency.read(s)
		case "current_period_start_date":
			o.PeriodStartISO.read(s)
		case "current_period_end_date":
			o.PeriodEndISO.read(s)
		case "current_period_start":
			o.PeriodStart.read(s)
		case "current_period_end":
			o.PeriodEnd.read(s)
		default:
			s.skip()
		}
	}
}

type metadata struct {
	ref
	Kind, ProductKey, Key, Credits, PaymentID          scalar
	UserID, UserIDCamel, ReferenceID, ReferenceIDCamel scalar
	GitHubUsername, GitHubCamel, GitHubLogin, GitHub   scalar
}

func (m *metadata) read(s *scanner) {
	*m = metadata{}
	for m.open(s); m.whole && s.next(); {
		switch string(s.key) {
		case "kind":
			m.Kind.read(s)
		case "user_id":
			m.UserID.read(s)
		case "userId":
			m.UserIDCamel.read(s)
		case "reference_id":
			m.ReferenceID.read(s)
		case "referenceId":
			m.ReferenceIDCamel.read(s)
		case "provider_payment_id":
			m.PaymentID.read(s)
		case "product_key":
			m.ProductKey.read(s)
		case "key":
			m.Key.read(s)
		case "credits":
			m.Credits.read(s)
		case "github_username":
			m.GitHubUsername.read(s)
		case "githubUsername":
			m.GitHubCamel.read(s)
		case "github_login":
			m.GitHubLogin.read(s)
		case "github":
			m.GitHub.read(s)
		default:
			s.skip()
		}
	}
}

type customer struct {
	identity
	ExternalID scalar
	Metadata   metadata
}

func (c *customer) read(s *scanner) {
	*c = customer{}
	for c.open(s); c.whole && s.next(); {
		switch string(s.key) {
		case "id":
			c.ID.read(s)
		case "external_id":
			c.ExternalID.read(s)
		case "metadata":
			c.Metadata.read(s)
		default:
			s.skip()
		}
	}
}

type identity struct {
	ref
	ID scalar
}

func (i *identity) read(s *scanner) {
	*i = identity{}
	for i.open(s); i.whole && s.next(); {
		switch string(s.key) {
		case "id":
			i.ID.read(s)
		default:
			s.skip()
		}
	}
}

type nested struct {
	ref
	ID       scalar
	Customer identity
	Metadata metadata
}

func (n *nested) read(s *scanner) {
	*n = nested{}
	for n.open(s); n.whole && s.next(); {
		switch string(s.key) {
		case "id":
			n.ID.read(s)
		case "customer":
			n.Customer.read(s)
		case "metadata":
			n.Metadata.read(s)
		default:
			s.skip()
		}
	}
}

// bill has the amounts of an order or a transaction.
type bill struct{ Amount, Due, Discount scalar }

// read reads one field; false if the key is not one of a bill.
func (b *bill) read(s *scanner) bool {
	switch string(s.key) {
	case "amount":
		b.Amount.read(s)
	case "amount_due":
		b.Due.read(s)
	case "discount_amount":
		b.Discount.read(s)
	default:
		return false
	}
	return true
}

type order struct {
	ref
	bill
	ID, Transaction, AmountPaid, Currency scalar
	Customer, Product                     identity
	Metadata                              metadata
}

func (o *order) read(s *scanner) {
	*o = order{}
	for o.open(s); o.whole && s.next(); {
		switch string(s.key) {
		case "id":
			o.ID.read(s)
		case "customer":
			o.Customer.read(s)
		case "product":
			o.Product.read(s)
		case "transaction":
			o.Transaction.read(s)
		case "amount_paid":
			o.AmountPaid.read(s)
		case "currency":
			o.Currency.read(s)
		case "metadata":
			o.Metadata.read(s)
		default:
			if !o.bill.read(s) {
				s.skip()
			}
		}
	}
}

type transaction struct {
	ref
	bill
	ID, AmountPaid, Refunded, Currency, PeriodStart, PeriodEnd scalar
	Customer, Order, Subscription                              identity
}

func (t *transaction) read(s *scanner) {
	*t = transaction{}
	for t.open(s); t.whole && s.next(); {
		switch string(s.key) {
		case "id":
			t.ID.read(s)
		case "customer":
			t.Customer.read(s)
		case "order":
			t.Order.read(s)
		case "subscription":
			t.Subscription.read(s)
		case "amount_paid":
			t.AmountPaid.read(s)
		case "refunded_amount":
			t.Refunded.read(s)
		case "currency":
			t.Currency.read(s)
		case "period_start":
			t.PeriodStart.read(s)
		case "period_end":
			t.PeriodEnd.read(s)
		default:
			if !t.bill.read(s) {
				s.skip()
			}
		}
	}
}

// items reads the first element of an array of objects.
type items struct {
	Units scalar
}

func (i *items) read(s *scanner) {
	*i = items{}
	if !s.open('[') {
		s.skip()
		return
	}
	for first := true; s.element(); first = false {
		if !first || !s.open('{') {
			s.skip()
			continue
		}
		for s.next() {
			switch string(s.key) {
			case "units":
				i.Units.read(s)
			default:
				s.skip()
			}
		}
	}
}
