package console

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

func (c *Console) rejected(r *http.Request, asked query) (view, error) {
	var out browse.RejectedAnswer
	err := c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) (err error) {
		out, err = c.counter.Rejected(r.Context(), tables)
		return err
	})
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
	days := overviewDays
	if text := asked.Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > maxDays {
			return view{}, fmt.Errorf("%w: days is a number from 1 to %d", errBadValue, maxDays)
		}
	}
	var out browse.RevenueAnswer
	err := c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) (err error) {
		out, err = c.counter.Revenue(r.Context(), tables, days)
		return err
	})
	return view{"revenue.html", "Revenue by day", out.Moment, revenuePage{out, days, charts(out, days)}, object{out}, nil}, err
}
