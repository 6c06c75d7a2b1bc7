package tables

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
)

// lookup finds rows of one table.
type lookup struct {
	step  loadStep
	where string
	by    []NameKind               // the kinds of the names by which the rows are found; they are $1, $2, …
	args  func(loading) [][]string // if not nil, these are $1, $2, …
}

// loadStep orders the lookups: the rows that one step finds have the names for the next.
type loadStep int

const (
	stepEvents        loadStep = iota // payments that the events name
	stepSubscriptions                 // subscriptions and their unclaimed payments
	stepLaterPayments                 // the payments of subscriptions that say something else of them
	stepPeriods                       // the other payments of the periods of all these
	stepUsers                         // the rows of the users; reversals and ledger lines of the payments
	stepLicenses                      // all pro payments of users whose licence can change
	stepLicensed                      // the subscriptions with which these licences end
	loadSteps
)

// loading is one step of a load. The queries of all tables are sent together.
type loading struct {
	*Loader
	step   loadStep
	wanted wantedNames // gets the names of linked rows, for the next steps
	batch  *pgx.Batch  // gets the queries
	events []events.Event
	lists  map[NameKind][]string // see names
}

// find returns the arguments of a query for the rows, or none if there is no name.
func (k lookup) find(l loading) (args []any) {
	var lists [][]string
	if k.args != nil {
		lists = k.args(l)
	} else {
		for _, kind := range k.by {
			lists = append(lists, l.names(kind))
		}
	}
	if !slices.ContainsFunc(lists, func(list []string) bool { return len(list) > 0 }) {
		return nil
	}
	for _, list := range lists {
		args = append(args, Texts(list))
	}
	return args
}

// wantedNames are the names by which rows are looked for, by kind.
type wantedNames map[NameKind]Set

func (w wantedNames) add(kind NameKind, name string) {
	if w[kind] == nil {
		w[kind] = Set{}
	}
	w[kind].Add(name)
}

// Set is a set of texts.
type Set map[string]struct{}

// Add adds the texts that are not empty.
func (s Set) Add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

// List returns the texts, sorted.
func (s Set) List() []string { return slices.Sorted(maps.Keys(s)) }

func (s Set) unsorted() []string {
	return slices.AppendSeq(make([]string, 0, len(s)), maps.Keys(s))
}
