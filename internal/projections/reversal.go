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
func reverse(r Rules, s *State, f *facts) (Outcome, error) {
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
	f.payment = s.named(f)
	row.ProviderPaymentID = f.payment.ProviderPaymentID
	s.Reversals.Put(row.EventID, row)
	s.indexReversal(row)
	r.touch(s, f, f.payment)
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

// settle writes the ledger lines that are missing from what there is to what there
// ought to be, which is a function of the payment and its reversals alone. Grants
// are written by the event by, reversals by themselves, one after the other in the
// order of the log, corrections by the event now. It changes nothing where all is
// settled.
func (s *State) settle(p Payment, by, now granting) Payment {
	reversals := s.reversalsFor(p)
	all := takenBy(reversals, p)
	if len(reversals) > 0 {
		p.RefundedAmount, p.ReversedAt = all.amount(), all.reversedAt(reversals)
		s.putPayment(p)
	}
	s.undoOthers(p, now)
	ought := p.grants()
	granted, reversed := s.sums(p)
	if excess := reversed - all.of(ought); excess > 0 {
		s.take(p, -excess, entryCorrection, now)
		reversed -= excess
	}
	if granted > ought {
		s.take(p, granted-ought, entryCorrection, now)
	}
	if granted < ought {
		s.grant(p, ought-granted, by)
	}
	so := taken{paid: all.paid}
	for _, reversal := range reversals {
		so.add(reversal)
		if step := so.of(ought) - reversed; step > 0 {
			s.take(p, step, reversal.Cause, granting{reversal.EventID, reversal.OccurredAt, reversal.StreamSeq})
			reversed += step
		}
	}
	return p
}

// undoOthers takes back all that was granted as something else or to somebody else,
// before more was known of the payment.
func (s *State) undoOthers(p Payment, now granting) {
	for _, user := range []string{p.user(), p.OtherUserID} {
		for _, kind := range []Kind{KindSubscription, KindOneTime} {
			if user == "" || user == p.UserID && kind == p.Kind {
				continue
			}
			was := p
			was.UserID, was.Kind = user, kind
			granted, reversed := s.sums(was)
			s.take(was, -reversed, entryCorrection, now)
			s.take(was, granted, entryCorrection, now)
		}
	}
}

// reversalsFor lists what counts against the payment, in the order of the log.
func (s *State) reversalsFor(p Payment) []Reversal {
	var list []Reversal
	for _, id := range p.ids() {
		for _, event := range s.reversalsOf[id] {
			reversal, _ := s.Reversals.Get(event)
			list = append(list, reversal)
		}
	}
	slices.SortFunc(list, func(a, b Reversal) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	return list
}

// taken is what some reversals of one payment take back together: the largest
// cumulative amount seen, and the sum of those that count for themselves.
type taken struct {
	largest, sum int64
	paid         *int64 // the largest that any of them says, else the payment's amount; nil: nothing, or nobody knows
	whole        bool   // by one that says no amount
}

func takenBy(reversals []Reversal, p Payment) (t taken) {
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

// reversedAt is the provider's time of the reversal that left nothing, zero where
// something is left.
func (t *taken) reversedAt(reversals []Reversal) time.Time {
	if !t.all() {
		return time.Time{}
	}
	reversals = slices.SortedFunc(slices.Values(reversals), func(a, b Reversal) int { return a.OccurredAt.Compare(b.OccurredAt) })
	so := taken{paid: t.paid}
	for _, r := range reversals {
		if so.add(r); so.all() {
			return r.OccurredAt
		}
	}
	return time.Time{}
}
