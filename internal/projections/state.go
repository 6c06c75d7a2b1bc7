package projections

// State is the rows of all tables that the events to be folded can touch:
//
//   - events: those with one of the events' ids
//   - payments: those with one of their names and what these were merged into or
//     with, the unclaimed ones of every subscription they touch, and all of one
//     that they start
//   - subscriptions: those they name or their payments have, and all of every user
//     they touch
//   - the rows of every user they touch, by their own words, their payment's or
//     their subscription's, and the user's payments of kind pro
//   - the reversals and ledger lines of those payments
//
// Load* puts what the database has; Fold changes it.
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
	Revenue       Table[revenueKey, RevenueDay] // an extra

	// Poison lists the sequences of events whose rows the database has refused.
	Poison map[uint64]bool

	byTransaction map[string]string          // transaction → payment
	byOrder       map[string]string          // order → its first payment
	paymentsOf    map[string]map[string]bool // subscription → payments
	ofUser        map[string]map[string]bool // user → subscriptions
	proOf         map[string]map[string]bool // user → claimed payments of kind pro
	reversalsOf   map[string][]string        // payment → reversals, by their event ids

	facts  facts              // of the event being folded
	before map[string]Payment // the payments it changed, as they were; nil where there are no extras
}

// NewState returns a state of empty tables.
func NewState() *State {
	return &State{
		Poison:        map[uint64]bool{},
		byTransaction: map[string]string{},
		byOrder:       map[string]string{},
		paymentsOf:    map[string]map[string]bool{},
		ofUser:        map[string]map[string]bool{},
		proOf:         map[string]map[string]bool{},
		reversalsOf:   map[string][]string{},
	}
}

// Reset empties the tables for the next events; what is known to be refused and
// the sums of the extras stay. Rows that were listed before remain valid.
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
}
