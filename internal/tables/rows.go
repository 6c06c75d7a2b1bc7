package tables

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// A row struct of package projections names its columns in db tags, so one
// piece of code loads and saves every table. The zero string and the zero time
// stand for null: an empty text is never stored.

// Column is a column of a table and a field of its row struct.
type Column struct {
	Name, sqlType string
	kind          kind
	offset        uintptr // of its field
	Key           bool
}

// kind is what a column's field is.
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

var layouts sync.Map // reflect.Type → []column

func columnsOf[R any]() []Column {
	t := reflect.TypeFor[R]()
	if cached, ok := layouts.Load(t); ok {
		return cached.([]Column)
	}
	var columns []Column
	for i := range t.NumField() {
		field := t.Field(i)
		kind, known := kinds[field.Type]
		if !known {
			panic(fmt.Sprintf("no column type for %s", field.Type)) // a new row struct meets this in any test
		}
		name, option, _ := strings.Cut(field.Tag.Get("db"), ",")
		columns = append(columns, Column{
			Name: name, sqlType: sqlTypes[kind], kind: kind, offset: field.Offset, Key: option == "key",
		})
	}
	layouts.Store(t, columns)
	return columns
}

// ColumnNames lists them for a statement.
func ColumnNames(columns []Column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return strings.Join(out, ", ")
}

// unnest is the rows as a table of the statement, one array a column.
func unnest(columns []Column) string {
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, c.sqlType)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// insert queues one statement for all rows. A row that is there already fails
// the transaction: another projector wrote it since the batch loaded.
func insert[R any](batch *pgx.Batch, table string, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := columnsOf[R]()
	batch.Queue(fmt.Sprintf("insert into %s (%s) select * from %s",
		table, ColumnNames(columns), unnest(columns)), arrays(columns, rows)...)
}

// update queues one statement for all rows, which the batch has locked.
func update[R any](batch *pgx.Batch, table string, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := columnsOf[R]()
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

// arrays is the values of each column, one array a column.
func arrays[R any](columns []Column, rows []R) []any {
	out := make([]any, len(columns))
	for i := range columns {
		c := &columns[i]
		switch c.kind {
		case kindText:
			out[i] = pointers(rows, c, func(v *string) bool { return *v == "" })
		case kindTime:
			out[i] = pointers(rows, c, (*time.Time).IsZero)
		case kindNumber:
			out[i] = pointers[int64](rows, c, nil)
		case kindBool:
			out[i] = pointers[bool](rows, c, nil)
		case kindOptional:
			numbers := make([]*int64, len(rows))
			for j := range rows {
				numbers[j] = *fieldOf[*int64](unsafe.Pointer(&rows[j]), c)
			}
			out[i] = numbers
		}
	}
	return out
}

// pointers leads to the values of a column, nil for those that stand for null.
func pointers[T, R any](rows []R, c *Column, isNull func(*T) bool) []*T {
	out := make([]*T, len(rows))
	for i := range rows {
		if value := fieldOf[T](unsafe.Pointer(&rows[i]), c); isNull == nil || !isNull(value) {
			out[i] = value
		}
	}
	return out
}

// scan reads a row whose columns are those of R, in order.
func scan[R any](row pgx.CollectableRow) (out R, err error) {
	columns, values, described := columnsOf[R](), row.RawValues(), row.FieldDescriptions()
	for i, value := range values {
		if described[i].Format != pgx.BinaryFormatCode && columns[i].kind != kindText { // a text is the same in both
			return out, fmt.Errorf("column %s comes in the text format", columns[i].Name)
		}
		if value != nil {
			columns[i].set(unsafe.Pointer(&out), value, string(value))
		}
	}
	return out, nil
}
