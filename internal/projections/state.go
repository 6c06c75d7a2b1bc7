package projections

import (
	"cmp"
	"slices"
)

// State has the rows of all tables that the events to be folded can touch:
//
//   - events: those with the id of an event to be folded
//   - payments: those with a name that the events have, and the payments that these are merged
//     with; the unclaimed payments of every subscription that is touched; all payments of a
//     subscription that an event starts, or of which an event says something else (see Resold)
//   - subscriptions: those that the events or their payments name, and all subscriptions of
//     every user that is touched
//   - users: the rows of each user that the event, its payment or its subscription names
//   - pro payments: if one of a user's claimed pro payments is here, or the user's licence is
//     revoked, all of that user's
//   - the reversals and ledger lines of those payments
//
// The methods Load… add rows of the database. Fold changes them.
type State struct {
	Events        Events
	Duplicates    []DuplicateEvent
	Payments      Table[string, Payment]
	Ledger        Ledger
	Reversals     Table[string, Reversal]
	Credits       Table[string, Credits]
	Subscriptions Table[string, SubscriptionState]
	Current       Table[string, Subscription]
	Licenses      Table[string, ProLicense]
	Revenue       revenueDays // an extra

	// Quarantined has the sequences of the quarantined events, whose rows the database has refused.
	Quarantined map[uint64]bool

	byTransaction map[string]string   // transaction → payment
	byOrder       map[string]string   // order → its first payment
	paymentsOf    map[string][]string // subscription → payments
	ofUser        map[string][]string // user → subscriptions
	proOf         map[string][]string // user → claimed payments of kind pro
	reversalsOf   map[string][]string // payment → reversals, by their event ids

	activeLicenses Table[string, ProLicense] // user → licence of the database, as it was loaded

	facts  facts              // of the event that is folded now
	before map[string]Payment // the payments that the event changed, as they were before; nil without extras
}

// NewState returns a state of empty tables.
func NewState() *State {
	return &State{
		Quarantined:   map[uint64]bool{},
		byTransaction: map[string]string{},
		byOrder:       map[string]string{},
		paymentsOf:    map[string][]string{},
		ofUser:        map[string][]string{},
		proOf:         map[string][]string{},
		reversalsOf:   map[string][]string{},
	}
}

// Reset empties the tables for the next events. The quarantined sequences and the sums of the
// extras stay. Lists that were returned before remain valid.
func (s *State) Reset() {
	s.Events.clear()
	s.Duplicates = nil
	s.Payments.clear()
	s.Ledger.clear()
	s.Reversals.clear()
	s.Credits.clear()
	s.Subscriptions.clear()
	s.Current.clear()
	s.Licenses.clear()
	clear(s.byTransaction)
	clear(s.byOrder)
	clear(s.paymentsOf)
	clear(s.ofUser)
	clear(s.proOf)
	clear(s.reversalsOf)
	s.activeLicenses.clear()
}

// LoadPayment adds a payment of the database. If it is already here, nothing changes.
func (s *State) LoadPayment(p *Payment) {
	if s.Payments.Load(p.ProviderPaymentID, p) {
		s.indexPayment(p, "", "")
	}
}

func (s *State) putPayment(p *Payment) {
	row := s.Payments.change(p.ProviderPaymentID)
	if s.before != nil {
		if _, kept := s.before[p.ProviderPaymentID]; !kept {
			s.before[p.ProviderPaymentID] = *row
		}
	}
	formerlyLicensed, formerSubscription := row.licensed(), row.SubscriptionID
	*row = *p
	s.indexPayment(p, formerlyLicensed, formerSubscription)
}

func (s *State) indexPayment(p *Payment, formerlyLicensed, formerSubscription string) {
	if p.TransactionID != "" {
		s.byTransaction[p.TransactionID] = p.ProviderPaymentID
	}
	if p.FirstOfOrder {
		s.byOrder[p.OrderID] = p.ProviderPaymentID
	}
	move(s.proOf, p.ProviderPaymentID, formerlyLicensed, p.licensed())
	move(s.paymentsOf, p.ProviderPaymentID, formerSubscription, p.SubscriptionID)
}

// LoadSubscription adds a subscription of the database. If it is already here, nothing changes.
func (s *State) LoadSubscription(row *SubscriptionState) {
	if s.Subscriptions.Load(row.SubscriptionID, row) {
		move(s.ofUser, row.SubscriptionID, "", row.UserID)
	}
}

// LoadReversal adds a reversal of the database. If it is already here, nothing changes.
func (s *State) LoadReversal(row *Reversal) {
	if s.Reversals.Load(row.EventID, row) {
		s.indexReversal(row)
	}
}

func (s *State) indexReversal(row *Reversal) {
	s.reversalsOf[row.ProviderPaymentID] = append(s.reversalsOf[row.ProviderPaymentID], row.EventID)
}

// LoadLicense adds a licence of the database. If it is already here, nothing changes.
func (s *State) LoadLicense(row *ProLicense) {
	if s.Licenses.Load(row.UserID, row) && row.active() {
		s.activeLicenses.Load(row.UserID, row)
	}
}

// LoadRevenue adds a row of the database.
func (s *State) LoadRevenue(row *RevenueDay) {
	s.Revenue.Load(revenueKey{row.Day, row.Currency, row.Kind}, row)
}

// move lists a member under another key. Under the empty key it is not listed.
func move(index map[string][]string, member, from, to string) {
	if from == to {
		return
	}
	if from != "" {
		index[from] = slices.DeleteFunc(index[from], func(one string) bool { return one == member })
	}
	if to != "" {
		index[to] = append(index[to], member)
	}
}

// changedPayments yields every payment that the event changed, as it was before and as it is now.
// Without extras it yields none.
func (s *State) changedPayments(yield func(before, after Payment) bool) {
	for id, before := range s.before {
		if after, _ := s.Payments.Get(id); !yield(before, after) {
			return
		}
	}
}

// paymentsIn lists the loaded payments of a subscription, in the order of the log.
func (s *State) paymentsIn(subscription string, which func(*Payment) bool) []Payment {
	var list []Payment
	for _, id := range s.paymentsOf[subscription] {
		if p := s.Payments.find(id); which(p) {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b Payment) int {
		return cmp.Or(cmp.Compare(a.StreamSeq, b.StreamSeq), cmp.Compare(a.ProviderPaymentID, b.ProviderPaymentID))
	})
	return list
}

// reversalsFor lists the events of the reversals of the payment, in the order of the log.
func (s *State) reversalsFor(p *Payment) []Reversal {
	var list []Reversal
	for _, id := range p.ids() {
		for _, event := range s.reversalsOf[id] {
			reversal, _ := s.Reversals.Get(event)
			list = append(list, reversal)
		}
	}
	slices.SortFunc(list, func(a, b Reversal) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	return list
}
