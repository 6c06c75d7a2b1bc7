package projections

import (
	"cmp"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// step is one event during its fold, and what the tables know about the payment and the subscription that it names.
type step struct {
	events.Event

	kind    Kind     // of the event, otherwise of the known payment or subscription
	user    string   // of the event, otherwise of the known payment or subscription
	payment Payment  // has no id if it is not in the table
	joined  string   // another row, which turned out to be the same payment; see findPayment
	former  []string // the subscriptions to which that row belonged
	foreign bool     // the event names a payment or a subscription of another provider
	note    Note

	byBuyer  bool             // only the metadata names the product
	units    events.Number    // how many were sold of the product
	offer    *catalogue.Offer // nil if the catalogue does not sell the product, and without a catalogue
	claimed  bool             // the event has claimed at least one payment
	licensed bool             // the event has changed a licence
}

// newStep returns the step of the event. It is valid until the next call.
func newStep(s *State, e *events.Event) *step {
	f := &s.step
	*f = step{Event: *e, kind: e.Kind, user: e.UserID}
	if !f.HasEffect() {
		return f
	}
	s.findPayment(f)
	s.findForeign(f)
	if f.Action == events.Reverse {
		f.user, f.kind = f.payment.UserID, f.payment.Kind
		return f
	}
	f.user, f.kind = cmp.Or(f.user, f.payment.UserID), cmp.Or(f.kind, f.payment.Kind)
	if f.user == "" {
		if users := f.payment.Facts.users(); len(users) > 0 {
			f.user = users[0]
		}
	}
	if f.Action != events.None { // of an event without an action, it is not loaded
		if of := s.Subscriptions.find(e.SubscriptionID); of != nil {
			f.user, f.kind = cmp.Or(f.user, of.UserID), cmp.Or(f.kind, of.Kind)
		}
	}
	f.kind = cmp.Or(f.kind, f.ownKind())
	return f
}

// ownKind returns the kind that the event itself says, without what is known of its payment and its subscription.
func (f *step) ownKind() Kind {
	if f.Kind == "" && f.isOfSubscription() {
		return KindSubscription
	}
	return f.Kind
}

// isOfSubscription reports whether the event belongs to a subscription. Its kind does not matter.
func (f *step) isOfSubscription() bool { return f.SubscriptionID != "" || f.Recurring }

// claims reports whether the event says that a payment arrived, or what was sold.
func (f *step) claims() bool { return f.Action == events.Payment || f.Action == events.Checkout }

// beginsTrial reports whether the event is a payment of 0 with which a trial begins, and which grants nothing: the catalogue
// has no credits for the trial.
func (f *step) beginsTrial() bool { return f.Trial && (f.offer == nil || f.offer.TrialCredits == 0) }

func (f *step) offeredKind() Kind {
	if f.offer == nil {
		return ""
	}
	return f.offer.Kind
}

func (f *step) ledgerEvent() ledgerEvent { return ledgerEvent{f.ID, f.OccurredAt, int64(f.Seq)} }

// findForeign finds out whether the event names a payment or a subscription of another provider. Own events of the shop
// may name any. The subscription of a reversal does not matter, and is not loaded.
func (s *State) findForeign(f *step) {
	f.foreign = IsForeign(f.payment.Provider, f.Provider)
	if f.joined != "" {
		f.foreign = f.foreign || IsForeign(s.Payments.find(f.joined).Provider, f.Provider)
	}
	if f.Action == events.Reverse || f.Action == events.None {
		return
	}
	if of := s.Subscriptions.find(f.SubscriptionID); of != nil {
		f.foreign = f.foreign || IsForeign(of.Provider, f.Provider)
	}
}

// IsForeign reports whether what is known is of another provider than an event. Own events of the shop may name any.
func IsForeign(known, now string) bool {
	return known != "" && known != now && known != events.OwnEvents && now != events.OwnEvents
}

// providerOf returns the provider of a payment or a subscription that two events name. An own event of the shop says
// something about a payment of its provider.
func providerOf(known, now string) string {
	if known == "" || known == events.OwnEvents {
		return now
	}
	return known
}

// subscription returns the subscription that the event is about: without a name, the implicit one of its user.
func (f *step) subscription() string {
	if f.SubscriptionID == "" {
		return ImplicitSubscription(f.UserID)
	}
	return f.SubscriptionID
}

// findPayment finds the payment that has the names of the event. Two different transactions are
// two payments, even if they have one order. The order decides only if the event or the row has no
// transaction. If each name has a row of its own, which lacks the other name, both rows are one
// payment: then f.joined is the row of the order.
func (s *State) findPayment(f *step) {
	charged := s.paymentNamed(f.Transaction, s.byTransaction)
	ordered := s.paymentNamed(f.Order, s.byOrder)
	switch {
	case charged != nil && ordered != nil && charged != ordered && charged.OrderID == "" && ordered.TransactionID == "":
		f.payment, f.joined = *charged, ordered.ProviderPaymentID
	case charged != nil:
		f.payment = *charged
	case ordered != nil && (f.Transaction == "" || ordered.TransactionID == ""):
		f.payment = *ordered
	}
}

// paymentNamed returns the payment that has this name in the index, or else the payment with this
// key; nil if there is none (see Rows.find). No id is both a transaction and an order.
func (s *State) paymentNamed(name string, index map[string]string) *Payment {
	if name == "" {
		return nil
	}
	if id, ok := index[name]; ok {
		name = id
	}
	return s.Payments.find(name)
}

// HasTransaction reports whether a payment has this transaction.
func (s *State) HasTransaction(name string) bool { return s.paymentNamed(name, s.byTransaction) != nil }

// HasOrder reports whether a payment is meant by an event that names only this order.
func (s *State) HasOrder(name string) bool { return s.paymentNamed(name, s.byOrder) != nil }
