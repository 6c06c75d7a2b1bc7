package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/telemetry"
)

// sinceFlag is shared by ingest and ingest pull.
type sinceFlag struct {
	PullSince time.Time `name:"pull-since" env:"PULL_SINCE" placeholder:"TIME" help:"Pull no event that happened before this time, such as 2026-01-31T12:00:00Z, unless ingest pull is told so with --since."`
}

func (f *sinceFlag) check(faults *cli.Faults) {
	if f.PullSince.After(time.Now()) {
		faults.Addf("PULL_SINCE is %s, which is in the future", f.PullSince.Format(time.RFC3339))
	}
}

// pullFlags say what ingest pulls by itself.
type pullFlags struct {
	cli.APIFlags
	sinceFlag
	PullInterval time.Duration `name:"pull-interval" env:"PULL_INTERVAL" default:"5m" help:"How often ingest asks each provider whose API key is set for missed events, also at its start; 0: only ingest pull asks."`

	apis      map[string]providerapi.Config
	notPulled []error // what is missing for the events of a provider whose API has a key
}

// minPullInterval: each pull is at least one request.
const minPullInterval = time.Second

// Check implements cli.Checked.
func (p *pullFlags) Check(faults *cli.Faults) {
	p.apis = p.Take(faults)
	p.sinceFlag.check(faults)
	for name, api := range p.apis {
		if err := api.ListsEvents(); err != nil { // the key may be for projector reconcile
			p.notPulled = append(p.notPulled, err)
			delete(p.apis, name)
		}
	}
	if p.PullInterval != 0 && p.PullInterval < minPullInterval {
		faults.Addf("PULL_INTERVAL is %s, must be 0 or at least %s", p.PullInterval, minPullInterval)
	}
}

// pullers are those of all providers whose API has a key, by name.
type pullers map[string]*pull.Puller

// newPullers returns what pulls into the log. close closes the connections to the APIs.
func newPullers(apis map[string]providerapi.Config, config pull.Config, secrets secretFlags, log *eventlog.Log, registry prometheus.Registerer) (_ pullers, closeAll func(), err error) {
	out, clients := pullers{}, []*providerapi.Client{}
	closeAll = func() {
		for _, client := range clients {
			client.Close()
		}
	}
	if len(apis) == 0 {
		return out, closeAll, nil
	}
	config.Metrics = pull.NewMetrics(registry)
	for name, api := range apis {
		client, err := providerapi.New(api)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		clients = append(clients, client)
		config.API, config.Secrets = client, secrets.secrets[name]
		out[name] = pull.New(config, log)
	}
	return out, closeAll, nil
}

// pullConfig returns the settings that all pullers share.
func (c *logFlags) pullConfig(interval time.Duration, notBefore time.Time, logger *slog.Logger) pull.Config {
	return pull.Config{
		MaxBodyBytes: c.MaxBodyBytes, AppendTimeout: c.PublishTimeout, Interval: interval, NotBefore: notBefore, Logger: logger,
	}
}

type pullCommand struct {
	logFlags
	secretFlags
	cli.APIFlags
	sinceFlag
	AdminAddr string        `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8081" help:"Where a running ingest serves its state; it pulls then."`
	SinceText string        `name:"since" placeholder:"TIME" help:"Since when: a time such as 2026-01-31T12:00:00Z, or a duration such as 72h; the default is what may be missing."`
	Every     time.Duration `name:"every" help:"Pull again after this time, until the command is stopped. Not beside a running ingest, which has PULL_INTERVAL."`
	Provider  string        `arg:"" name:"name" help:"The provider."`

	apis  map[string]providerapi.Config
	since time.Time // zero: what may be missing
}

// Check implements cli.Checked.
func (c *pullCommand) Check(faults *cli.Faults) {
	c.logFlags.Check(faults)
	c.apis, c.optional = c.APIFlags.Take(faults), true
	c.secretFlags.Check(faults)
	c.sinceFlag.check(faults)
	cli.CheckAddress("ADMIN_ADDR", c.AdminAddr, faults)
	if !slices.Contains(providerapi.Names(), c.Provider) {
		faults.Addf("NAME is %q, must be one of %s: no other provider has a list of its events", c.Provider, strings.Join(providerapi.Names(), ", "))
	}
	if api, has := c.apis[c.Provider]; has {
		faults.Add(api.ListsEvents())
	}
	if c.Every != 0 && c.Every < minPullInterval {
		faults.Addf("--every is %s, must be at least %s", c.Every, minPullInterval)
	}
	var err error
	if c.since, err = parseSince(c.SinceText, time.Now()); err != nil {
		faults.Addf("--since: %w", err)
	}
}

