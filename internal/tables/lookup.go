package tables

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// lookup finds rows of one table.
type lookup struct {
	step  loadStep
	where string
	by    []NameKind                          // the kinds of the names that are $1, $2, …
	args  func(*projections.State) [][]string // further arguments, before those names
}

// loadStep orders the lookups: the rows that one step finds have the names for the next.
type loadStep int

const (
	stepEvents        loadStep = iota // payments that the events name
	stepMerged                        // the payments that those were merged into
	stepSubscriptions                 // subscriptions and their payments
	stepUsers                         // the rows of the users; reversals and ledger lines of the payments
	stepLicenses                      // all pro payments of users whose licence can change
	loadSteps
)

// loading is one step of a load. The queries of all tables are sent together.
type loading struct {
	step  loadStep
	state *projections.State
	lock  bool                    // whether the rows are locked
	names func(NameKind) []string // those to look for
	found wantedNames             // gets the names of linked rows
	batch *pgx.Batch              // gets the queries
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
func (s Set) List() []string {
	out := s.unsorted()
	slices.Sort(out)
	return out
}

func (s Set) unsorted() []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	return out
}
