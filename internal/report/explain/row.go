package explain

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

// Row is a row of a table, or a pointer to one. In JSON it is an object of the table's columns;
// an empty text and the zero time are null there, as in the table, and so is a nil pointer.
type Row[R any] struct{ Columns R }

// row is a Row of any table.
type row = Row[any]

// MarshalJSON implements json.Marshaler.
func (r Row[R]) MarshalJSON() ([]byte, error) {
	value := reflect.Indirect(reflect.ValueOf(r.Columns))
	if !value.IsValid() {
		return []byte("null"), nil
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i := range value.NumField() {
		column, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("db"), ",")
		cell := value.Field(i).Interface()
		switch v := cell.(type) {
		case string:
			if v == "" {
				cell = nil
			}
		case time.Time:
			if v.IsZero() {
				cell = nil
			}
		}
		text, err := page.Marshal(cell)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + column + `":`)
		out.Write(text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func rowsOf[R any](list []R) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = row{list[i]}
		if own, has := any(list[i]).(json.Marshaler); has {
			out[i] = own
		}
	}
	return out
}
