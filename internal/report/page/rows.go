package page

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// column is a column of a row that people read: a field with the tag json, or with only the tag db.
type column struct {
	name  string
	index []int
}

// working has the columns that are for the rules. The views payment and subscription_state do not have them.
var working = map[string]bool{
	"paid": true, "known": true, "joined": true, "lasts": true, "counts_until": true,
	"reversed_by": true, "reversed_seq": true, "facts": true,
}

// known has the columns of each type of row that was asked for.
var known sync.Map

func columnsOf(row reflect.Type) (out []column) {
	if columns, is := known.Load(row); is {
		return columns.([]column)
	}
	defer func() { known.Store(row, out) }()
	for _, field := range reflect.VisibleFields(row) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			if name, _, _ = strings.Cut(field.Tag.Get("db"), ","); working[name] {
				continue
			}
		}
		if name != "" && name != "-" {
			out = append(out, column{name, field.Index})
		}
	}
	return out
}

// in returns the column's value of a row; nil if it has none: a nil pointer, an empty text, the zero time.
func (c column) in(row reflect.Value) any {
	value := row.FieldByIndex(c.index)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		return value.Elem().Interface()
	}
	cell := value.Interface()
	if t, is := cell.(time.Time); cell == "" || is && t.IsZero() {
		return nil
	}
	return cell
}

// Columns returns the names of the columns of a row, as in JSON.
func Columns[R any]() (names []string) {
	for _, c := range columnsOf(reflect.TypeFor[R]()) {
		names = append(names, c.name)
	}
	return names
}

// Cells returns the values of the columns of a row; nil where it has none.
func Cells(row any) (cells []any) {
	of := reflect.ValueOf(row)
	for _, c := range columnsOf(of.Type()) {
		cells = append(cells, c.in(of))
	}
	return cells
}

// Row writes the columns of a row that have a value, one a line, but not those that are left out.
func (p *Page) Row(row any, without ...string) {
	var pairs []any
	cells := texts(row)
	for i, c := range columnsOf(reflect.TypeOf(row)) {
		if cells[i] != "" && !slices.Contains(without, c.name) {
			pairs = append(pairs, heading(c.name), cells[i])
		}
	}
	p.Fields(pairs...)
}

// Rows writes a table with the columns in which any row has a value, but not those that are left out.
func Rows[R any](p *Page, rows []R, without ...string) {
	lines := make([][]any, len(rows)+1)
	var cells [][]string
	for i := range rows {
		cells = append(cells, texts(rows[i]))
	}
	for i, name := range Columns[R]() {
		if slices.Contains(without, name) || !slices.ContainsFunc(cells, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		lines[0] = append(lines[0], heading(name))
		for n, row := range cells {
			cell := row[i]
			if cell == "" {
				cell = noValue
			}
			lines[n+1] = append(lines[n+1], cell)
		}
	}
	p.columns(lines)
}

// headings are the names for people that heading does not make.
var headings = map[string]string{
	"event_type": "type", "occurred_at": "provider's time", "github_username": "GitHub user", "reversed_at": "fully reversed",
	"usable": "left", "pays": "debts paid", "fold_id": "fold id",
}

// sentences are columns of words; in others a text is an id, which is quoted if it could be misread.
var sentences = map[string]bool{"reason": true, "error": true, "note": true, "fold_id": true}

// heading is the name of a column for people: "payment" for provider_payment_id.
func heading(name string) string {
	if own := headings[name]; own != "" {
		return own
	}
	for _, prefix := range []string{"provider_", "stream_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	for _, suffix := range []string{"_id", "_key", "_at"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return Words(name)
}

// texts are the cells of a row for people; empty where it has no value. Amounts have the currency of the row.
func texts(row any) []string {
	columns, cells := columnsOf(reflect.TypeOf(row)), Cells(row)
	out := make([]string, len(cells))
	currency := slices.IndexFunc(columns, func(c column) bool { return c.name == "currency" })
	for i, cell := range cells {
		switch cell := cell.(type) {
		case nil:
			continue
		case string:
			if out[i] = cell; !sentences[columns[i].name] {
				out[i] = Name(cell)
			}
		case int64:
			out[i] = textOf(cell)
			if currency >= 0 && strings.HasSuffix(columns[i].name, "amount") {
				code, _ := cells[currency].(string)
				out[i] = Money(cell, code)
			}
		default:
			out[i] = textOf(cell)
			if list := reflect.ValueOf(cell); list.Kind() == reflect.Slice {
				out[i] = strings.Join(eachText(list), ", ")
			}
		}
	}
	if currency >= 0 {
		out[currency] = ""
	}
	return out
}

func eachText(list reflect.Value) (out []string) {
	for i := range list.Len() {
		out = append(out, textOf(list.Index(i).Interface()))
	}
	return out
}

// marshalRow encodes what pointer points to, if it is a row.
func marshalRow(out *jsontext.Encoder, pointer any) error {
	row := reflect.ValueOf(pointer).Elem()
	if row.Kind() != reflect.Struct || !isRow(row.Type()) {
		return errors.ErrUnsupported
	}
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, c := range columnsOf(row.Type()) {
		if err := out.WriteToken(jsontext.String(c.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(out, c.in(row)); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return out.WriteToken(jsontext.EndObject)
}

// isRow reports whether a struct has fields that only have the tag db.
func isRow(of reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(of), func(field reflect.StructField) bool {
		return field.Tag.Get("db") != "" && field.Tag.Get("json") == ""
	})
}
