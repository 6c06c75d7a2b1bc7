package browse

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// Measures computes numbers of a shop, and keeps each for half a minute or longer; Run does the work. docs/measures.md
// defines most of them. It is safe for concurrent use.
type Measures struct {
	background    *background
	zone          *time.Location
	revenue       *kept[[]RevenueDay]
	recurring     *kept[recurringRevenue]
	subscriptions *kept[[]lives]
	trials        *kept[[]trial]
	credits       *kept[[]ExpiringCredits]
	standing      *kept[Standing]

	quick     *background // does not wait for the measures
	figures   *kept[Figures]
	ungranted *kept[[]Ungranted]
}

// NewMeasures returns Measures that know nothing yet. Days begin in the shop's time zone, which must be one of the time
// zone database. late is called when a number is known that a caller has not waited for.
func NewMeasures(zone *time.Location, late func()) *Measures {
	b, quick := newBackground(zone, late), newBackground(zone, late)
	return &Measures{
		background: b, quick: quick, zone: zone,
		figures: newKept(quick, 0, readFiguresOfToday), ungranted: newKept(quick, 0, readShownUngranted),
		revenue: newKept(b, keptAge, readRevenue), recurring: newKept(b, keptAge, readRecurring),
		subscriptions: newKept(b, keptAge, readSubscriptions), trials: newKept(b, keptAge, readTrials),
		credits: newKept(b, keptAge, readCredits), standing: newKept(b, keptAge, readStanding),
	}
}

// Run computes what is asked for, until ctx ends.
func (m *Measures) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { m.background.run(ctx) })
	running.Go(func() { m.quick.run(ctx) })
	running.Wait()
}

// Measure is one measure of an answer, with the moment at which it was computed.
type Measure[T any] struct {
	At    time.Time `json:"at"`
	Items []T       `json:"items"`
	Fault string    `json:"fault,omitempty"` // why there are no items
}

// MeasuresAnswer has all measures of a span. Its Moment is the earliest of them.
type MeasuresAnswer struct {
	Moment
	Span          Span                        `json:"span"`
	Revenue       Measure[CurrencyRevenue]    `json:"revenue"`
	Recurring     Measure[CurrencyRecurring]  `json:"recurring"`
	PeriodUnknown int64                       `json:"payments_without_period"` // paid for subscriptions; Recurring does not have them
	Subscriptions Measure[SubscriptionPeriod] `json:"subscriptions"`
	Trials        Measure[TrialPeriod]        `json:"trials"`
	Credits       Measure[ExpiringCredits]    `json:"credits"`
}

// All returns all measures of SpanOf(from, to, now, by), for the database's time.
func (m *Measures) All(ctx context.Context, db *store.Store, from, to time.Time, by Step) (out MeasuresAnswer, err error) {
	var revenue measured[[]RevenueDay]
	var monthly measured[recurringRevenue]
	var subscriptions measured[[]lives]
	var trials measured[[]trial]
	var credits measured[[]ExpiringCredits]
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { revenue, err = m.revenue.get(ctx, db); return err })
	group.Go(func() (err error) { monthly, err = m.recurring.get(ctx, db); return err })
	group.Go(func() (err error) { subscriptions, err = m.subscriptions.get(ctx, db); return err })
	group.Go(func() (err error) { trials, err = m.trials.get(ctx, db); return err })
	group.Go(func() (err error) { credits, err = m.credits.get(ctx, db); return err })
	if err := group.Wait(); err != nil {
		return out, err
	}
	if out.Span, err = SpanOf(from, to, revenue.At, by, m.zone); err != nil {
		return out, err
	}
	out.Moment = revenue.Moment
	for _, other := range []Moment{monthly.Moment, subscriptions.Moment, trials.Moment, credits.Moment} {
		if other.At.Before(out.At) {
			out.Moment = other
		}
	}
	out.Revenue = measureOf(revenue, revenueByCurrency(revenue.value, out.Span))
	out.Revenue.Fault = m.revenueFault(out.Revenue.Fault)
	out.Recurring, out.PeriodUnknown = measureOf(monthly, monthly.value.of(out.Span)), monthly.value.unknown
	out.Subscriptions = measureOf(subscriptions, countSubscriptions(subscriptions.value, out.Span))
	out.Trials = measureOf(trials, countTrials(trials.value, out.Span))
	out.Credits = measureOf(credits, credits.value)
	return out, nil
}

// measureOf is a part of an answer. If it has a fault, it has no items.
func measureOf[T, V any](of measured[V], items []T) Measure[T] {
	if of.fault != "" {
		items = nil
	}
	return Measure[T]{of.At, items, of.fault}
}

