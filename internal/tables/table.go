package tables

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Table declares one derived table, whose rows are of type R: how to create it, how to
// find its rows, and which other rows belong to them. Load, save, the row cache, verify and
// settle follow from the declaration. It is safe for concurrent use.
type Table[R any] struct {
	Definition

	rows func(*projections.State) stateRows[R]
	put  func(*projections.State, *R) // adds a row as the database has it

	// names are the names under which the row cache finds the row. If it is nil, the cache
	// has no rows of the table.
	names func(*R) RowNames
	// links are the names of the rows that have to be loaded together with the row.
	links func(*R) Links

	columnsOnce sync.Once
	columns     []Column
}

// Definition is the part of a declaration that does not depend on the type of the rows.
type Definition struct {
	Name        string
	DDL         string    // creates the table, without keys and indexes
	indexes     []indexOn // those that take longest to create come first
	Key         NameKind  // what the first column of the key names
	SortColumn  string    // the first column of the index that costs most to keep up; empty: that of the key
	InsertOnly  bool      // rows never change
	Extra       bool      // only a rebuild with --with has the table
	lookups     []lookup  // of a batch of events, in this order
	NameColumns []string  // the columns that names reads
}

// stateRows are the rows that a state has of one table; see projections.Table.
type stateRows[R any] interface {
	Rows() []R
	Inserted() []R
	Updated() []R
	EachChanged(do func(row *R, loaded bool, index int))
}

// insertOnlyRows are the rows of a table whose rows never change.
type insertOnlyRows[R any] struct {
	all   func() []R
	added []R
}

func (a insertOnlyRows[R]) Rows() []R     { return a.all() }
func (a insertOnlyRows[R]) Inserted() []R { return a.added }
func (a insertOnlyRows[R]) Updated() []R  { return nil }

func (a insertOnlyRows[R]) EachChanged(do func(row *R, loaded bool, index int)) {
	for i := range a.added {
		do(&a.added[i], false, i)
	}
}

// Links are the names of other rows. A link with an empty name leads to no row.
type Links [8]Link

// Link is the name of other rows.
type Link struct {
	kind NameKind
	Name string
}

// CacheName returns the name that the rows have in the row cache. The link's own name must not be empty.
func (l Link) CacheName() string { return l.kind.InCache(l.Name) }

// Licensed returns the user if the rows are all of the user's claimed pro payments.
func (l Link) Licensed() (user string) {
	if l.kind == OfLicensed {
		return l.Name
	}
	return ""
}

// AnyTable is a Table with rows of any type.
type AnyTable interface {
	About() *Definition
	// Columns are in the order of the row struct's fields; those of the key come first.
	// The caller must not change them.
	Columns() []Column
	// ChangesIn returns what the fold changed in the table.
	ChangesIn(s *projections.State) Change
	queueLoad(l loading)
	// QueueAll queues a query that loads the whole table into the state.
	QueueAll(batch *pgx.Batch, state *projections.State)

	// FoundByName reports whether the row cache finds rows of the table by their names. The methods
	// below may be called only if it does. A row is encoded as one row of COPY's binary format; do
	// must not keep it after it returns.
	FoundByName() bool
	// EachRow calls do for every row that the state has of the table.
	EachRow(state *projections.State, do func(row []byte, names RowNames))
	// EachChangedRow calls do for every row that the fold inserted or changed, in the order
	// of the first changes. loaded is false for an inserted row. If all rows were loaded before
	// the fold, index says which of them a loaded row was, from 0.
	EachChangedRow(state *projections.State, do func(row []byte, names RowNames, loaded bool, index int))
	RowReader() RowReader
	// UpdateRows overwrites the rows of the database that have the same keys.
	UpdateRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte]) error
	// RemoveRows deletes the rows of the database that have the same keys. places returns the places where the rows
	// with a name may be. It returns an error if a row is at none of its places.
	RemoveRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte], places func(name string) []Place) error
	// EachPlace calls do with the place and the names of every row of these pages that the transaction xid has
	// written; "" stands for all transactions. do must not keep the names after it returns.
	EachPlace(ctx context.Context, from Beginner, pages Pages, xid string, do func(Place, RowNames)) error
}

// RowNames are up to five names of one row; the others are empty. The first name never
// changes, and rows with the same key have the same first name.
type RowNames [5]string

// About implements AnyTable, as do the other methods with a name of AnyTable.
func (t *Table[R]) About() *Definition { return &t.Definition }

func (t *Table[R]) Columns() []Column {
	t.columnsOnce.Do(func() { t.columns = columnsOf[R]() })
	return t.columns
}

func (t *Table[R]) ChangesIn(s *projections.State) Change {
	changed := t.rows(s)
	return changes[R]{t, changed.Inserted(), changed.Updated()}
}

// Rows reads the rows that tail selects, which is SQL from "where" on. Without an
// "order by" their order is undefined.
func (t *Table[R]) Rows(ctx context.Context, tx pgx.Tx, tail string, args ...any) ([]R, error) {
	rows, _ := tx.Query(ctx, fmt.Sprintf("select %s from %s %s", ColumnNames(t.Columns()), t.Name, tail), args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, scanRow[R](t.Columns()))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Name, err)
	}
	return found, nil
}

// Row returns the first row that tail selects, or nil; see Rows.
func (t *Table[R]) Row(ctx context.Context, tx pgx.Tx, tail string, args ...any) (*R, error) {
	found, err := t.Rows(ctx, tx, tail, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// keyColumns returns the columns of the key.
func keyColumns(columns []Column) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return !c.Key })
}
