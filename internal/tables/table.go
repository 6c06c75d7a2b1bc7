package tables

import (
	"context"
	"embed"
	"fmt"
	"iter"
	"slices"
	"sync"
	"unsafe"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Table declares one derived table, whose rows are of type R: how to create it, and which other rows belong to its rows.
// Save, verify and settle follow from the declaration. It is safe for concurrent use.
type Table[R any] struct {
	Definition

	rows func(*projections.State) stateRows[R]
	put  func(*projections.State, *R) // adds a row as the database has it

	// links are the names of the rows that have to be loaded together with the row.
	links func(*R) Links

	columnsOnce sync.Once
	columns     []Column
}

// Definition is the part of a declaration that does not depend on the type of the rows.
type Definition struct {
	Name       string    // also that of the file with its definition
	indexes    []indexOn // those that take longest to create come first
	Key        NameKind  // what the first column of the key names
	InsertOnly bool      // rows never change
	Extra      bool      // only a rebuild with --with has the table
	Shared     bool      // events of any customers give the same row, whose columns are all of the key
}

//go:embed *.sql
var definitions embed.FS

// DDL creates the table, without keys and indexes.
func (d *Definition) DDL() string {
	text, err := definitions.ReadFile(d.Name + ".sql")
	if err != nil {
		panic(err) // the file is a part of this build
	}
	return string(text)
}

// OfManyCustomers reports whether the events of several customers make one row.
func (d *Definition) OfManyCustomers() bool { return d.Extra || d.Shared }

// stateRows are the rows that a state has of one table; see projections.Rows.
type stateRows[R any] interface {
	New() iter.Seq[*R]
	Inserted() []R
	Updated() []R
	Removed() []R
}

// insertOnlyRows are the rows of a table whose rows never change.
type insertOnlyRows[R any] []R

func (a insertOnlyRows[R]) New() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for i := range a {
			if !yield(&a[i]) {
				return
			}
		}
	}
}
func (a insertOnlyRows[R]) Inserted() []R { return a }
func (a insertOnlyRows[R]) Updated() []R  { return nil }
func (a insertOnlyRows[R]) Removed() []R  { return nil }

// Links are the names of other rows. A link with an empty name leads to no row.
type Links []Link

// Link is the name of other rows.
type Link struct {
	kind NameKind
	Name string
}

// AnyTable is a Table with rows of any type.
type AnyTable interface {
	About() *Definition
	// Columns are in the order of the row struct's fields; those of the key come first.
	// The caller must not change them.
	Columns() []Column
	// ChangesIn returns what the fold changed in the table. It is valid until the state changes.
	ChangesIn(s *projections.State) Change
	queueLoad(r *reading, where string, args []any)
}

// About implements AnyTable, as do the other methods with a name of AnyTable.
func (t *Table[R]) About() *Definition { return &t.Definition }

func (t *Table[R]) Columns() []Column {
	t.columnsOnce.Do(func() { t.columns = columnsOf[R]() })
	return t.columns
}

func (t *Table[R]) ChangesIn(s *projections.State) Change {
	return changes[R]{t, t.rows(s)}
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

// scanRow returns a function that reads a row with these columns, in this order. All texts of a
// row are one piece of memory.
func scanRow[R any](columns []Column) pgx.RowToFunc[R] {
	var buffer []byte
	return func(row pgx.CollectableRow) (out R, err error) {
		values, described := row.RawValues(), row.FieldDescriptions()
		buffer = buffer[:0]
		for i, value := range values {
			if columns[i].kind == kindText && value != nil {
				buffer = append(buffer, value...)
			}
		}
		texts := string(buffer)
		for i, value := range values {
			if described[i].Format != pgx.BinaryFormatCode && columns[i].kind != kindText { // that is the same in both formats
				return out, fmt.Errorf("column %s comes in the text format", columns[i].Name)
			}
			if value == nil {
				continue
			}
			text := ""
			if columns[i].kind == kindText {
				text, texts = texts[:len(value)], texts[len(value):]
			}
			if err := columns[i].set(unsafe.Pointer(&out), value, text); err != nil {
				return out, err
			}
		}
		return out, nil
	}
}
