package explain

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/tables"
)

// Part has the newest items of a list, in the order of the log.
type Part[T any] struct {
	Items   []T   `json:"items"`
	Earlier int64 `json:"earlier"`        // number of items that are left out
	More    bool  `json:"more,omitempty"` // there are more left-out items than Earlier; they were not counted
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

// Balanced is a ledger line with the sum of all lines up to it.
type Balanced struct {
	projections.LedgerLine
	Sum *int64 `db:"sum"` // nil: not known
}

// WithSums returns the lines with their sums.
func (l Lines) WithSums() (out []Balanced) {
	sum := l.EarlierSum
	for _, line := range l.Items {
		sum += line.Delta
		with := Balanced{LedgerLine: line}
		if !l.NotSummed {
			with.Sum = new(sum)
		}
		out = append(out, with)
	}
	return out
}

// MarshalJSON implements json.Marshaler: earlier_sum and the items' deltas add up to sum. Both sums
// are null if they were not computed.
func (l Lines) MarshalJSON() ([]byte, error) {
	out := struct {
		Part[projections.LedgerLine]
		EarlierSum *int64 `json:"earlier_sum"`
		Sum        *int64 `json:"sum"`
	}{Part: l.Part}
	if !l.NotSummed {
		out.EarlierSum, out.Sum = &l.EarlierSum, &l.Sum
	}
	return page.Marshal(out)
}

// Payment is a payment with its facts: what each of its events says of it, which is why it is what it is.
type Payment struct {
	projections.Payment
	Facts projections.Facts `json:"facts"`
}

// OfPayment is a payment with what belongs to it. Its lists have the newest items, in the order of the log.
type OfPayment struct {
	Payment   *Payment                   `json:"payment"` // nil if only events without effect name it
	Ledger    Lines                      `json:"credit_ledger"`
	Grants    Part[Grant]                `json:"grants"` // see grantsOfPayment
	Reversals Part[projections.Reversal] `json:"reversals"`
}

// ReadPayment reads the payment of that name, and returns the names under which events may have it. Lists have at most
// limit items.
func ReadPayment(ctx context.Context, tx pgx.Tx, schema, name string, limit int) (out OfPayment, names []string, err error) {
	if out.Payment, err = paymentNamed(ctx, tx, name); err != nil {
		return out, nil, err
	}
	names = []string{name}
	if out.Payment != nil {
		names = append(names, PaymentNames(out.Payment.Payment)...)
	}
	out.Reversals, err = Newest(ctx, tx, tables.Reversals, "provider_payment_id = any($1)", "stream_seq desc", limit, names)
	if err != nil || out.Payment == nil {
		return out, names, err
	}
	p := out.Payment.Payment
	// Lines under the order were corrected to nothing when both names turned out to be one payment.
	if out.Ledger, err = newestLines(ctx, tx, "provider_payment_id = any($1)", limit, PaymentNames(p)); err != nil {
		return out, names, err
	}
	out.Grants, err = grantsOfPayment(ctx, tx, schema, p, limit)
	return out, names, err
}

// paymentNamed reads the payment that has this name: as its key, or else as its transaction or order. It
// returns nil if there is none.
func paymentNamed(ctx context.Context, tx pgx.Tx, name string) (*Payment, error) {
	found, err := tables.PaymentsNamed(ctx, tx, []string{name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	byKey := slices.IndexFunc(found, func(p projections.Payment) bool { return p.ProviderPaymentID == name })
	one := found[max(byKey, 0)]
	return &Payment{one, one.Facts}, nil
}

// PaymentNames lists the names that events, reversals and ledger lines may have for the payment. Some may be
// empty.
func PaymentNames(p projections.Payment) []string {
	return []string{p.ProviderPaymentID, p.TransactionID, p.OrderID}
}
