package projections

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// RevenueDay is one day's money in one currency for one kind, in minor units. A payment counts
// on its own day and a reversal on its own. So a day can have more refunded than paid. Sums
// beyond 63 bits wrap.
type RevenueDay struct {
	Day            time.Time `db:"day,key"`      // its start, UTC
	Currency       string    `db:"currency,key"` // "unknown" if the provider gives none
	Kind           string    `db:"kind,key"`
	Payments       int64     `db:"payments"`
	Gross          int64     `db:"gross"`
	Refunded       int64     `db:"refunded"`
	Net            int64     `db:"net"`
	RejectedEvents int64     `db:"rejected_events"` // rejected events that say that a payment arrived
	Rejected       int64     `db:"rejected"`        // the money that these events name; Gross may include it, too
}

type revenueKey struct {
	day            time.Time
	currency, kind string
}

type revenueDays = Rows[revenueKey, RevenueDay]

// countRevenue adds the event's changes of payments, and the money of a rejected claim.
func countRevenue(s *State, f *step, outcome Outcome) {
	days := &s.Revenue
	for before, after := range s.changedPayments {
		addPaid(days, before, -1)
		addPaid(days, after, 1)
		earlier := slices.DeleteFunc(s.reversalsFor(&before), func(r Reversal) bool { return r.EventID == f.ID })
		addTakenBack(days, before, earlier, -1)
		addTakenBack(days, after, s.reversalsFor(&after), 1)
	}
	if outcome == Rejected && f.claims() {
		addRevenue(days, f.OccurredAt, f.Currency, f.kind, func(r *RevenueDay) {
			r.RejectedEvents++
			r.Rejected += max(f.Amount.Value, 0)
		})
	}
}

// addPaid adds a payment if sign is 1, and subtracts it if sign is -1. A payment counts when
// everything except its user is known.
func addPaid(days *revenueDays, p Payment, sign int64) {
	if !p.Known {
		return
	}
	addRevenue(days, p.OccurredAt, p.Currency, p.Kind, func(r *RevenueDay) {
		r.Payments += sign
		r.Gross += sign * orZero(p.Amount)
	})
}

// addTakenBack adds what the reversals of a payment took back if sign is 1, and subtracts it if sign is -1. The money
// counts under the payment's currency and kind, as far as they are known.
func addTakenBack(days *revenueDays, p Payment, reversals []Reversal, sign int64) {
	for i, amount := range TakenBack(reversals, p) {
		if amount != 0 {
			addRevenue(days, reversals[i].OccurredAt, p.Currency, p.Kind, func(r *RevenueDay) { r.Refunded += sign * amount })
		}
	}
}

func addRevenue(days *revenueDays, at time.Time, currency, kind string, add func(*RevenueDay)) {
	if !isKind(kind) {
		kind = "unknown"
	}
	key := revenueKey{at.Truncate(24 * time.Hour), cmp.Or(currency, "unknown"), kind}
	row, known := days.Get(key)
	if !known {
		key.currency, key.kind = strings.Clone(key.currency), strings.Clone(key.kind) // otherwise the row keeps the event's whole text buffer in memory
		row.Day, row.Currency, row.Kind = key.day, key.currency, key.kind
	}
	add(&row)
	row.Net = row.Gross - row.Refunded
	days.Put(key, row)
}
