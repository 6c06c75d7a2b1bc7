package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// measuresPage has the measures of a span, drawn and as tables.
type measuresPage struct {
	browse.MeasuresAnswer
	Zone    string        `json:"time_zone"` // in which days begin
	Steps   []browse.Step `json:"-"`
	From    string        `json:"-"` // as it was typed
	To      string        `json:"-"` // as it was typed
	Revenue []moneyChart  `json:"-"`
	Monthly []monthly     `json:"-"`
	Active  figure        `json:"-"`
	Changes figure        `json:"-"`
	Churn   figure        `json:"-"`
	Credits figure        `json:"-"`
}

// moneyChart is the revenue of one currency.
type moneyChart struct {
	browse.CurrencyRevenue
	By      browse.Step
	Drawing figure
}

// Empty reports whether no amount is known.
func (m moneyChart) Empty() bool {
	return m.Currency == "unknown" && m.Total.Gross.Float() == 0 && m.Total.Refunded.Float() == 0
}

// AnyRefunded reports whether a share of what was paid was taken back.
func (m moneyChart) AnyRefunded() bool { return m.Total.Rate != nil && *m.Total.Rate != 0 }

// SaidBefore says what came in the time before; empty: nothing.
func (m moneyChart) SaidBefore() string {
	if m.Before.Payments == 0 && m.Before.Net == (browse.Sum{}) {
		return ""
	}
	return fmt.Sprintf("%s in the %s before", sumOf(m.Before.Net, m.Currency), page.Count(len(m.Periods), string(m.By)))
}

// monthly is the recurring revenue of one currency.
type monthly struct {
	browse.CurrencyRecurring
	Drawing figure
}

// AtEnd returns the recurring revenue at the end of the span.
func (m monthly) AtEnd() browse.Sum { return m.Periods[len(m.Periods)-1].Monthly }

const defaultStep = browse.Day

var ofMeasures = chosen("format", "from", "to", "by")

func (c *Console) measures(r *http.Request, asked query, tables *store.Store) (view, error) {
	answer, err := c.measure(r.Context(), asked, tables)
	if err != nil {
		return view{}, err
	}
	out := measuresPage{MeasuresAnswer: answer, Zone: c.clock.zone.String(), Steps: browse.Steps, From: asked.Get("from"), To: asked.Get("to")}
	out.draw()
	return view{"measures.html", "Measures", answer.Moment, out, nil}, nil
}

// measure returns the measures of the span that the address asks for.
func (c *Console) measure(ctx context.Context, asked query, tables *store.Store) (out browse.MeasuresAnswer, err error) {
	from, err := asked.time("from")
	if err != nil {
		return out, err
	}
	to, err := asked.time("to")
	if err != nil {
		return out, err
	}
	by := cmp.Or(browse.Step(asked.Get("by")), defaultStep)
	out, err = c.measured.All(ctx, tables, from, to, by)
	if errors.Is(err, browse.ErrSpan) {
		return out, fmt.Errorf("%w: %w", errBadValue, err)
	}
	return out, err
}

func (c *Console) measureRows(ctx context.Context, asked query, tables *store.Store, write func([]measureRow) error) error {
	answer, err := c.measure(ctx, asked, tables)
	if err != nil {
		return err
	}
	return write(rowsOf(answer))
}

// measureRow is one number, so that a spreadsheet can filter and pivot them. Amounts are in minor units.
type measureRow struct {
	Measure string `json:"measure"`
	browse.Period
	Currency string `json:"currency"`
	Of       string `json:"of"`
	Value    any    `json:"value"`
}

func rowsOf(m browse.MeasuresAnswer) (out []measureRow) {
	line := func(measure string, p browse.Period, currency, of string, value any) {
		out = append(out, measureRow{measure, p, currency, of, value})
	}
	for _, c := range m.Revenue.Items {
		for _, p := range c.Periods {
			line("payments", p.Period, c.Currency, "", p.Payments)
			line("gross", p.Period, c.Currency, "", p.Gross)
			line("refunded", p.Period, c.Currency, "", p.Refunded)
			line("net", p.Period, c.Currency, "", p.Net)
			line("refund_rate", p.Period, c.Currency, "", csvShare(p.Rate))
		}
	}
	for _, c := range m.Recurring.Items {
		for _, p := range c.Periods {
			line("monthly_recurring_revenue", p.Period, c.Currency, "", p.Monthly)
		}
	}
	for _, p := range m.Subscriptions.Items {
		line("new_subscriptions", p.Period, "", "", p.New)
		line("ended_subscriptions", p.Period, "", "", p.Ended)
		line("active_subscriptions", p.Period, "", "", p.Active)
		line("churn", p.Period, "", "", csvShare(p.Churn))
	}
	for _, p := range m.Trials.Items {
		line("trials_begun", p.Period, "", "", p.Begun)
		line("trials_running", p.Period, "", "", p.Running)
		line("trials_converted", p.Period, "", "", p.Converted)
		line("trial_conversion", p.Period, "", "", csvShare(p.Rate))
	}
	for _, e := range m.Credits.Items {
		var p browse.Period
		if e.Month != nil {
			p = browse.Period{From: *e.Month, To: e.End}
		}
		line("credits_expiring", p, "", e.Kind, e.Credits)
	}
	return out
}

func csvShare(share *float64) string {
	if share == nil {
		return ""
	}
	return strconv.FormatFloat(*share, 'f', 6, 64)
}

// percent is a share for people; nil is a dash.
func percent(share *float64) string {
	if share == nil {
		return noValue
	}
	return percentOf(*share)
}

func percentOf(share float64) string {
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + " %"
}

// sumOf is an amount of money for people, also beyond 64 bits.
func sumOf(amount browse.Sum, currency string) string { return page.MoneyOf(amount.String(), currency) }

// presets are the spans that end with the present period.
var presets = map[browse.Step]string{browse.Day: "30 days", browse.Week: "12 weeks", browse.Month: "12 months"}

// kindName is a kind of credits in a shop's words.
func kindName(kind string) string {
	if kind == projections.KindOneTime {
		return "credit pack"
	}
	return page.Clean(kind)
}
