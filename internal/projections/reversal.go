package projections

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Reversal is what one event says of a refund or a dispute. If it comes before its payment, it waits in its table and
// takes effect when the payment is claimed. Several events can be about one refund or dispute (see taken).
type Reversal struct {
	EventID           string    `db:"event_id,key"`
	ReversalID        string    `db:"reversal_id"` // the provider's id of the refund or dispute; the event's id if it has none
	ProviderPaymentID string    `db:"provider_payment_id"`
	OrderID           string    `db:"order_id"`
	Cause             string    `db:"cause"` // an events.Cause; it is the entry of its ledger lines
	Status            string    `db:"status"`
	Amount            *int64    `db:"amount"`   // what it takes back; nil, without a Total: everything
	Currency          string    `db:"currency"` // of Amount; empty: the payment's
	Total             *int64    `db:"total"`    // what all reversals of the payment have taken back so far; nil: the event does not say
	Paid              *int64    `db:"paid"`     // the whole of which Amount is a part; nil: the payment's amount
	Credits           *int64    `db:"credits"`  // how many it takes back, and no money; 0: only Amount; nil: the money decides
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`
}

// InOtherCurrency reports whether its amount is known to be in another currency than that of the payment. Then it is no
// part of what was paid, and the reversal takes back everything. 0 is the same in each currency.
func (r *Reversal) InOtherCurrency(ofPayment string) bool {
	return r.Currency != "" && ofPayment != "" && r.Currency != ofPayment && orZero(r.Amount) > 0
}

func (r *Reversal) succeeded() bool { return r.Status == string(events.Succeeded) }

// DecidesAfter orders two events of one reversal: the later by the provider's time decides its status. Of two of the
// same time, the one that is further on its way decides; then the id.
func (r *Reversal) DecidesAfter(other *Reversal) bool { return inTime(*r, *other) > 0 }

func inTime(a, b Reversal) int {
	return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(reversalOrder(a.Status), reversalOrder(b.Status)),
		cmp.Compare(a.EventID, b.EventID))
}

func reversalOrder(status string) int {
	return slices.Index([]string{string(events.Pending), string(events.Succeeded), string(events.Failed)}, status)
}

// taken is what the events of one payment's reversals say that was taken back. It is the larger of two sums: the amounts
// of the reversals that count, and the largest total that an event names. A reversal counts if the event that decides its
// status says that it succeeded. The order of the events does not matter.
type taken struct {
	reversals map[string]*reversed
	totals    []Reversal // the events that name a total
	sum       wide       // of the amounts of the reversals that count
	apart     wide       // the part of sum that takes back nothing of what was sold, such as a tax
	credits   wide       // that the reversals that count take back beside the money
	wholes    int        // the reversals that count and name neither: each takes everything back
	failed    int        // the reversals that have failed
	currency  string     // of the payment; empty: unknown
	paid      *int64     // the largest Paid of a reversal, otherwise the payment's amount; nil: none or unknown
	ofPayment bool       // paid is the payment's amount
}

// reversed is one refund or dispute.
type reversed struct {
	first, last Reversal // by the provider's time
	amount      *Reversal
	credits     *Reversal
	hasTotal    bool
}

func newTaken(p *Payment) taken {
	t := taken{currency: p.Currency, ofPayment: true}
	if p.Amount != nil && *p.Amount > 0 {
		t.paid = p.Amount
	}
	return t
}

func takenBy(reversals []Reversal, p *Payment) taken {
	t := newTaken(p)
	for _, r := range reversals {
		t.add(r)
	}
	return t
}

func (t *taken) add(r Reversal) {
	if r.Paid != nil && *r.Paid > 0 && (t.paid == nil || t.ofPayment || *r.Paid > *t.paid) {
		t.paid, t.ofPayment = r.Paid, false
	}
	if r.Total != nil {
		t.totals = append(t.totals, r)
	}
	one := t.reversals[r.ReversalID]
	if t.reversals == nil {
		t.reversals = map[string]*reversed{}
	}
	if one == nil {
		one = &reversed{first: r, last: r}
		t.reversals[r.ReversalID] = one
	} else {
		t.count(one, -1)
	}
	if one.first.DecidesAfter(&r) {
		one.first = r
	}
	if r.DecidesAfter(&one.last) {
		one.last = r
	}
	if r.Amount != nil && !r.InOtherCurrency(t.currency) && (one.amount == nil || r.DecidesAfter(one.amount)) {
		one.amount = &r
	}
	if r.Credits != nil && (one.credits == nil || r.DecidesAfter(one.credits)) {
		one.credits = &r
	}
	one.hasTotal = one.hasTotal || r.Total != nil
	t.count(one, 1)
}

// count adds the reversal to the sums if sign is 1, and takes it away if sign is -1.
func (t *taken) count(one *reversed, sign int) {
	if one.last.Status == string(events.Failed) {
		t.failed += sign
	}
	if !one.last.succeeded() {
		return
	}
	if one.amount != nil {
		t.sum.plus(*one.amount.Amount, sign)
		if one.credits != nil && *one.credits.Credits == 0 {
			t.apart.plus(*one.amount.Amount, sign)
		}
	}
	if one.credits != nil {
		t.credits.plus(*one.credits.Credits, sign)
	}
	if one.amount == nil && one.credits == nil && !one.hasTotal {
		t.wholes += sign
	}
}

// counts reports whether the event takes something back: its reversal counts, or it names a total in which others are.
func (t *taken) counts(r *Reversal) bool {
	return t.reversals[r.ReversalID].last.succeeded() || r.Total != nil && t.without(r) > 0
}

// total returns the money that was taken back, as far as it is told.
func (t *taken) total() int64 {
	total := t.sum.saturated()
	for i := range t.totals {
		total = max(total, t.without(&t.totals[i]))
	}
	return total
}

// without returns the total that an event names, without the reversals in it that failed later. The total of a reversal
// that has not succeeded says nothing.
func (t *taken) without(r *Reversal) int64 {
	if one := t.reversals[r.ReversalID]; !r.succeeded() || !one.last.succeeded() && one.amount == nil {
		return 0
	}
	total := *r.Total
	if t.failed == 0 { // nearly always
		return total
	}
	for _, one := range t.reversals {
		if one.amount != nil && one.failedAfter(r.OccurredAt) {
			total = max(0, total-*one.amount.Amount)
		}
	}
	return total
}

// failedAfter reports whether the reversal was under way at that time, and failed later.
func (one *reversed) failedAfter(at time.Time) bool {
	return one.last.Status == string(events.Failed) && one.last.OccurredAt.After(at) &&
		one.first.Status != string(events.Failed) && !one.first.OccurredAt.After(at.Add(sentTogether))
}

// sentTogether is how far apart a provider's times of two events can be that it sends at once: of a refund, and of the
// total with it; of a payment, and of the change that it pays for.
const sentTogether = 2 * time.Second

// all reports whether nothing of the payment is left. If it is unknown what was paid, any
// amount takes everything back.
func (t *taken) all() bool {
	switch {
	case t.wholes > 0:
		return true
	case t.paid == nil:
		return t.total() > t.apart.saturated()
	default:
		return t.total() >= *t.paid
	}
}

// of returns how many of the credits are taken back: the share of the money, and what is taken back beside it.
func (t *taken) of(credits int64) int64 {
	return min(credits, saturated(t.share(credits), t.credits.saturated()))
}

// share returns the share of the credits that goes with the money, rounded down in favour of the customer. Money that
// takes back nothing of what was sold was not paid for it.
func (t *taken) share(credits int64) int64 {
	if t.all() {
		return credits
	}
	if t.paid == nil {
		return 0
	}
	apart := t.apart.saturated()
	high, low := bits.Mul64(uint64(credits), uint64(t.total()-apart))
	share, _ := bits.Div64(high, low, uint64(*t.paid-apart)) // total < paid, so it fits
	return int64(share)
}

// amount returns the money that is taken back, at most what was paid; nil if it is unknown, or nothing.
func (t *taken) amount() *int64 {
	total := t.total()
	switch {
	case total == 0 && (t.wholes == 0 || t.paid == nil):
		return nil
	case t.paid == nil:
	case t.wholes > 0 || total > *t.paid:
		total = *t.paid
	}
	return &total
}

// counting returns the events that count (see counts).
func (t *taken) counting(reversals []Reversal) []Reversal {
	return slices.DeleteFunc(slices.Clone(reversals), func(r Reversal) bool { return !t.counts(&r) })
}

// last returns the event after which nothing was left, by the provider's time; nil if something is left. The events are
// those that count.
func (t *taken) last(counting []Reversal, p *Payment) *Reversal {
	if !t.all() {
		return nil
	}
	soFar := newTaken(p)
	soFar.paid, soFar.ofPayment = t.paid, t.ofPayment
	for _, r := range slices.SortedFunc(slices.Values(counting), inTime) {
		if soFar.add(r); soFar.all() {
			return &r
		}
	}
	return nil
}

// TakenBack returns by how much each of the events of a payment's reversals has changed its RefundedAmount. The events
// must be in the order of the log. The sum is RefundedAmount.
func TakenBack(reversals []Reversal, p Payment) []int64 {
	out, before := make([]int64, len(reversals)), int64(0)
	soFar := newTaken(&p)
	for i, r := range reversals {
		soFar.add(r)
		total := orZero(soFar.amount())
		out[i], before = total-before, total
	}
	return out
}

// wide is a sum of amounts that 64 bits may not hold.
type wide struct{ high, low uint64 }

func (w *wide) add(amount int64) {
	low, carry := bits.Add64(w.low, uint64(amount), 0)
	w.low, w.high = low, w.high+carry
}

// plus adds the amount if sign is 1, and takes it away if sign is -1.
func (w *wide) plus(amount int64, sign int) {
	if sign < 0 {
		w.subtract(amount)
		return
	}
	w.add(amount)
}

func (w *wide) subtract(amount int64) {
	low, borrow := bits.Sub64(w.low, uint64(amount), 0)
	w.low, w.high = low, w.high-borrow
}

func (w *wide) saturated() int64 {
	if w.high > 0 || w.low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(w.low)
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
