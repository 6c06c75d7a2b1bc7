package tables

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// The row structs of package projections name their columns in db tags, so the same code
// loads and saves every table. The empty string and the zero time stand for null: an empty
// text is never stored.

// Column is a column of a table, and the field of the row struct that has its value.
type Column struct {
	Name, sqlType string
	kind          kind
	offset        uintptr // of the field in the row struct
	Key           bool    // it is part of the table's key
}

// kind is the type of a column's field.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindOptional
	kindBool
	kindTime
)

var (
	kinds = map[reflect.Type]kind{
		reflect.TypeFor[string](): kindText, reflect.TypeFor[int64](): kindNumber, reflect.TypeFor[*int64](): kindOptional,
		reflect.TypeFor[bool](): kindBool, reflect.TypeFor[time.Time](): kindTime,
	}
	sqlTypes = [...]string{kindText: "text", kindNumber: "bigint", kindOptional: "bigint", kindBool: "boolean", kindTime: "timestamptz"}
)

// columnsOf reads the fields of a row struct. It panics where no column can hold a field,
// which any test of the table meets.
func columnsOf[R any]() (columns []Column) {
	t := reflect.TypeFor[R]()
	for i := range t.NumField() {
		field := t.Field(i)
		kind, known := kinds[field.Type]
		if !known {
			panic(fmt.Sprintf("no column type for %s", field.Type))
		}
		name, option, _ := strings.Cut(field.Tag.Get("db"), ",")
		columns = append(columns, Column{
			Name: name, sqlType: sqlTypes[kind], kind: kind, offset: field.Offset, Key: option == "key",
		})
	}
	return columns
}

// ColumnNames lists the names of columns for a statement.
func ColumnNames(columns []Column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return strings.Join(out, ", ")
}

// unnest is an SQL expression that makes rows of arrays, one array for each column.
func unnest(columns []Column) string {
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, c.sqlType)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// insert queues one statement for all rows. A row that exists already fails the
// transaction: another projector has inserted it since the batch was loaded.
func insert[R any](batch *pgx.Batch, table string, columns []Column, rows []R) {
	if len(rows) == 0 {
		return
	}
	batch.Queue(fmt.Sprintf("insert into %s (%s) select * from %s",
		table, ColumnNames(columns), unnest(columns)), arrays(columns, rows)...)
}

// update queues one statement that overwrites all rows, found by their keys.
func update[R any](batch *pgx.Batch, table string, columns []Column, rows []R) {
	if len(rows) == 0 {
		return
	}
	var set, match []string
	for _, c := range columns {
		if c.Key {
			match = append(match, fmt.Sprintf("t.%s = n.%s", c.Name, c.Name))
		} else {
			set = append(set, fmt.Sprintf("%s = n.%s", c.Name, c.Name))
		}
	}
	batch.Queue(fmt.Sprintf("update %s t set %s from %s as n(%s) where %s",
		table, strings.Join(set, ", "), unnest(columns), ColumnNames(columns), strings.Join(match, " and ")),
		arrays(columns, rows)...)
}

// scanRow returns a function that reads a row with these columns, in this order.
func scanRow[R any](columns []Column) pgx.RowToFunc[R] {
	return func(row pgx.CollectableRow) (out R, err error) {
		values, described := row.RawValues(), row.FieldDescriptions()
		for i, value := range values {
			if described[i].Format != pgx.BinaryFormatCode && columns[i].kind != kindText { // both formats of a text are equal
				return out, fmt.Errorf("column %s comes in the text format", columns[i].Name)
			}
			if value != nil {
				columns[i].set(unsafe.Pointer(&out), value, string(value))
			}
		}
		return out, nil
	}
}
