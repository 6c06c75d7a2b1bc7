package projections

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Reversal is one refund or dispute. If it comes before its payment, it waits in its table and
// takes effect when the payment is claimed.
type Reversal struct {
	EventID           string    `db:"event_id,key"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	OrderID           string    `db:"order_id"`
	Cause             string    `db:"cause"` // refund or chargeback; it is the entry of its ledger lines
	Status            string    `db:"status"`
	Amount            *int64    `db:"amount"` // nil: everything
	Paid              *int64    `db:"paid"`   // the whole of which Amount is a part; nil: the payment's amount
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`

	Cumulative bool `db:"cumulative"` // Amount is the total of all reversals so far
}

// counts reports whether the money was really taken back, and not only requested or refused.
func (r *Reversal) counts() bool { return r.Status == "" || r.Status == "succeeded" }

// taken is what some reversals of one payment take back together: the largest cumulative
// amount, and the sum of the amounts of the others.
type taken struct {
	largest, sum int64
	paid         *int64 // the largest Paid of a reversal, otherwise the payment's amount; nil: none or unknown
	whole        bool   // a reversal without an amount takes everything back
}

func takenBy(reversals []Reversal, p *Payment) (t taken) {
	for _, r := range reversals {
		if r.Paid != nil && *r.Paid > 0 && (t.paid == nil || *r.Paid > *t.paid) {
			t.paid = r.Paid
		}
	}
	if t.paid == nil && p.Amount != nil && *p.Amount > 0 {
		t.paid = p.Amount
	}
	for _, r := range reversals {
		t.add(r)
	}
	return t
}

func (t *taken) add(r Reversal) {
	switch {
	case r.Amount == nil:
		t.whole = true
	case r.Cumulative:
		t.largest = max(t.largest, *r.Amount)
	default:
		t.sum = saturated(t.sum, *r.Amount)
	}
}

// TakenBack returns by how much each of a payment's reversals has raised its RefundedAmount. The
// reversals must be in the order of the log, and each must count. The sum is RefundedAmount.
func TakenBack(reversals []Reversal, p Payment) []int64 {
	out, before := make([]int64, len(reversals)), int64(0)
	soFar, paid := takenBy(nil, &p), int64(0)
	for i, r := range reversals {
		if r.Paid != nil && *r.Paid > paid { // a reversal's Paid has priority over the payment's amount
			soFar.paid, paid = r.Paid, *r.Paid
		}
		soFar.add(r)
		total := orZero(soFar.amount())
		out[i], before = total-before, total
	}
	return out
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (t *taken) total() int64 { return saturated(t.largest, t.sum) }

// all reports whether nothing of the payment is left. If it is unknown what was paid, any
// amount takes everything back.
func (t *taken) all() bool {
	switch {
	case t.whole:
		return true
	case t.paid == nil:
		return t.total() > 0
	default:
		return t.total() >= *t.paid
	}
}

// of returns the share of the credits that is taken back, rounded down in favour of the customer.
func (t *taken) of(credits int64) int64 {
	if t.all() {
		return credits
	}
	if t.paid == nil {
		return 0
	}
	high, low := bits.Mul64(uint64(credits), uint64(t.total()))
	share, _ := bits.Div64(high, low, uint64(*t.paid)) // total < paid, so it fits
	return int64(share)
}

// amount returns the money that is taken back, at most what was paid; nil if it is unknown.
func (t *taken) amount() *int64 {
	total := t.total()
	switch {
	case t.paid == nil && total == 0:
		return nil
	case t.paid == nil:
	case t.whole || total > *t.paid:
		total = *t.paid
	}
	return &total
}

// reversedAt returns the provider's time of the reversal after which nothing was left; zero if
// something is left.
func (t *taken) reversedAt(reversals []Reversal) time.Time {
	if !t.all() {
		return time.Time{}
	}
	reversals = slices.SortedFunc(slices.Values(reversals), func(a, b Reversal) int { return a.OccurredAt.Compare(b.OccurredAt) })
	soFar := taken{paid: t.paid}
	for _, r := range reversals {
		if soFar.add(r); soFar.all() {
			return r.OccurredAt
		}
	}
	return time.Time{}
}
