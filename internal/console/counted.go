package console

import (
	"net/http"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

func (c *Console) rejected(r *http.Request, asked query) (view, error) {
	out, err := fromTables(r.Context(), c, asked, func(tables *store.Store) (browse.RejectedAnswer, error) {
		return c.counter.Rejected(r.Context(), tables)
	})
	c.hidePersonalData(out.Quarantined.Newest)
	return view{"rejected.html", "Rejected", out.Moment, out, object{out}, nil}, err
}

// revenuePage has the revenue of some days, drawn and as a table.
type revenuePage struct {
	browse.RevenueAnswer
	Asked  int
	Charts []moneyChart
}

const maxDays = 366

func (c *Console) revenue(r *http.Request, asked query) (view, error) {
	days, err := asked.number("days", overviewDays, maxDays)
	if err != nil {
		return view{}, err
	}
	out, err := fromTables(r.Context(), c, asked, func(tables *store.Store) (browse.RevenueAnswer, error) {
		return c.counter.Revenue(r.Context(), tables, days)
	})
	return view{"revenue.html", "Revenue by day", out.Moment, revenuePage{out, days, charts(out, days)}, object{out}, nil}, err
}
