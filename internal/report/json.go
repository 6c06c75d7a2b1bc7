package report

import (
	"bytes"
	"reflect"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

// row is a row of a table as a JSON object of its columns; an empty text and the
// zero time are null, as in the table.
type row struct{ value any }

// MarshalJSON implements json.Marshaler.
func (r row) MarshalJSON() ([]byte, error) {
	value := reflect.Indirect(reflect.ValueOf(r.value))
	if !value.IsValid() {
		return []byte("null"), nil
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i := range value.NumField() {
		column, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("db"), ",")
		var cell any = value.Field(i).Interface()
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

// part is a bounded list in JSON.
type part struct {
	Items   []any `json:"items"`
	Earlier int64 `json:"earlier"`
}

func rowsOf[R any](list []R) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = row{list[i]}
	}
	return out
}

func partOf[R any](list Part[R]) part { return part{rowsOf(list.Items), list.Earlier} }

// lines is a bounded ledger in JSON: earlier_sum and the items' deltas come to sum.
type lines struct {
	part
	EarlierSum int64 `json:"earlier_sum"`
	Sum        int64 `json:"sum"`
}

func linesOf(ledger Lines) lines {
	return lines{partOf(ledger.Part), ledger.EarlierSum, ledger.Sum}
}