// RevenueOfLastDays returns the revenue of the last days, including the present day, and that of the last two months.
func (m *Measures) RevenueOfLastDays(ctx context.Context, db *store.Store, days int) (RevenueAnswer, error) {
	revenue, err := m.revenue.get(ctx, db)
	if err != nil {
		return RevenueAnswer{}, err
	}
	today := page.DateOf(revenue.At, m.zone)
	end, month := Day.next(today), Month.start(today)
	span := spanOfDates(Day.before(end, days), end, Day, m.zone)
	return RevenueAnswer{
		Moment: revenue.Moment, Days: since(revenue.value, span), Fault: m.revenueFault(revenue.fault),
		Currencies: revenueByCurrency(revenue.value, span),
		Months:     revenueByCurrency(revenue.value, spanOfDates(Month.before(month, 1), Month.next(month), Month, m.zone)),
	}, nil
}

// CurrencyRevenue is the revenue of one currency.
type CurrencyRevenue struct {
	Currency string          `json:"currency"`
	Periods  []RevenuePeriod `json:"periods"`
	Total    RevenuePeriod   `json:"total"`
	Before   RevenuePeriod   `json:"before"` // as many periods before them, added up
}

// RevenuePeriod is the revenue of one period in minor units. A payment counts at its own time, and a refund at its own.
type RevenuePeriod struct {
	Period
	Payments int64    `json:"payments"`
	Gross    Sum      `json:"gross"`
	Refunded Sum      `json:"refunded"`
	Net      Sum      `json:"net"`
	Rate     *float64 `json:"refund_rate"` // Refunded of Gross; nil: nothing was paid
}

func (p *RevenuePeriod) add(day RevenueDay) {
	p.Payments += day.Payments
	p.Gross, p.Refunded, p.Net = p.Gross.Add(day.Gross), p.Refunded.Add(day.Refunded), p.Net.Add(day.Net)
	if p.Rate = nil; p.Gross != (Sum{}) {
		p.Rate = new(p.Refunded.Float() / p.Gross.Float())
	}
}

// revenueByCurrency adds up the days of each period and currency, the currency with the most payments first. It leaves out
// currencies that only the time before has.
func revenueByCurrency(days []RevenueDay, span Span) (out []CurrencyRevenue) {
	periods, at := span.Periods(), span.places()
	before := span.By.before(span.first, len(periods))
	for _, day := range days {
		i, has := at[span.By.start(day.date)]
		if !has {
			continue
		}
		j := slices.IndexFunc(out, func(c CurrencyRevenue) bool { return c.Currency == day.Currency })
		if j < 0 {
			j = len(out)
			out = append(out, CurrencyRevenue{Currency: day.Currency, Periods: make([]RevenuePeriod, len(periods))})
			for k, p := range periods {
				out[j].Periods[k].Period = p
			}
			out[j].Total.Period = Period{span.From, span.To}
			out[j].Before.Period = Period{page.StartOfDay(before, span.zone), span.From}
		}
		out[j].Periods[i].add(day)
		out[j].Total.add(day)
	}
	for _, day := range days {
		j := slices.IndexFunc(out, func(c CurrencyRevenue) bool { return c.Currency == day.Currency })
		if j >= 0 && day.date.Before(span.first) && !day.date.Before(before) {
			out[j].Before.add(day)
		}
	}
	slices.SortFunc(out, func(a, b CurrencyRevenue) int {
		return cmp.Or(cmp.Compare(b.Total.Payments, a.Total.Payments), cmp.Compare(a.Currency, b.Currency))
	})
	return out
}

// ExpiringCredits are credits that can be spent now, and expire in one month.
type ExpiringCredits struct {
	Kind    string     `json:"kind"`
	Month   *time.Time `json:"month"` // its start; nil: they do not expire
	End     time.Time  `json:"-"`     // of the month
	Credits Sum        `json:"credits"`
}

//go:embed measured_credits.sql
var creditsSQL string

func readCredits(ctx context.Context, tx pgx.Tx, now Moment, zone *time.Location) ([]ExpiringCredits, error) {
	rows, _ := tx.Query(ctx, creditsSQL, now.isLive(), zone.String()) // CollectRows returns its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ExpiringCredits, err error) {
		var month *time.Time
		if err = row.Scan(&e.Kind, &month, &e.Credits); err != nil {
			return e, err
		}
		if month != nil {
			e.Month, e.End = new(page.StartOfDay(*month, zone)), page.StartOfDay(Month.next(*month), zone)
		}
		return e, nil
	})
}
