package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

// revenuePage has the revenue of some days, drawn and as a table.
type revenuePage struct {
	browse.RevenueAnswer
	Asked  int          `json:"-"`
	Charts []moneyChart `json:"-"`
}

const maxDays = 366

func (c *Console) revenue(r *http.Request, asked query, tables *store.Store) (view, error) {
	days, err := asked.number("days", overviewDays, maxDays)
	if err != nil {
		return view{}, err
	}
	out, err := c.revenues.Last(r.Context(), tables, days)
	return view{"revenue.html", "Revenue by day", out.Moment, revenuePage{out, days, charts(out, days)}, nil}, err
}

// moneyChart shows what came in on each day in one currency, in its minor unit, and what was taken
// back. Days without money have a place, too.
type moneyChart struct {
	Currency string
	Gross    browse.Sum // of all days
	Refunded browse.Sum
	Payments int64
	Bars     []moneyBar
	First    time.Time
	Last     time.Time
}

// moneyBar is one day. Places and heights are in units of the drawing, which is 100 high and
// barWidth wide for each day.
type moneyBar struct {
	Day             time.Time
	Gross, Refunded browse.Sum
	X               int
	GrossHeight     int
	RefundedHeight  int
}

const (
	chartHeight = 100
	barWidth    = 20
)

// GrossY is the upper edge of the bar.
func (b moneyBar) GrossY() int { return chartHeight - b.GrossHeight }

// RefundedY is the upper edge of the part that was taken back.
func (b moneyBar) RefundedY() int { return chartHeight - b.RefundedHeight }

// Width is the width of the drawing.
func (c moneyChart) Width() int { return barWidth * len(c.Bars) }

// charts draws each currency, the one with the most payments first.
func charts(revenue browse.RevenueAnswer, days int) []moneyChart {
	last := revenue.At.UTC().Truncate(24 * time.Hour)
	first := last.AddDate(0, 0, 1-days)
	var out []moneyChart
	for _, day := range revenue.Days {
		i := slices.IndexFunc(out, func(c moneyChart) bool { return c.Currency == day.Currency })
		if i < 0 {
			i = len(out)
			out = append(out, emptyChart(day.Currency, first, days))
		}
		if at := int(day.Day.Sub(first).Hours() / 24); at >= 0 && at < days {
			out[i].add(at, day)
		}
	}
	for _, c := range out {
		c.scale()
	}
	slices.SortStableFunc(out, func(a, b moneyChart) int { return int(b.Payments - a.Payments) })
	return out
}

func emptyChart(currency string, first time.Time, days int) moneyChart {
	out := moneyChart{Currency: currency, First: first, Last: first.AddDate(0, 0, days-1), Bars: make([]moneyBar, days)}
	for i := range out.Bars {
		out.Bars[i].Day, out.Bars[i].X = first.AddDate(0, 0, i), i*barWidth
	}
	return out
}

func (c *moneyChart) add(at int, day browse.RevenueDay) {
	c.Gross, c.Refunded, c.Payments = c.Gross.Add(day.Gross), c.Refunded.Add(day.Refunded), c.Payments+day.Payments
	bar := &c.Bars[at]
	bar.Gross, bar.Refunded = bar.Gross.Add(day.Gross), bar.Refunded.Add(day.Refunded)
}

// scale makes the largest bar as high as the drawing. Any money is at least one unit high.
func (c moneyChart) scale() {
	highest := 1.0
	for _, b := range c.Bars {
		highest = max(highest, b.Gross.Float(), b.Refunded.Float())
	}
	height := func(sum browse.Sum) int {
		if sum.Float() <= 0 {
			return 0
		}
		return max(1, int(sum.Float()/highest*chartHeight))
	}
	for i := range c.Bars {
		c.Bars[i].GrossHeight, c.Bars[i].RefundedHeight = height(c.Bars[i].Gross), height(c.Bars[i].Refunded)
	}
}
