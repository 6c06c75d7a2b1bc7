package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Table declares one derived table: how it is made, how its rows are found, and what
// belongs to them. All that reads or writes rows follows from it: load, save, the rows
// that a rebuild keeps, verify and settle.
type Table[R any] struct {
	definition

	// rows is what a state has of the table; put adds a row as the database has it.
	rows func(*projections.State) rows[R]
	put  func(*projections.State, R)

	// names are those under which a rebuild finds the row, nil: never. links lead to what
	// has to be loaded with it.
	names func(*R) rowNames
	links func(*R) links

	once   sync.Once
	layout []column
}

// definition is what does not depend on the type of the rows.
type definition struct {
	name       string
	ddl        string    // makes it, without keys and indexes
	indexes    []indexOn // those that take longest to make first
	key        nameKind  // what the first column of its key is
	insertOnly bool      // rows never change
	extra      bool      // only rebuilds that are asked for it have it
	lookups    []lookup  // that live work does, in this order
	nameIn     []string  // the columns with names, under which rows are looked for
}

// rows is what a state has of one table; see projections.Table.
type rows[R any] interface {
	Rows() []R
	Inserted() []R
	Updated() []R
	EachChanged(do func(row *R, loaded bool, place int))
}

// addedRows are rows that never change.
type addedRows[R any] struct {
	all   func() []R
	added []R
}

func (a addedRows[R]) Rows() []R     { return a.all() }
func (a addedRows[R]) Inserted() []R { return a.added }
func (a addedRows[R]) Updated() []R  { return nil }

func (a addedRows[R]) EachChanged(do func(row *R, loaded bool, place int)) {
	for i := range a.added {
		do(&a.added[i], false, i)
	}
}

// links are names that lead to other rows; empty ones to none.
type links [7]link

type link struct {
	kind nameKind
	name string
}

// lookup finds rows of one table.
type lookup struct {
	step  step
	where string
	by    []nameKind                     // the names that are $1, $2, …
	args  func(*projections.State) []any // instead of these
}

// derived lists all tables but checkpoint. Rows are locked and written in this order:
// the user's row of subscription comes before the user's subscriptions, because who
// adds one of these writes that row, too.
var derived = []anyTable{
	ProcessedEvents, DuplicateEvents, CurrentSubscriptions, CreditBalances, Licenses, SubscriptionStates, Payments, Reversals, LedgerLines,
	RevenueByDay,
}

// anyTable is a table, whatever its rows.
type anyTable interface {
	about() *definition
	columns() []column
	changesIn(s *projections.State) change
	queueLoad(l *loader, batch *pgx.Batch, at step, asked func(nameKind) []string, want wanted)
	queueAll(batch *pgx.Batch, state *projections.State)

	// Rows as the bytes that COPY takes in, which are valid until do returns.
	isLookedFor() bool // else none of the following is called
	eachRow(state *projections.State, do func(row []byte, names rowNames))
	eachChangedRow(state *projections.State, do func(row []byte, names rowNames, loaded bool, place int))
	putRow(state *projections.State, row []byte) links
	namesOf(row []byte) rowNames
	updateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error
}

// rowNames are up to five. The first is one that the row never loses; rows with the
// same key have it in common.
type rowNames [5]string

func (t *Table[R]) about() *definition { return &t.definition }

func (t *Table[R]) columns() []column {
	t.once.Do(func() { t.layout = columnsOf[R]() })
	return t.layout
}

func (t *Table[R]) changesIn(s *projections.State) change {
	changed := t.rows(s)
	return changes[R]{t.name, changed.Inserted(), changed.Updated()}
}

// Rows reads the rows that tail (where, order by, limit) says.
func (t *Table[R]) Rows(ctx context.Context, tx pgx.Tx, tail string, args ...any) ([]R, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf("select %s from %s %s", names(t.columns()), t.name, tail), args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	found, err := pgx.CollectRows(rows, scan[R])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	return found, nil
}

// Row reads one row, nil where there is none.
func (t *Table[R]) Row(ctx context.Context, tx pgx.Tx, tail string, args ...any) (*R, error) {
	found, err := t.Rows(ctx, tx, tail, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Name is that of the table.
func (t *Table[R]) Name() string { return t.name }

// keyNames lists the columns of a table's key.
func keyNames(columns []column) string {
	return names(slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !c.key }))
}

// tableNames lists those that every schema has, but for checkpoint.
func tableNames() string {
	var list []string
	for _, t := range derived {
		if !t.about().extra {
			list = append(list, t.about().name)
		}
	}
	return strings.Join(list, ", ")
}

// changesOf lists what the fold changed.
func changesOf(s *projections.State) (all []change) {
	for _, t := range derived {
		all = append(all, t.changesIn(s))
	}
	return all
}
