package tables

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Place is where Postgres has a row in the file of its table: its ctid. A changed row gets another place. Another row
// can get the place of a deleted row.
type Place struct {
	Page uint32
	Item uint16
}

// Compare orders places as they are in the file.
func (p Place) Compare(with Place) int {
	return cmp.Or(cmp.Compare(p.Page, with.Page), cmp.Compare(p.Item, with.Item))
}

// Pages are the pages of a table's file from From to Until, without Until.
type Pages struct{ From, Until uint32 }

// AllPages are all pages that a file can have.
var AllPages = Pages{Until: math.MaxUint32}

const placeSize = 6

// placeOf reads a place in the binary format of Postgres.
func placeOf(binaryFormat []byte) Place {
	return Place{Page: binary.BigEndian.Uint32(binaryFormat), Item: binary.BigEndian.Uint16(binaryFormat[4:])}
}

// placeArray returns places as an argument of a statement.
func placeArray(places []Place) any {
	out := make([]byte, 0, arrayHeaderSize+len(places)*(lengthSize+placeSize))
	out = appendArrayHeader(out, pgtype.TIDOID, len(places))
	for _, p := range places {
		out = binary.BigEndian.AppendUint32(out, placeSize)
		out = binary.BigEndian.AppendUint32(out, p.Page)
		out = binary.BigEndian.AppendUint16(out, p.Item)
	}
	return encodedArray{out}
}

// EachPlace implements AnyTable, as do the other methods of a Table in this file.
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

// nameColumns returns the columns from which t.names makes the names of a row.
func (t *Table[R]) nameColumns() []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns()), func(c Column) bool { return !slices.Contains(t.NameColumns, c.Name) })
}

func (t *Table[R]) RemoveRows(ctx context.Context, tx pgx.Tx, rows iter.Seq[[]byte], places func(name string) []Place) error {
	return inParts(t.decoded(rows), func(some []R) error { return t.removeSome(ctx, tx, some, places) })
}

// removeSome deletes rows by their places. It also compares their keys, because more than one row can have a name.
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
