package tables

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// unnest is an SQL expression that makes rows of arrays, one array for each column.
func unnest(columns []Column) string {
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, c.sqlType)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// insert queues one statement for all rows. A row that exists already fails the
// transaction: another projector has inserted it since the batch was loaded. In a shared table it stays.
func (t *Table[R]) insert(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns, existing := t.Columns(), ""
	if t.Shared {
		existing = " on conflict do nothing"
	}
	batch.Queue(fmt.Sprintf("insert into %s (%s) select * from %s%s",
		t.Name, ColumnNames(columns), unnest(columns), existing), arrays(columns, rows)...)
}

// remove queues one statement that deletes all rows, found by their keys.
func (t *Table[R]) remove(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := keyColumns(t.Columns())
	batch.Queue(fmt.Sprintf("delete from %s t using %s as n(%s) where %s", t.Name, unnest(columns), ColumnNames(columns), sameKey(columns)),
		arrays(columns, rows)...)
}

// update queues one statement that overwrites all rows, found by their keys.
func (t *Table[R]) update(batch *pgx.Batch, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := t.Columns()
	var set []string
	for _, c := range columns {
		if !c.Key {
			set = append(set, fmt.Sprintf("%s = n.%s", c.Name, c.Name))
		}
	}
	batch.Queue(fmt.Sprintf("update %s t set %s from %s as n(%s) where %s",
		t.Name, strings.Join(set, ", "), unnest(columns), ColumnNames(columns), sameKey(columns)),
		arrays(columns, rows)...)
}

// sameKey returns the condition that a row t of the table and a row of n have the same key.
func sameKey(columns []Column) string {
	var match []string
	for _, c := range keyColumns(columns) {
		match = append(match, fmt.Sprintf("t.%s = n.%s", c.Name, c.Name))
	}
	return strings.Join(match, " and ")
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
