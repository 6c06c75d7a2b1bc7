package projections

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Reversal is one refund or dispute. One that comes before its payment waits
// here and takes effect with it.
type Reversal struct {
	EventID           string    `db:"event_id,key"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	OrderID           string    `db:"order_id"`
	Cause             string    `db:"cause"`
	Status            string    `db:"status"`
	Amount            *int64    `db:"amount"` // nil: all of it
	Paid              *int64    `db:"paid"`   // what Amount is part of; nil: the payment's amount
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`

	Cumulative bool `db:"cumulative"` // Amount is all that is taken back so far
}

// causes says what a reversal is in the ledger.
var causes = map[string]string{"refund.created": "refund", "dispute.created": "chargeback"}

// reverse is the rule of refund.created and dispute.created. They need only a
// payment's name: user and kind come from the payment, and what is reversed is
// settled against what it granted, now or when it is claimed.
func reverse(_ Rules, s *State, f *facts) (Outcome, error) {
	if f.PaymentID() == "" {
		return Rejected, refused(MissingPaymentID)
	}
	amount, paid := f.RefundAmount, f.PaidAmount
	cumulative := f.RefundedTotal.Present
	if cumulative && !(f.Type == "dispute.created" && (amount.Bad || amount.Value > f.RefundedTotal.Value)) {
		amount = f.RefundedTotal
	}
	if amount.Bad || amount.Value < 0 || paid.Bad || paid.Value < 0 {
		return Rejected, refused(OutOfRange)
	}
	row := Reversal{
		EventID: f.ID, ProviderPaymentID: f.PaymentID(), OrderID: f.Order, Cause: causes[f.Type], Status: f.Status,
		Amount: amount.Pointer(), Paid: paid.Pointer(), OccurredAt: f.OccurredAt, StreamSeq: int64(f.Seq), Cumulative: cumulative,
	}
	if !row.counts() {
		s.Reversals.Put(row.EventID, row)
		return Ignored, nil
	}
	p := s.named(f)
	if !f.known {
		p.EventID, p.OccurredAt, p.StreamSeq = f.ID, f.OccurredAt, int64(f.Seq)
	}
	s.putPayment(p)
	f.payment = p
	row.ProviderPaymentID = p.ProviderPaymentID
	s.Reversals.Put(row.EventID, row)
	s.indexReversal(row)
	s.settle(p)
	return Applied, nil
}

// LoadReversal puts a reversal as the database has it.
func (s *State) LoadReversal(row Reversal) {
	if _, loaded := s.Reversals.Get(row.EventID); loaded {
		return
	}
	s.Reversals.Load(row.EventID, row)
	s.indexReversal(row)
}

func (s *State) indexReversal(row Reversal) {
	if row.counts() {
		s.reversalsOf[row.ProviderPaymentID] = append(s.reversalsOf[row.ProviderPaymentID], row.EventID)
	}
}

// counts is false for what the provider has not taken back, or not yet.
func (r Reversal) counts() bool { return r.Status == "" || r.Status == "succeeded" }

// settle brings what is taken back of a payment up to its reversals, one after
// the other in the order of the log. It is called whenever a payment gets a
// reversal or a grant, and changes nothing where all is settled.
func (s *State) settle(p Payment) {
	var reversals []Reversal
	for _, id := range s.reversalsOf[p.ProviderPaymentID] {
		reversal, _ := s.Reversals.Get(id)
		reversals = append(reversals, reversal)
	}
	if len(reversals) == 0 {
		return
	}
	slices.SortFunc(reversals, func(a, b Reversal) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	granted, reversed := s.Ledger.sums(p)
	var taken taken
	p.ReversedAt = time.Time{}
	for _, reversal := range reversals {
		taken.add(reversal, p)
		if step := taken.of(granted) - reversed; step > 0 {
			s.takeBack(p, reversal, step)
			reversed += step
		}
		if taken.all() && p.ReversedAt.IsZero() {
			p.ReversedAt = reversal.OccurredAt
		}
	}
	p.RefundedAmount = taken.amount(p)
	s.putPayment(p)
	if p.Kind == KindPro && p.UserID != "" {
		s.chooseLicense(p.UserID)
	}
}

// takeBack writes ledger lines that reverse that many credits of the payment's
// grants, the latest available first.
func (s *State) takeBack(p Payment, reversal Reversal, credits int64) {
	if p.Kind == KindOneTime {
		s.addCredits(p.UserID, -credits, reversal.StreamSeq)
	}
	for _, grant := range s.Ledger.remaining(p) {
		part := min(credits, grant.left)
		if part == 0 {
			continue
		}
		credits -= part
		line := grant.Line
		s.Ledger.add(LedgerLine{
			EventID: reversal.EventID, UserID: p.UserID, Kind: p.Kind, Entry: reversal.Cause, Delta: -part,
			ProviderPaymentID: p.ProviderPaymentID, ReversesEventID: grant.EventID, ReversesLine: &line,
			AvailableAt: grant.AvailableAt, ExpiresAt: grant.ExpiresAt,
			OccurredAt: reversal.OccurredAt, StreamSeq: reversal.StreamSeq,
		})
	}
}

// taken is what some reversals of one payment take back together: the largest
// cumulative amount seen, and the sum of those that count for themselves.
type taken struct {
	largest, sum int64
	paid         *int64
	whole        bool // by one that says no amount
}

func (t *taken) add(r Reversal, p Payment) {
	switch {
	case r.Paid != nil:
		t.paid = r.Paid
	case p.Amount != nil:
		t.paid = p.Amount
	}
	switch {
	case r.Amount == nil:
		t.whole = true
	case r.Cumulative:
		t.largest = max(t.largest, *r.Amount)
	default:
		t.sum = saturated(t.sum, *r.Amount)
	}
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (t *taken) total() int64 { return saturated(t.largest, t.sum) }

// all says whether nothing of the payment is left. Where nobody knows what was
// paid, any amount is all of it.
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

// of is the share of the credits, rounded down: towards the customer.
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

// amount is what is taken back in money, at most what was paid; nil where nobody knows.
func (t *taken) amount(p Payment) *int64 {
	total := t.total()
	switch {
	case t.whole && t.paid == nil, t.paid == nil && total == 0:
		return p.RefundedAmount
	case t.paid == nil:
	case t.whole || total > *t.paid:
		total = *t.paid
	}
	return &total
}
