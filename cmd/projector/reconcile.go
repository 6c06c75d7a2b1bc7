package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type reconcileCommand struct {
	readFlags
	cli.APIFlags
	Name        string    `arg:"" help:"The provider's name, as in the path of its webhooks."`
	Since       time.Time `name:"since" placeholder:"TIME" help:"Compare payments and refunds from then on; the default is 30 days ago."`
	MetricsFile string    `name:"metrics-file" placeholder:"FILE" help:"Where to write the metrics when all was compared, for node_exporter."`

	api *providerapi.Client
}

// patience is the time after which a person wants to know what a command waits for.
const patience = 5 * time.Second

// Check implements cli.Checked.
func (c *reconcileCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	keys := c.APIFlags.Take(faults)
	config, has := keys[c.Name]
	switch {
	case !slices.Contains(providerapi.Names(), c.Name):
		faults.Addf("%q has no lists that payfold can compare; these have: %s", c.Name,
			strings.Join(providerapi.Names(), ", "))
		return
	case !has:
		faults.Addf("%s_API_KEY is missing: a key that may only read is enough", strings.ToUpper(c.Name))
		return
	}
	var err error
	c.api, err = providerapi.New(config)
	faults.Add(err)
	if c.Since.IsZero() {
		// Most providers keep no older events, which could be pulled.
		c.Since = time.Now().AddDate(0, 0, -reconcile.KeptDays)
	}
	if c.Since.After(time.Now()) {
		faults.Addf("--since is in the future")
	}
}

// Run prints every difference. The exit status is 3 if one counts.
func (c *reconcileCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	ctx = providerapi.Watch(ctx, patience, func(what string) { fmt.Fprintln(streams.Err, what) })
	return c.withSchema(ctx, store.LiveSchema, logger, func(ctx context.Context, s sources) error {
		began := time.Now()
		result, err := reconcile.Reconcile{
			API: c.api, Tables: s.store, Log: s.log, Since: c.Since, Now: time.Now,
			Progress: func(kind providerapi.Kind, compared int) {
				logger.DebugContext(ctx, "compared with the provider", "kind", string(kind), "count", compared)
			},
		}.Run(ctx)
		if err == nil {
			err = report.Reconciled(streams.Out, result, c.JSON)
		}
		if kept := c.keep(ctx, s.store, result, began, err); errors.Is(kept, reconcile.ErrNotKept) {
			fmt.Fprintf(streams.Err, "%s.\n", kept)
		} else if err == nil {
			err = kept
		}
		if err != nil {
			return err
		}
		if c.MetricsFile != "" {
			if err := prometheus.WriteToTextfile(c.MetricsFile, reconcileMetrics(result, time.Now())); err != nil {
				return fmt.Errorf("write the metrics: %w", err)
			}
		}
		if !result.Holds() {
			return cli.Status(cli.ExitNo)
		}
		return nil
	})
}

// keep keeps the result for the console, or why there is none. A short comparison is for the one who asks for it.
func (c *reconcileCommand) keep(
	ctx context.Context, tables *store.Store, result reconcile.Result, began time.Time, fault error,
) error {
	switch {
	case ctx.Err() != nil || c.Since.After(began.AddDate(0, 0, -reconcile.KeptDays)):
		return nil
	case fault != nil:
		return reconcile.KeepFailure(ctx, tables, c.Name, began, fault)
	}
	return reconcile.Keep(ctx, tables, result, began)
}

// reconcileMetrics returns the metrics of a comparison that was complete.
func reconcileMetrics(result reconcile.Result, now time.Time) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	with := promauto.With(registry)
	gauge := func(opts prometheus.GaugeOpts, value float64) {
		with.NewGaugeVec(opts, []string{"provider"}).WithLabelValues(result.Provider).Set(value)
	}
	differences := result.Differences
	if differences == 0 && !result.Holds() {
		differences = 1 // the provider knows none of the payments
	}
	gauge(prometheus.GaugeOpts{
		Name: "payfold_reconcile_differences", Help: "Differences between the provider and the tables that count.",
	}, float64(differences))
	gauge(prometheus.GaugeOpts{
		Name: "payfold_reconcile_on_its_way", Help: "Differences that are only lag: of the provider, or of the projectors.",
	}, float64(result.OnItsWay))
	gauge(prometheus.GaugeOpts{
		Name: "payfold_reconcile_compared", Help: "Objects of the provider that were compared.",
	}, float64(result.Payments+result.Subscriptions+result.Refunds))
	gauge(prometheus.GaugeOpts{
		Name: "payfold_reconcile_timestamp_seconds", Help: "When the provider and the tables were last compared completely.",
	}, float64(now.Unix()))
	return registry
}
