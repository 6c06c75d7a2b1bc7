package projections

import (
	"cmp"
	"slices"
	"time"
)

// due is one grant that a payment must have in the ledger.
type due struct {
	credits           int64
	covered           int64     // what the month does not grant, because an earlier payment has granted it at once
	availableAt, ends time.Time // ends is when the payment's next month begins
	expires           time.Time // zero: never
	fixed             bool      // an event says when it expires
}

// expiresAt reports whether a grant of the ledger expires when this one does. A validity of months moves with the payment.
func (d *due) expiresAt(have time.Time) bool {
	if d.fixed {
		return have.Equal(d.expires)
	}
	return sameMonth(have, d.expires)
}

// claimed is a claimed payment and what was sold with it.
type claimed struct {
	*Payment
	sale
	back taken // what its reversals have taken back; only of payments that share a period
}

// dues returns the grants of a payment that is the only one of its period: one a month. All months are counted from the
// payment, so they meet: of one on 31 January the month of 28 February ends on 31 March.
func (c *claimed) dues() []due {
	if c.UserID == "" || orZero(c.sale.credits) == 0 {
		return nil
	}
	credits, months := *c.sale.credits, min(max(c.months, 1), *c.sale.credits)
	all := make([]due, months)
	for month := range months {
		one := due{credits: credits / months, availableAt: addMonths(c.OccurredAt, month), ends: addMonths(c.OccurredAt, month+1)}
		if month < credits%months {
			one.credits++
		}
		if c.valid > 0 {
			one.expires = addMonths(c.OccurredAt, month+c.valid)
		}
		if !c.expires.IsZero() {
			one.expires, one.fixed = c.expires, true
		}
		all[month] = one
	}
	if c.rest && !c.PeriodEnd.IsZero() {
		return until(all, c.PeriodEnd.Add(-time.Microsecond))
	}
	return all
}

// kept returns the grants without those that went back with the money, the latest available first. Credits that the shop
// has taken back without money count: another payment must not grant them again.
func (c *claimed) kept(grants []due) []due {
	back := c.back.share(totalOf(grants))
	if back == 0 { // nearly always
		return grants
	}
	grants = slices.Clone(grants)
	for i := range slices.Backward(grants) {
		part := min(back, grants[i].credits)
		grants[i].credits, back = grants[i].credits-part, back-part
	}
	return grants
}

// grantsOf returns the grants of the payments of one period of a subscription, which one user has claimed as one kind. The
// period grants as much as its largest payment would alone, not the sum: each payment grants what it adds to what is kept
// of the earlier ones. If credits come monthly, a payment replaces the earlier ones: their months end with the one in which
// the payment came, and in that month the larger of the two counts. What an earlier payment has granted at once, for the
// whole period, counts for the first months, until they have added up to more. It does not count again for months that
// have ended when the next plan with monthly credits comes.
func grantsOf(payments []claimed) [][]due {
	slices.SortFunc(payments, func(a, b claimed) int { return InPeriod(a.Payment, b.Payment) })
	all := make([][]due, len(payments))
	for i := range payments {
		p, own := &payments[i], payments[i].dues()
		if i > 0 && len(own) > 0 {
			for j := range all[:i] {
				all[j] = until(all[j], p.OccurredAt)
			}
			if p.isMonthly() {
				own = until(own, p.PeriodEnd.Add(-time.Microsecond))
			}
			atOnce, inMonth := p.given(payments[:i], all)
			own[0].credits = max(0, own[0].credits-inMonth)
			for month := range own {
				part := min(atOnce, own[month].credits)
				own[month].credits, own[month].covered, atOnce = own[month].credits-part, part, atOnce-part
			}
		}
		all[i] = own
	}
	return all
}

// given returns what the earlier payments of the period have given of what this one grants: at once, and, if it grants
// monthly, in the month in which it comes.
func (c *claimed) given(earlier []claimed, grants [][]due) (atOnce, inMonth int64) {
	over := int64(0)
	for i := range earlier {
		counts := earlier[i].kept(grants[i])
		switch {
		case !c.isMonthly():
			atOnce += totalOf(counts)
		case earlier[i].isMonthly():
			inMonth += totalOf(ofMonth(counts, c.OccurredAt))
			over += earlier[i].over(grants[i], c.OccurredAt)
		default:
			if atOnce += totalOf(counts); totalOf(grants[i]) > 0 { // it was compared with all months before it
				over = 0
			}
		}
	}
	return max(0, atOnce-over), inMonth
}

// over returns what the months that have ended at that time have of earlier payments. The month of that time is the first
// of the payment that comes then.
func (c *claimed) over(grants []due, at time.Time) (covered int64) {
	for i := range grants {
		if grants[i].ends.After(at) {
			grants[i].covered = 0
		}
		covered += grants[i].covered
	}
	return covered - c.back.share(covered)
}

// isMonthly reports whether the credits of the payment come monthly, and not at once.
func (c *claimed) isMonthly() bool { return c.months > 1 }

// InPeriod orders the payments of one period: each grants what it adds to the earlier ones.
func InPeriod(a, b *Payment) int {
	return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(a.EventID, b.EventID))
}

// sameMonth reports whether two grants of a payment are of one of its months. A grant does not move when an earlier event
// of the payment comes later. Two months begin at least 28 days apart.
func sameMonth(a, b time.Time) bool { return a.Sub(b).Abs() < 28*24*time.Hour }

// until returns the grants that are available at that time. The first stays in any case.
func until(grants []due, at time.Time) []due {
	for i := range grants {
		if i > 0 && grants[i].availableAt.After(at) {
			return grants[:i]
		}
	}
	return grants
}

// ofMonth returns the grants of the month before that time.
func ofMonth(grants []due, at time.Time) []due {
	return slices.DeleteFunc(slices.Clone(grants), func(one due) bool { return !one.ends.After(at) })
}

func totalOf(grants []due) (sum int64) {
	for i := range grants {
		sum += grants[i].credits
	}
	return sum
}
