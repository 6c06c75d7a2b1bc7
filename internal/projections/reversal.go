package projections

import (
	"cmp"
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
	Cause             string    `db:"cause"`
	Status            string    `db:"status"`
	Amount            *int64    `db:"amount"` // nil: everything
	Paid              *int64    `db:"paid"`   // the whole of which Amount is a part; nil: the payment's amount
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`

	Cumulative bool `db:"cumulative"` // Amount is the total of all reversals so far
}

// causes maps event types to the ledger entries of reversals.
var causes = map[string]string{"refund.created": "refund", "dispute.created": "chargeback"}

// reverse is the rule of refund.created and dispute.created. They need only a name of the
// payment, which knows the user and the kind. What is reversed is settled against what the
// payment granted, now or when it is claimed.
func reverse(r Rules, s *State, f *facts) (Outcome, error) {
	if f.PaymentID() == "" {
		return Rejected, rejection(MissingPaymentID)
	}
	amount, paid := f.RefundAmount, f.PaidAmount
	cumulative := f.RefundedTotal.Present
	if cumulative && !(f.Type == "dispute.created" && (amount.Bad || amount.Value > f.RefundedTotal.Value)) {
		amount = f.RefundedTotal
	}
	if amount.Bad || amount.Value < 0 || paid.Bad || paid.Value < 0 {
		return Rejected, rejection(OutOfRange)
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
	r.recompute(s, f, f.payment)
	return Applied, nil
}

// LoadReversal adds a reversal of the database. One that is already here stays.
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

// counts reports whether the money was really taken back, and not only asked for or refused.
func (r Reversal) counts() bool { return r.Status == "" || r.Status == "succeeded" }

// settle writes the ledger lines that are missing. What the ledger must say is a function of
// the payment and its reversals only. Grants are written under the event by, corrections under
// the event now, and each reversal under its own event, in the order of the log. If no line is
// missing, settle writes none.
func (s *State) settle(p Payment, by, now ledgerEvent) Payment {
	reversals := s.reversalsFor(p)
	all := takenBy(reversals, p)
	if len(reversals) > 0 {
		p.RefundedAmount, p.ReversedAt = all.amount(), all.reversedAt(reversals)
		s.putPayment(p)
	}
	s.undoFormerGrants(p, now)
	due := p.creditsDue()
	granted, reversed := s.sums(p)
	if excess := reversed - all.of(due); excess > 0 {
		s.take(p, -excess, entryCorrection, now)
		reversed -= excess
	}
	if granted > due {
		s.take(p, granted-due, entryCorrection, now)
	}
	if granted < due {
		s.grant(p, due-granted, by)
	}
	soFar := taken{paid: all.paid}
	for _, reversal := range reversals {
		soFar.add(reversal)
		if step := soFar.of(due) - reversed; step > 0 {
			s.take(p, step, reversal.Cause, ledgerEvent{reversal.EventID, reversal.OccurredAt, reversal.StreamSeq})
			reversed += step
		}
	}
	return p
}

// undoFormerGrants takes back everything that was granted to another user or under another
// kind, before more was known of the payment.
func (s *State) undoFormerGrants(p Payment, now ledgerEvent) {
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

// reversalsFor lists the reversals that count for the payment, in the order of the log.
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

// taken is what some reversals of one payment take back together: the largest cumulative
// amount, and the sum of the amounts of the others.
type taken struct {
	largest, sum int64
	paid         *int64 // the largest that a reversal gives, otherwise the payment's amount; nil: none or unknown
	whole        bool   // a reversal without an amount takes everything back
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
