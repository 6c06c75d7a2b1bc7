package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/tables"
)

// Part has the newest items of a list, in the order of the log.
type Part[T any] struct {
	Items   []T
	Earlier int64 // number of items that are left out
	More    bool  // there are more left-out items than Earlier; they were not counted
}

// Empty reports whether the list has no items, and leaves none out.
func (p Part[T]) Empty() bool { return len(p.Items) == 0 && p.Earlier == 0 && !p.More }

// Lines has the newest lines of a ledger, in the order of the log. EarlierSum is the sum of
// the lines that are left out.
type Lines struct {
	Part[projections.LedgerLine]
	EarlierSum int64
	Sum        int64 // of all lines
	NotSummed  bool  // there are too many lines; then both sums are 0
}

// NewestEvents is the order for Newest if an index other than that of stream_seq finds the events.
// The + 0 keeps Postgres from the index of stream_seq, with which it would read the whole table for
// a few events.
const NewestEvents = "stream_seq + 0 desc"

// Newest reads the newest rows of a table that the condition where selects; args are its
// arguments.
func Newest[R any](ctx context.Context, tx pgx.Tx, table *tables.Table[R], where, newestFirst string, limit int, args ...any) (out Part[R], err error) {
	tail := fmt.Sprintf("where %s order by %s limit $%d", where, newestFirst, len(args)+1)
	if out.Items, err = table.Rows(ctx, tx, tail, append(slices.Clone(args), limit)...); err != nil {
		return out, err
	}
	slices.Reverse(out.Items)
	if len(out.Items) < limit {
		return out, nil
	}
	if err := tx.QueryRow(ctx, fmt.Sprintf("select count(*) from %s where %s", table.Name, where), args...).Scan(&out.Earlier); err != nil {
		return out, fmt.Errorf("count %s: %w", table.Name, err)
	}
	out.Earlier -= int64(len(out.Items))
	return out, nil
}

// newestLines reads the newest lines of the ledger that the condition where selects.
func newestLines(ctx context.Context, tx pgx.Tx, where string, limit int, args ...any) (out Lines, err error) {
	out.Part, err = Newest(ctx, tx, tables.LedgerLines, where, "stream_seq desc, event_id desc, provider_payment_id desc, line desc", limit, args...)
	if err != nil {
		return out, err
	}
	if err := tx.QueryRow(ctx, "select coalesce(sum(delta), 0)::bigint from credit_ledger where "+where, args...).Scan(&out.Sum); err != nil {
		return out, fmt.Errorf("sum the ledger: %w", err)
	}
	out.EarlierSum = out.Sum - sumOf(out.Items)
	return out, nil
}

func sumOf(lines []projections.LedgerLine) (sum int64) {
	for _, line := range lines {
		sum += line.Delta
	}
	return sum
}

// part is a bounded list in JSON.
type part struct {
	Items   []any `json:"items"`
	Earlier int64 `json:"earlier"`
	More    bool  `json:"more,omitempty"`
}

func partOf[R any](list Part[R]) part { return part{rowsOf(list.Items), list.Earlier, list.More} }

// MarshalJSON implements json.Marshaler.
func (p Part[T]) MarshalJSON() ([]byte, error) { return page.Marshal(partOf(p)) }

// MarshalJSON implements json.Marshaler: earlier_sum and the items' deltas add up to sum. Both sums
// are null if they were not computed.
func (l Lines) MarshalJSON() ([]byte, error) {
	out := struct {
		part
		EarlierSum *int64 `json:"earlier_sum"`
		Sum        *int64 `json:"sum"`
	}{part: partOf(l.Part)}
	if !l.NotSummed {
		out.EarlierSum, out.Sum = &l.EarlierSum, &l.Sum
	}
	return page.Marshal(out)
}

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
