package tables

import (
	"strings"

	"github.com/payfold/payfold/internal/projections"
)

// All lists all derived tables. Rows are locked and written in this order: subscription
// comes before subscription_state, because a transaction that adds a subscription of a
// user also writes the user's row of subscription.
var All = []AnyTable{
	ProcessedEvents, DuplicateEvents, CurrentSubscriptions, Credits, Licenses, SubscriptionStates, Payments, Reversals, LedgerLines,
	UnlistedProducts,
	RevenueByDay,
}

// Indexes lists the indexes of all tables. It must not be changed.
var Indexes = listIndexes()

func listIndexes() (all []Index) {
	for _, t := range All {
		for _, on := range t.About().indexes {
			all = append(all, on(t.About().Name))
		}
	}
	return all
}

// Names lists the derived tables that every schema has, for a statement.
func Names() string { return strings.Join(NameList(), ", ") }

// NameList lists the derived tables that every schema has.
func NameList() (list []string) {
	for _, t := range All {
		if !t.About().Extra {
			list = append(list, t.About().Name)
		}
	}
	return list
}

// Changes lists what the fold changed, in the order of All.
func Changes(s *projections.State) (all []Change) {
	for _, t := range All {
		all = append(all, t.ChangesIn(s))
	}
	return all
}
