package events

// This file lists the parts of a body that the rules read, and their keys. Everything else is
// skipped, because a provider adds fields and event types without notice. Each part clears
// itself before it reads, so only the last value of a repeated key counts.

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

func (o *object) read(d *decoder) {
	*o = object{}
	for o.open(d); o.whole && d.next(); {
		switch string(d.key) {
		case "id":
			o.ID.read(d)
		case "mode":
			o.Mode.read(d)
		case "metadata":
			o.Metadata.read(d)
		case "customer":
			o.Customer.read(d)
		case "product":
			o.Product.read(d)
		case "order":
			o.Order.read(d)
		case "subscription":
			o.Subscription.read(d)
		case "checkout":
			o.Checkout.read(d)
		case "transaction":
			o.Transaction.read(d)
		case "last_transaction":
			o.LastTxn.read(d)
		case "last_transaction_id":
			o.LastTxnID.read(d)
		case "provider_payment_id":
			o.PaymentID.read(d)
		case "subscription_id":
			o.SubscriptionID.read(d)
		case "user_id":
			o.UserID.read(d)
		case "userId":
			o.UserIDCamel.read(d)
		case "credits":
			o.Credits.read(d)
		case "units":
			o.Units.read(d)
		case "items":
			o.Items.read(d)
		case "status":
			o.Status.read(d)
		case "canceled_at":
			o.CanceledAt.read(d)
		case "refund_amount":
			o.RefundAmount.read(d)
		case "amount_paid":
			o.AmountPaid.read(d)
		case "amount":
			o.Amount.read(d)
		case "currency":
			o.Currency.read(d)
		case "current_period_start_date":
			o.PeriodStartISO.read(d)
		case "current_period_end_date":
			o.PeriodEndISO.read(d)
		case "current_period_start":
			o.PeriodStart.read(d)
		case "current_period_end":
			o.PeriodEnd.read(d)
		default:
			d.skip()
		}
	}
}

type metadata struct {
	ref
	Kind, ProductKey, Key, Credits, PaymentID          scalar
	UserID, UserIDCamel, ReferenceID, ReferenceIDCamel scalar
	GitHubUsername, GitHubCamel, GitHubLogin, GitHub   scalar
}

func (m *metadata) read(d *decoder) {
	*m = metadata{}
	for m.open(d); m.whole && d.next(); {
		switch string(d.key) {
		case "kind":
			m.Kind.read(d)
		case "user_id":
			m.UserID.read(d)
		case "userId":
			m.UserIDCamel.read(d)
		case "reference_id":
			m.ReferenceID.read(d)
		case "referenceId":
			m.ReferenceIDCamel.read(d)
		case "provider_payment_id":
			m.PaymentID.read(d)
		case "product_key":
			m.ProductKey.read(d)
		case "key":
			m.Key.read(d)
		case "credits":
			m.Credits.read(d)
		case "github_username":
			m.GitHubUsername.read(d)
		case "githubUsername":
			m.GitHubCamel.read(d)
		case "github_login":
			m.GitHubLogin.read(d)
		case "github":
			m.GitHub.read(d)
		default:
			d.skip()
		}
	}
}

type customer struct {
	identity
	ExternalID scalar
	Metadata   metadata
}

func (c *customer) read(d *decoder) {
	*c = customer{}
	for c.open(d); c.whole && d.next(); {
		switch string(d.key) {
		case "id":
			c.ID.read(d)
		case "external_id":
			c.ExternalID.read(d)
		case "metadata":
			c.Metadata.read(d)
		default:
			d.skip()
		}
	}
}

type identity struct {
	ref
	ID scalar
}

func (i *identity) read(d *decoder) {
	*i = identity{}
	for i.open(d); i.whole && d.next(); {
		switch string(d.key) {
		case "id":
			i.ID.read(d)
		default:
			d.skip()
		}
	}
}

type nested struct {
	ref
	ID       scalar
	Customer identity
	Metadata metadata
}

func (n *nested) read(d *decoder) {
	*n = nested{}
	for n.open(d); n.whole && d.next(); {
		switch string(d.key) {
		case "id":
			n.ID.read(d)
		case "customer":
			n.Customer.read(d)
		case "metadata":
			n.Metadata.read(d)
		default:
			d.skip()
		}
	}
}

// bill has the amounts of an order or a transaction.
type bill struct{ Amount, Due, Discount scalar }

// read reads one field; it returns false if a bill has no such key.
func (b *bill) read(d *decoder) bool {
	switch string(d.key) {
	case "amount":
		b.Amount.read(d)
	case "amount_due":
		b.Due.read(d)
	case "discount_amount":
		b.Discount.read(d)
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

func (o *order) read(d *decoder) {
	*o = order{}
	for o.open(d); o.whole && d.next(); {
		switch string(d.key) {
		case "id":
			o.ID.read(d)
		case "customer":
			o.Customer.read(d)
		case "product":
			o.Product.read(d)
		case "transaction":
			o.Transaction.read(d)
		case "amount_paid":
			o.AmountPaid.read(d)
		case "currency":
			o.Currency.read(d)
		case "metadata":
			o.Metadata.read(d)
		default:
			if !o.bill.read(d) {
				d.skip()
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

func (t *transaction) read(d *decoder) {
	*t = transaction{}
	for t.open(d); t.whole && d.next(); {
		switch string(d.key) {
		case "id":
			t.ID.read(d)
		case "customer":
			t.Customer.read(d)
		case "order":
			t.Order.read(d)
		case "subscription":
			t.Subscription.read(d)
		case "amount_paid":
			t.AmountPaid.read(d)
		case "refunded_amount":
			t.Refunded.read(d)
		case "currency":
			t.Currency.read(d)
		case "period_start":
			t.PeriodStart.read(d)
		case "period_end":
			t.PeriodEnd.read(d)
		default:
			if !t.bill.read(d) {
				d.skip()
			}
		}
	}
}

// items reads the first element of an array of objects.
type items struct {
	Units scalar
}

func (i *items) read(d *decoder) {
	*i = items{}
	if !d.open('[') {
		d.skip()
		return
	}
	for first := true; d.element(); first = false {
		if !first || !d.open('{') {
			d.skip()
			continue
		}
		for d.next() {
			switch string(d.key) {
			case "units":
				i.Units.read(d)
			default:
				d.skip()
			}
		}
	}
}
