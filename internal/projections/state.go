package projections

// State has the rows of all tables that the events to be folded can touch:
//
//   - events: those with an id of these events
//   - payments: those with a name that the events have, and the payments that these are merged
//     with; the unclaimed payments of every subscription that is touched; all payments of a
//     subscription that an event starts
//   - subscriptions: those that the events or their payments name, and all subscriptions of
//     every user that is touched
//   - users: the rows of each user that the event, its payment or its subscription names, and
//     the user's payments of kind pro
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
	Revenue       Table[revenueKey, RevenueDay] // an extra

	// Poison has the sequences of the quarantined events, whose rows the database has refused.
	Poison map[uint64]bool

	byTransaction map[string]string          // transaction → payment
	byOrder       map[string]string          // order → its first payment
	paymentsOf    map[string]map[string]bool // subscription → payments
	ofUser        map[string]map[string]bool // user → subscriptions
	proOf         map[string]map[string]bool // user → claimed payments of kind pro
	reversalsOf   map[string][]string        // payment → reversals, by their event ids

	facts  facts              // of the event that is folded now
	before map[string]Payment // the payments that the event changed, as they were before; nil without extras
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
}