// parseSince reads a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if before, err := time.ParseDuration(text); err == nil && before > 0 {
		return now.Add(-before).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.After(now) {
		return time.Time{}, fmt.Errorf("%q is not a time in the past such as 2026-01-31T12:00:00Z, or a duration such as 72h", text)
	}
	return at.UTC(), nil
}

// UntilStopped implements cli.Service.
func (c *pullCommand) UntilStopped() bool { return c.Every > 0 }

// Run lets the ingest pull that runs on this machine. If none runs, or the log is that of a cluster, it opens the log and
// pulls itself.
func (c *pullCommand) Run(ctx context.Context, streams cli.Streams) error {
	show := newPullProgress(streams)
	if c.NATSURL == "" {
		result, err := askToPull(ctx, c.AdminAddr, c.Provider, c.since, show)
		if !errors.Is(err, telemetry.ErrUnanswered) {
			if err == nil && c.Every > 0 {
				return errors.New("ingest runs: it pulls again and again by itself, with PULL_INTERVAL; --every is for a log without ingest")
			}
			return show.end(result, err)
		}
	}
	api, has := c.apis[c.Provider]
	if !has {
		return fmt.Errorf("no ingest runs at ADMIN_ADDR %s, and %s_API_KEY is missing to pull without it", c.AdminAddr, strings.ToUpper(c.Provider))
	}
	logger := c.QuietLogger(streams.Err)
	log, closeLog, err := c.openLog(ctx, telemetry.NewReadiness(), logger)
	if err != nil {
		return err
	}
	return errors.Join(c.pull(ctx, api, log, logger, show), closeLog())
}

// pull pulls once, or until ctx ends.
func (c *pullCommand) pull(ctx context.Context, api providerapi.Config, log *eventlog.Log, logger *slog.Logger, show *pullProgress) error {
	if _, err := log.AwaitInfo(ctx, logTimeout); err != nil {
		return err
	}
	all, closeAll, err := newPullers(map[string]providerapi.Config{c.Provider: api}, c.pullConfig(c.Every, c.PullSince, logger), c.secretFlags, log, nil)
	if err != nil {
		return err
	}
	defer closeAll()
	ctx = providerapi.Watch(ctx, patience, show.waiting)
	if c.Every > 0 {
		return all[c.Provider].Run(ctx, c.since, show.again)
	}
	return show.end(all[c.Provider].Pull(ctx, c.since, show.page))
}

// pullProgress shows a pull.
type pullProgress struct {
	streams cli.Streams
	say     func(format string, args ...any)
}

func newPullProgress(streams cli.Streams) *pullProgress {
	return &pullProgress{streams, progressTo(streams.Err)}
}

// page shows what was pulled so far.
func (p *pullProgress) page(r pull.Result) {
	back := ""
	if !r.Oldest.IsZero() {
		back = ", back to " + r.Oldest.Format(time.RFC3339)
	}
	p.say("%s: %d events seen, %d appended%s of %s\n", r.Provider, r.Seen, r.Appended, back, r.Since.Format(time.RFC3339))
}

// patience is the time after which a person wants to know what a command waits for.
const patience = 5 * time.Second

// waiting shows what the pull waits for.
func (p *pullProgress) waiting(what string) { fmt.Fprintln(p.streams.Err, what) }

// again shows a pull that is repeated, when it has ended only if it has found something.
func (p *pullProgress) again(r pull.Result, ended bool) {
	switch {
	case !ended:
		p.page(r)
	case r.Appended+r.Refused > 0:
		_ = p.end(r, nil)
	}
}

// end shows what was pulled. An error is returned with it.
func (p *pullProgress) end(r pull.Result, err error) error {
	if r.Provider != "" {
		fmt.Fprintf(p.streams.Out, "%s: %d seen, %d appended, %d already there, %d refused; from %s to %s\n",
			r.Provider, r.Seen, r.Appended, r.Present, r.Refused, r.Since.Format(time.RFC3339), r.Until.Format(time.RFC3339))
	}
	if err != nil {
		return fmt.Errorf("%w; what is counted is stored; run the command again: it appends nothing twice", err)
	}
	return nil
}
