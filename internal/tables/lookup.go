package tables

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// lookup finds rows of one table.
type lookup struct {
	step  loadStep
	where string
	by    []NameKind                          // the kinds of the names by which the rows are found; they are $1, $2, …
	args  func(*projections.State) [][]string // if not nil, these are $1, $2, …
}

// loadStep orders the lookups: the rows that one step finds have the names for the next.
type loadStep int

const (
	stepEvents        loadStep = iota // payments that the events name
	stepMerged                        // the payments that those were merged into
	stepSubscriptions                 // subscriptions and their unclaimed payments
	stepAllPayments                   // all payments of subscriptions that can change them
	stepUsers                         // the rows of the users; reversals and ledger lines of the payments
	stepLicenses                      // all pro payments of users whose licence can change
	loadSteps
)

// loading is one step of a load. The queries of all tables are sent together.
type loading struct {
	*Loader
	step   loadStep
	names  func(NameKind) []string // those to look for
	wanted wantedNames             // gets the names of linked rows, for the next steps
	batch  *pgx.Batch              // gets the queries
}

// find returns the arguments of a query for the rows, or none if there is no name.
func (k lookup) find(l loading) (args []any) {
	var lists [][]string
	if k.args != nil {
		lists = k.args(l.State)
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

// inCache returns the names that the rows have in the row cache.
func (k lookup) inCache(l loading) Set {
	names := Set{}
	for _, kind := range k.by {
		for _, name := range l.names(kind) {
			names.Add(kind.InCache(name))
		}
	}
	return names
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

func (s Set) has(text string) bool {
	_, has := s[text]
	return has
}

// List returns the texts, sorted.
func (s Set) List() []string { return slices.Sorted(maps.Keys(s)) }

func (s Set) unsorted() []string {
	return slices.AppendSeq(make([]string, 0, len(s)), maps.Keys(s))
}
