package console

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/store"
)

// overviewPage shows whether everything is well. Figures, revenue and standing are of earlier moments, which they name.
type overviewPage struct {
	browse.OverviewAnswer
	Figures     browse.Figures       `json:"figures"`
	Concerns    []concern            `json:"concerns"`
	Ingest      *logreport.Ingest    `json:"ingest"` // nil: not asked, or it does not answer
	IngestFault string               `json:"ingest_fault,omitempty"`
	Standing    browse.Standing      `json:"standing"`
	Revenue     browse.RevenueAnswer `json:"revenue"`
	Charts      []moneyChart         `json:"-"`
	Months      []month              `json:"-"` // the present one first; none if nothing was paid
	Deliveries  *deliveries          `json:"-"` // nil: not known
	LagMinutes  []lag.Minute         `json:"lag_last_hour"`
	LagHour     *lagHour             `json:"-"` // nil: not measured
	Providers   []firstStep          `json:"-"` // of an installation without events
}

// month is what came in one month.
type month struct {
	browse.Period
	Name string
	Net  []browse.MoneySum // by currency; those of 0 are left out
}

// outcomeSum counts the events of one outcome, whatever the reason.
type outcomeSum struct {
	Outcome string
	Events  int64
}

// Outcomes counts the events of each outcome.
func (o overviewPage) Outcomes() (sums []outcomeSum) {
	for _, c := range o.Figures.Counts.Outcomes {
		if end := len(sums) - 1; end >= 0 && sums[end].Outcome == c.Outcome {
			sums[end].Events += c.Events
		} else {
			sums = append(sums, outcomeSum{c.Outcome, c.Events})
		}
	}
	return sums
}

// Rejected is how many events were rejected.
func (o overviewPage) Rejected() int64 {
	for _, sum := range o.Outcomes() {
		if sum.Outcome == string(projections.Rejected) {
			return sum.Events
		}
	}
	return 0
}

const (
	overviewEvents = 10
	overviewDays   = 30
)

func (c *Console) overview(r *http.Request, _ query, tables *store.Store) (view, error) {
	var out overviewPage
	group, ctx := errgroup.WithContext(r.Context())
	group.Go(func() (err error) {
		out.OverviewAnswer, err = browse.Overview(ctx, c.Log, tables, overviewEvents)
		return err
	})
	group.Go(func() error {
		out.Ingest, out.IngestFault = c.askIngest(ctx)
		return nil
	})
	group.Go(func() (err error) {
		out.Figures, err = c.measured.Figures(ctx, tables)
		return err
	})
	group.Go(func() (err error) {
		out.Revenue, err = c.measured.RevenueOfLastDays(ctx, tables, overviewDays)
		return err
	})
	group.Go(func() (err error) {
		out.Standing, err = c.measured.Standing(ctx, tables)
		return err
	})
	if err := group.Wait(); err != nil {
		return view{}, err
	}
	c.hidePersonalData(out.Database.Quarantined.Newest)
	out.Charts = moneyCharts(out.Revenue.Currencies, browse.Day)
	out.Months = monthsOf(out.Revenue.Months)
	out.Deliveries = deliveriesOf(out.Ingest, c.clock.zone)
	if out.LagHour = lagOf(c.Lag, c.clock.now(), c.clock.zone); out.LagHour != nil {
		out.LagMinutes = out.LagHour.Minutes
	}
	out.Concerns = concerns(&out)
	if len(out.Newest) == 0 {
		out.Providers = c.firstSteps()
	}
	return view{"overview.html", "Overview", out.Moment, out, nil}, nil
}

func monthsOf(currencies []browse.CurrencyRevenue) (out []month) {
	if len(currencies) == 0 {
		return nil
	}
	for i, name := range []string{"Last month", "This month so far"} {
		one := month{Period: currencies[0].Periods[i].Period, Name: name}
		for _, c := range currencies {
			if net := c.Periods[i].Net; net != (browse.Sum{}) {
				one.Net = append(one.Net, browse.MoneySum{Currency: c.Currency, Sum: json.Number(net.String())})
			}
		}
		out = append(out, one)
	}
	slices.Reverse(out)
	return out
}

// ingestTimeout bounds the question how ingest is, because it delays the page.
const ingestTimeout = time.Second

// askIngest returns the state of ingest, or why it is not known.
func (c *Console) askIngest(ctx context.Context) (*logreport.Ingest, string) {
	if c.Ingest == nil {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, ingestTimeout)
	defer cancel()
	state, err := c.Ingest(ctx)
	if err != nil {
		return nil, err.Error()
	}
	return &state, ""
}

// firstStep is what a provider needs before its first event can come.
type firstStep struct {
	Provider string
	Path     string // of the address of its webhook
	Variable string // that has its secret
}

// firstSteps lists those whose secret the console knows, or else the neutral one.
func (c *Console) firstSteps() (out []firstStep) {
	names := slices.Sorted(maps.Keys(c.Secrets))
	if len(names) == 0 {
		names = []string{"provider"}
	}
	for _, name := range names {
		if p := providers.Named(name); p != nil {
			out = append(out, firstStep{name, p.Path(), cli.SecretOf(name)})
		}
	}
	return out
}
