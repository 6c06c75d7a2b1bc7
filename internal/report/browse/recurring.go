package browse

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/page"
)

// recurringRevenue is the recurring revenue of a schema.
type recurringRevenue struct {
	changes []recurringChange // in order
	unknown int64             // payments of subscriptions whose period is not known
}

// recurringChange is by how much the recurring revenue of one currency changed on a day.
type recurringChange struct {
	date     time.Time // see page.DateOf
	currency string
	by       Sum
}

// paidPeriod is what one payment of a subscription adds to the recurring revenue, from one time until another.
type paidPeriod struct {
	currency    string
	monthly     int64
	from, until time.Time
}

//go:embed measured_recurring.sql
var recurringSQL string

// readRecurring adds up the changes up to now. It holds the periods of one subscription in memory.
func readRecurring(ctx context.Context, tx pgx.Tx, now Moment, zone *time.Location) (out recurringRevenue, err error) {
	sums := map[recurringKey]*big.Int{}
	var of string
	var own []paidPeriod
	rows, _ := tx.Query(ctx, recurringSQL) // ForEachRow returns its error
	var subscription, currency string
	var amount int64
	var from, end, until *time.Time
	_, err = pgx.ForEachRow(rows, []any{&subscription, &currency, &amount, &from, &end, &until}, func() error {
		if subscription != of {
			addRecurring(sums, own, now.At, zone)
			of, own = subscription, own[:0]
		}
		if from == nil || end == nil || !from.Before(*end) {
			out.unknown++
			return nil
		}
		own = append(own, paidPeriod{currency, monthly(amount, *from, *end), *from, *until})
		return nil
	})
	addRecurring(sums, own, now.At, zone)
	for key, by := range sums {
		if by.Sign() != 0 {
			out.changes = append(out.changes, recurringChange{time.Unix(key.date, 0).UTC(), key.currency, sum(by)})
		}
	}
	slices.SortFunc(out.changes, func(a, b recurringChange) int {
		return cmp.Or(a.date.Compare(b.date), cmp.Compare(a.currency, b.currency))
	})
	return out, err
}

type recurringKey struct {
	date     int64
	currency string
}

// daysOfMonth is a twelfth of the average year of 365.2425 days.
const daysOfMonth = 365.2425 / 12

// monthly is a month's share of what was paid for a period, rounded to the minor unit. A period of 28 days or more has
// whole months, so that each month of a year has the same share, and a year has twelve.
func monthly(amount int64, from, to time.Time) int64 {
	days := math.Max(1, math.Round(to.Sub(from).Hours()/24))
	months := new(big.Rat).SetFloat64(days / daysOfMonth)
	if days >= 28 {
		months.SetInt64(int64(math.Max(1, math.Round(days/daysOfMonth))))
	}
	share := new(big.Rat).Quo(new(big.Rat).SetInt64(amount), months)
	// half up: floor((2n + d) / 2d)
	rounded := new(big.Int).Lsh(share.Num(), 1)
	rounded.Add(rounded, share.Denom()).Quo(rounded, new(big.Int).Lsh(share.Denom(), 1))
	if !rounded.IsInt64() {
		return math.MaxInt64
	}
	return rounded.Int64()
}

// addRecurring adds the changes of one subscription. If several payments cover a moment, the largest of a currency
// counts, so that an upgrade that is paid in part does not count as a cheaper plan.
func addRecurring(sums map[recurringKey]*big.Int, periods []paidPeriod, now time.Time, zone *time.Location) {
	type edge struct {
		at     time.Time
		begins bool
		period int
	}
	var edges []edge
	for i, p := range periods {
		if p.from.Before(p.until) {
			edges = append(edges, edge{p.from, true, i}, edge{p.until, false, i})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	running, counted := map[int]bool{}, map[string]int64{}
	for i, e := range edges {
		if e.at.After(now) {
			break
		}
		if running[e.period] = e.begins; !e.begins {
			delete(running, e.period)
		}
		if i+1 < len(edges) && edges[i+1].at.Equal(e.at) {
			continue
		}
		largest := map[string]int64{}
		for period := range running {
			p := &periods[period]
			largest[p.currency] = max(largest[p.currency], p.monthly)
		}
		for currency := range counted {
			largest[currency] += 0
		}
		for currency, amount := range largest {
			key := recurringKey{page.DateOf(e.at, zone).Unix(), currency}
			if amount != counted[currency] && sums[key] == nil {
				sums[key] = new(big.Int)
			}
			if amount != counted[currency] {
				sums[key].Add(sums[key], big.NewInt(amount-counted[currency]))
				counted[currency] = amount
			}
		}
	}
}

// CurrencyRecurring is the recurring revenue of one currency at the end of each period.
type CurrencyRecurring struct {
	Currency string            `json:"currency"`
	Periods  []RecurringPeriod `json:"periods"`
}

// RecurringPeriod is the recurring revenue of a month at the end of a period; of the present one, now. It is in minor
// units.
type RecurringPeriod struct {
	Period
	Monthly Sum `json:"monthly"`
}

// of returns the recurring revenue of the span, in order of the currencies.
func (r recurringRevenue) of(span Span) (out []CurrencyRecurring) {
	periods := span.Periods()
	at := map[string]int{}
	var sums []Sum
	place, end := 0, span.first
	for i := range periods {
		end = span.By.next(end)
		for ; place < len(r.changes) && r.changes[place].date.Before(end); place++ {
			change := r.changes[place]
			if _, has := at[change.currency]; !has {
				at[change.currency] = len(out)
				out = append(out, CurrencyRecurring{change.currency, zeroRecurring(periods)})
				sums = append(sums, Sum{})
			}
			sums[at[change.currency]] = sums[at[change.currency]].Add(change.by)
		}
		for j := range out {
			out[j].Periods[i].Monthly = sums[j]
		}
	}
	out = slices.DeleteFunc(out, func(c CurrencyRecurring) bool {
		return !slices.ContainsFunc(c.Periods, func(p RecurringPeriod) bool { return p.Monthly != (Sum{}) })
	})
	slices.SortFunc(out, func(a, b CurrencyRecurring) int { return cmp.Compare(a.Currency, b.Currency) })
	return out
}

func zeroRecurring(periods []Period) []RecurringPeriod {
	out := make([]RecurringPeriod, len(periods))
	for i, p := range periods {
		out[i].Period = p
	}
	return out
}
