package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/chart"
	"github.com/payfold/payfold/internal/report/page"
)

// figure is a drawing, or why there is none.
type figure struct {
	SVG   template.HTML
	Fault error
}

// seeTable ends the description of a drawing.
const seeTable = "The table below has all numbers."

func drawn(c chart.Chart) figure {
	svg, err := c.SVG()
	return figure{svg, err}
}

// draw makes the drawings.
func (m *measuresPage) draw() {
	span := m.Span
	m.Revenue = moneyCharts(m.MeasuresAnswer.Revenue.Items, span.By)
	for _, c := range m.Recurring.Items {
		m.Monthly = append(m.Monthly, monthly{c, monthlyFigure(c, span)})
	}
	if list := m.Subscriptions.Items; list != nil {
		m.drawSubscriptions(list)
	}
	m.Credits = creditsFigure(m.MeasuresAnswer.Credits.Items)
}

// moneyCharts draws the revenue of each currency. What has no amount, and so no drawing, comes last.
func moneyCharts(all []browse.CurrencyRevenue, by browse.Step) (out []moneyChart) {
	for _, c := range all {
		count := len(c.Periods)
		gross, refunded, net, labels := make([]float64, count), make([]float64, count), make([]float64, count), make([]string, count)
		for i, p := range c.Periods {
			labels[i] = periodLabel(p.From, by)
			gross[i], refunded[i], net[i] = p.Gross.Float(), -p.Refunded.Float(), p.Net.Float()
		}
		out = append(out, moneyChart{c, by, drawn(chart.Chart{
			Title:       "Revenue by " + string(by) + " in " + currencyName(c.Currency),
			Description: between(c.Total.Period) + ": " + sumOf(c.Total.Net, c.Currency) + " net. " + seeTable,
			Periods:     labels, Whole: true, Label: moneyLabel(c.Currency),
			Bars: []chart.Series{
				{Name: "gross", Class: "gain", Values: gross}, {Name: "refunded", Class: "lost", Values: refunded},
			},
			Lines: []chart.Series{{Name: "net", Class: "line", Values: net}},
		})})
	}
	slices.SortStableFunc(out, func(a, b moneyChart) int {
		switch {
		case a.Empty() == b.Empty():
			return 0
		case b.Empty():
			return -1
		}
		return 1
	})
	return out
}

func monthlyFigure(c browse.CurrencyRecurring, span browse.Span) figure {
	labels, values := make([]string, len(c.Periods)), make([]float64, len(c.Periods))
	for i, p := range c.Periods {
		labels[i], values[i] = periodLabel(p.From, span.By), p.Monthly.Float()
	}
	last := c.Periods[len(c.Periods)-1].Monthly
	return drawn(chart.Chart{
		Title:       "Monthly recurring revenue in " + currencyName(c.Currency),
		Description: sumOf(last, c.Currency) + " at the end. " + seeTable,
		Periods:     labels, Whole: true, Label: moneyLabel(c.Currency),
		Lines: []chart.Series{{Name: "at the end of each " + string(span.By), Class: "line", Values: values}},
	})
}

func (m *measuresPage) drawSubscriptions(list []browse.SubscriptionPeriod) {
	labels, active := make([]string, len(list)), make([]float64, len(list))
	begun, ended, churn := make([]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for i, p := range list {
		labels[i], active[i] = periodLabel(p.From, m.Span.By), float64(p.Active)
		begun[i], ended[i], churn[i] = float64(p.New), -float64(p.Ended), math.NaN()
		if p.Churn != nil {
			churn[i] = *p.Churn
		}
	}
	by := string(m.Span.By)
	m.Active = drawn(chart.Chart{
		Title: "Active subscriptions", Description: fmt.Sprintf("%d at the end. %s", list[len(list)-1].Active, seeTable),
		Periods: labels, Whole: true, Label: countLabel,
		Lines: []chart.Series{{Name: "at the end of each " + by, Class: "line", Values: active}},
	})
	m.Changes = drawn(chart.Chart{
		Title: "New and ended subscriptions", Description: "New ones are above zero, ended ones below. " + seeTable,
		Periods: labels, Whole: true, Label: countLabel,
		Bars: []chart.Series{{Name: "new", Class: "gain", Values: begun}, {Name: "ended", Class: "lost", Values: ended}},
	})
	m.Churn = drawn(chart.Chart{
		Title: "Churn", Description: "The share of active subscriptions that ended in each " + by + ". " + seeTable,
		Periods: labels, Label: percentOf,
		Lines: []chart.Series{{Name: "churn by " + by, Class: "line", Values: churn}},
	})
}

// creditsFigure adds up the kinds of each month.
func creditsFigure(list []browse.ExpiringCredits) figure {
	var labels []string
	var credits []float64
	for _, e := range list {
		label := "never"
		if e.Month != nil {
			label = periodLabel(*e.Month, browse.Month)
		}
		if len(labels) == 0 || labels[len(labels)-1] != label {
			labels, credits = append(labels, label), append(credits, 0)
		}
		credits[len(credits)-1] += e.Credits.Float()
	}
	return drawn(chart.Chart{
		Title: "Credits by the month in which they expire", Description: seeTable,
		Periods: labels, Whole: true, Label: countLabel,
		Bars: []chart.Series{{Name: "credits", Class: "gain", Values: credits}},
	})
}

func currencyName(currency string) string {
	if currency == "unknown" {
		return "an unknown currency"
	}
	return page.Clean(currency)
}

func between(p browse.Period) string {
	return p.From.Format(time.DateOnly) + " to " + p.To.AddDate(0, 0, -1).Format(time.DateOnly)
}

func periodLabel(from time.Time, by browse.Step) string {
	if by == browse.Month {
		return from.Format("2006-01")
	}
	return from.Format("01-02")
}

// countLabel labels a number of things. What is drawn below the axis is a number, too.
func countLabel(value float64) string {
	value = math.Abs(value)
	if value > math.MaxInt64/2 {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	return page.Grouped(int64(math.Round(value)))
}

// moneyLabel labels an axis whose title names the currency.
func moneyLabel(currency string) func(float64) string {
	return func(value float64) string {
		if math.Abs(value) > math.MaxInt64/2 {
			return strconv.FormatFloat(value, 'g', 3, 64)
		}
		text := page.Money(int64(math.Round(value)), currency)
		text = strings.TrimPrefix(strings.TrimPrefix(text, strings.ToUpper(currency)), " ")
		text, _, _ = strings.Cut(text, " ") // what else it says of the currency is in the table
		return strings.TrimSuffix(text, ".00")
	}
}
