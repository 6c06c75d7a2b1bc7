package browse

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// RevenueDay is one day's money in one currency for one kind, in minor units. A payment counts on
// its own day and a reversal on its own.
//
// If the shop's time zone is UTC, all sums equal those of the table revenue_daily, but do not wrap. The table's columns of
// rejected events are left out, because the amounts of these events are only in the log.
type RevenueDay struct {
	Day      time.Time `json:"day"` // its start in the shop's time zone
	Currency string    `json:"currency"`
	Kind     string    `json:"kind"`
	Payments int64     `json:"payments"`
	Gross    Sum       `json:"gross"`
	Refunded Sum       `json:"refunded"`
	Net      Sum       `json:"net"`

	date time.Time // see page.DateOf
}

// RevenueAnswer has the revenue of some days. Its Moment is the moment of the computation.
type RevenueAnswer struct {
	Moment
	Days       []RevenueDay      `json:"days"`   // the newest first
	Currencies []CurrencyRevenue `json:"-"`      // of the same days
	Months     []CurrencyRevenue `json:"months"` // the last month, and the present one so far
	// Fault says why the days cannot be added up.
	Fault string `json:"fault,omitempty"`
}

// revenueFault adds to the fault of a measure what an operator can do.
func (m *Measures) revenueFault(fault string) string {
	if fault == tooSlow(m.background.timeout) {
		return fault + "; use projector rebuild --with revenue_daily"
	}
	return fault
}

// since returns the days from the first of the span on. The days are the newest first.
func since(days []RevenueDay, span Span) []RevenueDay {
	end := sort.Search(len(days), func(i int) bool { return days[i].date.Before(span.first) })
	return days[:end:end]
}

//go:embed revenue_paid.sql
var revenuePaidSQL string

func readRevenue(ctx context.Context, tx pgx.Tx, _ Moment, zone *time.Location) ([]RevenueDay, error) {
	days := revenueDays{}
	rows, _ := tx.Query(ctx, revenuePaidSQL, zone.String()) // ForEachRow returns its error
	var d RevenueDay
	_, err := pgx.ForEachRow(rows, []any{&d.date, &d.Currency, &d.Kind, &d.Payments, &d.Gross}, func() error {
		*days.at(d.date, d.Currency, d.Kind) = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := days.addReversals(ctx, tx, zone); err != nil {
		return nil, err
	}
	return days.list(zone), nil
}

type revenueKey struct {
	day            int64
	currency, kind string
}

type revenueDays map[revenueKey]*RevenueDay

func (days revenueDays) at(date time.Time, currency, kind string) *RevenueDay {
	key := revenueKey{date.Unix(), cmp.Or(currency, "unknown"), cmp.Or(kind, "unknown")}
	if days[key] == nil {
		days[key] = &RevenueDay{date: date, Currency: key.currency, Kind: key.kind}
	}
	return days[key]
}

//go:embed revenue_reversals.sql
var revenueReversalsSQL string

// addReversals adds to Refunded of each day what its reversals have taken back. It holds those of one payment in memory.
func (days revenueDays) addReversals(ctx context.Context, tx pgx.Tx, zone *time.Location) error {
	var of projections.Payment
	var own []projections.Reversal
	addOwn := func() {
		for i, amount := range projections.TakenBack(own, of) {
			day := days.at(page.DateOf(own[i].OccurredAt, zone), of.Currency, of.Kind)
			day.Refunded = day.Refunded.Add(SumOf(amount))
		}
		own = own[:0]
	}
	rows, _ := tx.Query(ctx, revenueReversalsSQL) // ForEachRow returns its error
	var p projections.Payment
	var r projections.Reversal
	_, err := pgx.ForEachRow(rows, []any{&p.ProviderPaymentID, &p.Amount, &p.Currency, &p.Kind, &r.EventID, &r.ReversalID, &r.Status, &r.Amount, &r.Currency, &r.Total, &r.Paid, &r.Credits, &r.OccurredAt}, func() error {
		if p.ProviderPaymentID != of.ProviderPaymentID {
			addOwn()
			of = p
		}
		own = append(own, r)
		return nil
	})
	addOwn()
	return err
}

// list returns the days, the newest first.
func (days revenueDays) list(zone *time.Location) []RevenueDay {
	out := make([]RevenueDay, 0, len(days))
	for _, d := range days {
		if d.Payments == 0 && d.Gross == (Sum{}) && d.Refunded == (Sum{}) {
			continue
		}
		d.Day, d.Net = page.StartOfDay(d.date, zone), d.Gross.Sub(d.Refunded)
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b RevenueDay) int {
		return cmp.Or(b.date.Compare(a.date), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
