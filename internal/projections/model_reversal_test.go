package projections_test

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// naiveReversal is one refund or dispute, from all events with its id.
type naiveReversal struct {
	said            []said
	status          events.ReversalStatus
	amount, credits *int64
}

// reverse adds up what the reversals of the payment take back.
func (m *naive) reverse(p *naivePayment) {
	var ids []string
	told := where(m.said, func(s said) bool {
		return s.Action == events.Reverse && (s.Transaction != "" && s.Transaction == p.transaction ||
			s.Transaction == "" && s.Order != "" && s.Order == p.order)
	})
	slices.SortStableFunc(told, inReversal)
	byID := map[string]*naiveReversal{}
	paid, total, apart, whole := int64(0), int64(0), int64(0), false
	for _, s := range told {
		id := cmp.Or(s.Reversal.ID, s.ID)
		r := byID[id]
		if r == nil {
			r = &naiveReversal{}
			byID[id] = r
			ids = append(ids, id)
		}
		r.said = append(r.said, s)
		if s.Reversal.Amount.Present && !isInOtherCurrency(s.Reversal, p.currency) {
			r.amount = s.Reversal.Amount.Pointer()
		}
		if s.Reversal.Credits.Present {
			r.credits = s.Reversal.Credits.Pointer()
		}
		paid = max(paid, s.Reversal.Paid.Value)
	}
	if p.amount != nil {
		paid = cmp.Or(paid, *p.amount)
	}
	sum := int64(0)
	for _, id := range ids {
		r := byID[id]
		r.status = newestStatus(r.said)
		if r.status == events.Succeeded && r.credits != nil {
			p.taken += *r.credits
		}
		named := r.amount != nil || r.credits != nil || slices.ContainsFunc(r.said, func(s said) bool { return s.Reversal.Total.Present })
		switch {
		case r.status != events.Succeeded:
		case r.amount != nil:
			sum += *r.amount
			if r.credits != nil && *r.credits == 0 {
				apart += *r.amount
			}
		case !named:
			whole = true
		}
	}
	for _, s := range told {
		own := byID[cmp.Or(s.Reversal.ID, s.ID)]
		if !s.Reversal.Total.Present || s.Reversal.Status != events.Succeeded || own.status != events.Succeeded &&
			own.amount == nil {
			continue
		}
		of := s.Reversal.Total.Value
		for _, r := range byID {
			if r.status == events.Failed && r.amount != nil && r.underWay(s.OccurredAt) {
				of -= *r.amount
			}
		}
		total = max(total, of)
	}
	switch taken := max(sum, total); {
	case taken == 0 && !whole:
	case !whole && paid == 0 && taken == apart:
		p.refunded = &taken
	case whole || paid == 0:
		p.share = big.NewRat(1, 1)
		if taken = cmp.Or(paid, taken); taken > 0 {
			p.refunded = &taken
		}
	default:
		taken = min(taken, paid)
		p.refunded, p.share = &taken, big.NewRat(1, 1)
		if taken < paid {
			p.share = big.NewRat(taken-apart, paid-apart)
		}
	}
}

func isInOtherCurrency(r events.Reversal, paidIn string) bool {
	return r.Amount.Value > 0 && r.Currency != "" && paidIn != "" && r.Currency != paidIn
}

// underWay reports whether a reversal that failed in the end was in a total of that time. A provider may tell the total
// up to two seconds before the reversal.
func (r *naiveReversal) underWay(at time.Time) bool {
	first, last := r.said[0], r.said[len(r.said)-1]
	return !first.OccurredAt.After(at.Add(2*time.Second)) && first.Reversal.Status != events.Failed &&
		last.OccurredAt.After(at)
}

var reversalLife = []events.ReversalStatus{events.Pending, events.Succeeded, events.Failed}

func inReversal(a, b said) int {
	place := func(s said) int { return slices.Index(reversalLife, s.Reversal.Status) }
	return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(place(a), place(b)), strings.Compare(a.ID, b.ID))
}

func newestStatus(of []said) events.ReversalStatus {
	return slices.MaxFunc(of, inReversal).Reversal.Status
}
