package projections

import (
	"cmp"
	"slices"
	"time"
)

// State has the rows of all tables that the events to be folded can touch:
//
//   - events: those with the id of an event to be folded
//   - payments: those with a name that the events have, and the payments that these are merged
//     with; the unclaimed payments of every subscription that is touched; all payments of a
//     subscription that an event starts, or of which an event says something else (see Since)
//   - subscriptions: those that the events or their payments name, and all subscriptions of
//     every user that is touched
//   - users: the rows of each user that the event, its payment or its subscription names
//   - pro payments: if one of a user's claimed pro payments is here, or the user's licence is
//     revoked, or an event can end it with its subscription (see Licensed), all of that user's
//   - the reversals and ledger lines of those payments
//
// The methods Load… add rows of the database. Fold changes them.
type State struct {
	Events        Events
	Duplicates    []DuplicateEvent
	Payments      Rows[string, Payment]
	Ledger        Ledger
	Reversals     Rows[string, Reversal]
	Credits       Rows[string, Credits]
	Subscriptions Rows[string, SubscriptionState]
	Current       Rows[string, Subscription]
	Licenses      Rows[string, ProLicense]
	Unlisted      Unlisted
	Revenue       revenueDays // an extra

	// Quarantined has the sequences of the quarantined events, whose rows the database has refused.
	Quarantined map[uint64]bool

	byTransaction map[string]string   // transaction → payment
	byOrder       map[string]string   // order → its payment
	toldBy        map[string]string   // payment → the implicit subscription that has its facts
	paymentsOf    map[string]timeline // subscription → payments
	periodsOf     map[Period][]string // period → claimed payments
	ofUser        map[string][]string // user → subscriptions
	proOf         map[string]timeline // user → claimed payments of kind pro
	reversalsOf   map[string][]string // payment → reversals, by their event ids

	nearlyFull bool // the credits of a user are near the end of their range

	activeLicenses Rows[string, ProLicense] // user → licence of the database, as it was loaded

	step   step               // of the event that is folded now
	before map[string]Payment // the payments that the event changed, as they were before; nil without extras
}

// NewState returns a state of empty tables.
func NewState() *State {
	return &State{
		Unlisted:      Unlisted{},
		Quarantined:   map[uint64]bool{},
		byTransaction: map[string]string{},
		byOrder:       map[string]string{},
		toldBy:        map[string]string{},
		paymentsOf:    map[string]timeline{},
		periodsOf:     map[Period][]string{},
		ofUser:        map[string][]string{},
		proOf:         map[string]timeline{},
		reversalsOf:   map[string][]string{},
	}
}

// Reset empties the tables for the next events, which use their memory again: lists that were returned before must not
// be used any more. The quarantined sequences, the unlisted products and the sums of the extras stay.
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
	clear(s.toldBy)
	clear(s.paymentsOf)
	clear(s.periodsOf)
	clear(s.ofUser)
	clear(s.proOf)
	clear(s.reversalsOf)
	s.activeLicenses.clear()
	s.nearlyFull = false
}

// Settle makes all rows those of the database, as if they had been loaded: what the fold has changed is written. Lists
// that were returned before remain valid.
func (s *State) Settle() {
	s.Events.added = nil
	s.Duplicates = nil
	clear(s.Unlisted)
	s.Payments.settle()
	s.Ledger.added = nil
	s.Reversals.settle()
	s.Credits.settle()
	s.Subscriptions.settle()
	s.Current.settle()
	s.Licenses.settle()
}

// Size is the number of rows and event ids that the state has in memory.
func (s *State) Size() int {
	return len(s.Events.seen) + len(s.Payments.rows) + len(s.Ledger.lines) + len(s.Reversals.rows) + len(s.Credits.rows) +
		len(s.Subscriptions.rows) + len(s.Current.rows) + len(s.Licenses.rows)
}

// LoadPayment adds a payment of the database. If it is already here, nothing changes.
func (s *State) LoadPayment(p *Payment) {
	if s.Payments.Load(p.ProviderPaymentID, p) {
		s.indexPayment(&Payment{}, p)
	}
}

func (s *State) putPayment(p *Payment) {
	row := s.Payments.change(p.ProviderPaymentID)
	if s.before != nil {
		if _, kept := s.before[p.ProviderPaymentID]; !kept {
			s.before[p.ProviderPaymentID] = *row
		}
	}
	before := *row
	*row = *p
	s.indexPayment(&before, p)
}

// indexPayment lists the payment under its names. before is the row as it was listed last.
func (s *State) indexPayment(before, p *Payment) {
	id := p.ProviderPaymentID
	if p.TransactionID != "" {
		s.byTransaction[p.TransactionID] = id
	}
	if p.OrderID != "" {
		s.byOrder[p.OrderID] = id
	}
	was, is := stamp{before.OccurredAt, id}, stamp{p.OccurredAt, id}
	moveStamp(s.proOf, before.licensed(), p.licensed(), was, is)
	moveStamp(s.paymentsOf, before.SubscriptionID, p.SubscriptionID, was, is)
	move(s.periodsOf, id, before.Period(), p.Period())
}

// LoadSubscription adds a subscription of the database. If it is already here, nothing changes.
func (s *State) LoadSubscription(row *SubscriptionState) {
	if s.Subscriptions.Load(row.SubscriptionID, row) {
		s.indexSubscription(&SubscriptionState{}, row)
	}
}

func (s *State) putSubscription(row *SubscriptionState) {
	stored := s.Subscriptions.change(row.SubscriptionID)
	before := *stored
	*stored = *row
	s.indexSubscription(&before, row)
}

func (s *State) indexSubscription(before, row *SubscriptionState) {
	move(s.ofUser, row.SubscriptionID, before.UserID, row.UserID)
	if row.implicit() && !slices.Equal(before.Facts, row.Facts) {
		for _, f := range before.Facts {
			delete(s.toldBy, f.Payment)
		}
		for _, f := range row.Facts {
			s.toldBy[f.Payment] = row.SubscriptionID
		}
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

// LoadCredits adds the sums of a user from the database. If they are already here, nothing changes.
func (s *State) LoadCredits(row *Credits) {
	s.Credits.Load(row.UserID, row)
	s.nearlyFull = s.nearlyFull || row.nearlyFull()
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

// move lists a member under another key. Under the zero value it is not listed.
func move[K comparable](index map[K][]string, member string, from, to K) {
	var none K
	if from == to {
		return
	}
	if from != none {
		index[from] = slices.DeleteFunc(index[from], func(one string) bool { return one == member })
	}
	if to != none {
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

// timeline lists payments in the order of the provider's time, then of their names.
type timeline []stamp

type stamp struct {
	at time.Time
	id string
}

func (a stamp) compare(b stamp) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) }

// from returns the payments from that time on.
func (t timeline) from(at time.Time) (ids []string) {
	begin, _ := slices.BinarySearchFunc(t, stamp{at: at}, stamp.compare)
	for _, one := range t[begin:] {
		ids = append(ids, one.id)
	}
	return ids
}

// moveStamp lists a payment under another key, or at another time. Under the empty key it is not listed.
func moveStamp(index map[string]timeline, from, to string, was, is stamp) {
	if from == to && was == is {
		return
	}
	if from != "" {
		if at, found := slices.BinarySearchFunc(index[from], was, stamp.compare); found {
			index[from] = slices.Delete(index[from], at, at+1)
		}
	}
	if to != "" {
		at, _ := slices.BinarySearchFunc(index[to], is, stamp.compare)
		index[to] = slices.Insert(index[to], at, is)
	}
}
