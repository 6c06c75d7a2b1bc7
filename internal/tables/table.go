package tables

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
	Definition

	// rows is what a state has of the table; put adds a row as the database has it.
	rows func(*projections.State) rows[R]
	put  func(*projections.State, R)

	// names are those under which a rebuild finds the row, nil: never. links lead to what
	// has to be loaded with it.
	names func(*R) RowNames
	links func(*R) Links

	once   sync.Once
	layout []Column
}

// Definition is what does not depend on the type of the rows.
type Definition struct {
	Name       string
	DDL        string    // makes it, without keys and indexes
	indexes    []indexOn // those that take longest to make first
	Key        NameKind  // what the first column of its key is
	InsertOnly bool      // rows never change
	Extra      bool      // only rebuilds that are asked for it have it
	lookups    []lookup  // that live work does, in this order
	NameIn     []string  // the columns with names, under which rows are looked for
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

// Links are names that lead to other rows; empty ones to none.
type Links [7]Link

// Link is one of them.
type Link struct {
	kind NameKind
	Name string
}

// lookup finds rows of one table.
type lookup struct {
	step  step
	where string
	by    []NameKind                     // the names that are $1, $2, …
	args  func(*projections.State) []any // instead of these
}

// All lists all tables but checkpoint. Rows are locked and written in this order:
// the user's row of subscription comes before the user's subscriptions, because who
// adds one of these writes that row, too.
var All = []AnyTable{
	ProcessedEvents, DuplicateEvents, CurrentSubscriptions, CreditBalances, Licenses, SubscriptionStates, Payments, Reversals, LedgerLines,
	RevenueByDay,
}

// AnyTable is a table, whatever its rows.
type AnyTable interface {
	About() *Definition
	Columns() []Column // in the order of the row struct's fields; the key comes first
	// ChangesIn is what the fold changed of the table.
	ChangesIn(s *projections.State) Change
	queueLoad(l *Loader, batch *pgx.Batch, at step, asked func(NameKind) []string, want wanted)
	// QueueAll loads the whole table.
	QueueAll(batch *pgx.Batch, state *projections.State)

	// IsLookedFor says whether a rebuild finds rows of the table by name. Else nobody may
	// call the following. These hand over rows as the bytes that COPY takes in, which are
	// valid until do returns.
	IsLookedFor() bool
	EachRow(state *projections.State, do func(row []byte, names RowNames))
	EachChangedRow(state *projections.State, do func(row []byte, names RowNames, loaded bool, place int))
	// PutRow puts a row into the state, as the database has it, and returns what belongs to it.
	PutRow(state *projections.State, row []byte) Links
	NamesOf(row []byte) RowNames
	UpdateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error
}

// RowNames are up to five. The first is one that the row never loses; rows with the
// same key have it in common.
type RowNames [5]string

// About implements AnyTable, as do the methods that follow.
func (t *Table[R]) About() *Definition { return &t.Definition }

func (t *Table[R]) Columns() []Column {
	t.once.Do(func() { t.layout = columnsOf[R]() })
	return t.layout
}

func (t *Table[R]) ChangesIn(s *projections.State) Change {
	changed := t.rows(s)
	return changes[R]{t.Name, changed.Inserted(), changed.Updated()}
}

// Rows reads the rows that tail (where, order by, limit) says.
func (t *Table[R]) Rows(ctx context.Context, tx pgx.Tx, tail string, args ...any) ([]R, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf("select %s from %s %s", ColumnNames(t.Columns()), t.Name, tail), args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Name, err)
	}
	found, err := pgx.CollectRows(rows, scan[R])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Name, err)
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

// keyNames lists the columns of a table's key.
func keyNames(columns []Column) string {
	return ColumnNames(slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return !c.Key }))
}

// Names lists those that every schema has, but for checkpoint.
func Names() string {
	var list []string
	for _, t := range All {
		if !t.About().Extra {
			list = append(list, t.About().Name)
		}
	}
	return strings.Join(list, ", ")
}

// Changes lists what the fold changed.
func Changes(s *projections.State) (all []Change) {
	for _, t := range All {
		all = append(all, t.ChangesIn(s))
	}
	return all
}
