package explain

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// Row is a row of a table, or a pointer to one. In JSON it is an object of the columns that people read;
// an empty text and the zero time are null there, as in the table, and so is a nil pointer.
type Row[R any] struct{ Columns R }

// row is a Row of any table.
type row = Row[any]

// working has the columns that are for the rules. The views payment and subscription_state do not have them.
var working = map[string]bool{"paid": true, "known": true, "joined": true, "lasts": true, "counts_until": true, "reversed_by": true, "reversed_seq": true, "facts": true}

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
		if working[column] {
			continue
		}
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
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + column + `":`)
		out.Write(text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// PaymentRow is a payment, or nil. In JSON it also has "facts": what each of its events says of it, which is why it is
// what it is.
type PaymentRow struct{ Columns *projections.Payment }

// MarshalJSON implements json.Marshaler.
func (r PaymentRow) MarshalJSON() ([]byte, error) {
	columns, err := Row[*projections.Payment](r).MarshalJSON()
	if err != nil || r.Columns == nil {
		return columns, err
	}
	return withField(columns, "facts", append(projections.Facts{}, r.Columns.Facts...))
}

// withField adds a field to an object.
func withField(object []byte, name string, value any) ([]byte, error) {
	text, err := page.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(append(append(object[:len(object)-1], `,"`+name+`":`...), text...), '}'), nil
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
