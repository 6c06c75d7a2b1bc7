package store

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A row struct of package projections names its columns in db tags, so one
// piece of code loads and saves every table. The zero string and the zero time
// stand for null: an empty text is never stored.

type column struct {
	name, sqlType string
	kind          kind
	field         int     // of the struct
	offset        uintptr // of that field
	key           bool
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

func columnsOf[R any]() []column {
	t := reflect.TypeFor[R]()
	if cached, ok := layouts.Load(t); ok {
		return cached.([]column)
	}
	var columns []column
	for i := range t.NumField() {
		field := t.Field(i)
		kind, known := kinds[field.Type]
		if !known {
			panic(fmt.Sprintf("no column type for %s", field.Type)) // a new row struct meets this in any test
		}
		name, option, _ := strings.Cut(field.Tag.Get("db"), ",")
		columns = append(columns, column{
			name: name, sqlType: sqlTypes[kind], kind: kind, field: i, offset: field.Offset, key: option == "key",
		})
	}
	layouts.Store(t, columns)
	return columns
}

func names(columns []column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.name
	}
	return strings.Join(out, ", ")
}

// unnest is the rows as a table of the statement, one array a column.
func unnest(columns []column) string {
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
		table, names(columns), unnest(columns)), arrays(columns, rows)...)
}

// update queues one statement for all rows, which the batch has locked.
func update[R any](batch *pgx.Batch, table string, rows []R) {
	if len(rows) == 0 {
		return
	}
	columns := columnsOf[R]()
	var set, match []string
	for _, c := range columns {
		if c.key {
			match = append(match, fmt.Sprintf("t.%s = n.%s", c.name, c.name))
		} else {
			set = append(set, fmt.Sprintf("%s = n.%s", c.name, c.name))
		}
	}
	batch.Queue(fmt.Sprintf("update %s t set %s from %s as n(%s) where %s",
		table, strings.Join(set, ", "), unnest(columns), names(columns), strings.Join(match, " and ")),
		arrays(columns, rows)...)
}

func arrays[R any](columns []column, rows []R) []any {
	out := make([]any, len(columns))
	for i, c := range columns {
		values := make([]any, len(rows))
		for j := range rows {
			values[j] = toSQL(reflect.ValueOf(&rows[j]).Elem().Field(c.field).Interface())
		}
		out[i] = typed(c.sqlType, values)
	}
	return out
}

func toSQL(value any) any {
	switch v := value.(type) {
	case string:
		if v == "" {
			return (*string)(nil)
		}
		return &v
	case int64:
		return &v
	case bool:
		return &v
	case time.Time:
		if v.IsZero() {
			return (*time.Time)(nil)
		}
		return &v
	}
	return value
}

func typed(sqlType string, values []any) any {
	switch sqlType {
	case "text":
		return sliceOf[*string](values)
	case "bigint":
		return sliceOf[*int64](values)
	case "boolean":
		return sliceOf[*bool](values)
	default:
		return sliceOf[*time.Time](values)
	}
}

func sliceOf[T any](values []any) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = v.(T)
	}
	return out
}

// scan reads a row whose columns are those of R, in order.
func scan[R any](row pgx.CollectableRow) (R, error) {
	var out R
	columns := columnsOf[R]()
	targets := make([]any, len(columns))
	for i, c := range columns {
		targets[i] = reflect.New(pointerTo(c.sqlType)).Interface()
	}
	if err := row.Scan(targets...); err != nil {
		return out, err
	}
	for i, c := range columns {
		value := reflect.ValueOf(targets[i]).Elem()
		if value.IsNil() {
			continue
		}
		field := reflect.ValueOf(&out).Elem().Field(c.field)
		switch {
		case field.Kind() == reflect.Pointer:
			field.Set(value)
		case c.sqlType == "timestamptz":
			field.Set(reflect.ValueOf(value.Elem().Interface().(time.Time).UTC()))
		default:
			field.Set(value.Elem())
		}
	}
	return out, nil
}

func pointerTo(sqlType string) reflect.Type {
	switch sqlType {
	case "text":
		return reflect.TypeFor[*string]()
	case "bigint":
		return reflect.TypeFor[*int64]()
	case "boolean":
		return reflect.TypeFor[*bool]()
	default:
		return reflect.TypeFor[*time.Time]()
	}
}
