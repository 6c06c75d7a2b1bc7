package tables

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// EachPlace implements AnyTable, as do the other methods of this file.
func (t *Table[R]) EachPlace(ctx context.Context, from Beginner, pages Pages, xid string, do func(Place, RowNames)) error {
	columns := t.nameColumns()
	sql := fmt.Sprintf("select ctid, %s from %s where ctid >= '(%d,0)' and ctid < '(%d,0)'", ColumnNames(columns), t.Name, pages.From, pages.Until)
	args := []any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}
	if xid != "" {
		sql, args = sql+" and xmin = $1::text::xid", append(args, xid)
	}
	err := pgx.BeginFunc(ctx, from, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, PreferIndexes); err != nil { // only these pages are read
			return err
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var shared texts
		for rows.Next() {
			var row R
			values := rows.RawValues()
			for i := range columns {
				if value := values[i+1]; value != nil {
					columns[i].set(unsafe.Pointer(&row), value, shared.copy(value))
				}
			}
			do(placeOf(values[0]), t.names(&row))
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("read the places of %s: %w", t.Name, err)
	}
	return nil
}

// nameColumns are the columns of which names makes the names of a row.
func (t *Table[R]) nameColumns() []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns()), func(c Column) bool { return !slices.Contains(t.NameColumns, c.Name) })
}

func (t *Table[R]) RemoveRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte], places func(name string) []Place) error {
	return inParts(t.decoded(rows), func(some []R) error { return t.removeSome(ctx, tx, some, places) })
}

// removeSome deletes rows by their places, and makes sure of their keys: more than one row can have a name.
func (t *Table[R]) removeSome(ctx context.Context, tx pgx.Tx, rows []R, places func(name string) []Place) error {
	var at []Place
	var candidates []R
	for i := range rows {
		for _, place := range places(t.names(&rows[i])[0]) {
			at, candidates = append(at, place), append(candidates, rows[i])
		}
	}
	key := keyColumns(t.Columns())
	columns := append(slices.Clone(key), Column{Name: "place", sqlType: "tid"})
	done, err := tx.Exec(ctx, fmt.Sprintf("delete from %s t using %s as n(%s) where t.ctid = n.place and %s",
		t.Name, unnest(columns), ColumnNames(columns), sameKey(key)), append(arrays(key, candidates), placeArray(at))...)
	if err == nil && done.RowsAffected() != int64(len(rows)) {
		err = errMoved
	}
	if err != nil {
		return fmt.Errorf("replace rows of %s: %w", t.Name, err)
	}
	return nil
}

var errMoved = errors.New("somebody else has changed, moved or deleted rows")
