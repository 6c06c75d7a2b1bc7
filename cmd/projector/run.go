package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/sdnotify"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

type runCommand struct {
	sourceFlags
	rulesFlags
	inviteFlags
	pingFlags
	AdminAddr string        `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8082" help:"Health, metrics and profiles, without a password."`
	BatchSize int           `name:"batch-size" env:"BATCH_SIZE" default:"1000" help:"Maximum number of events in one transaction, 1 to 10000."`
	LeaseTime time.Duration `name:"lease-time" env:"LEASE_TIME" default:"10s" help:"Time without a heartbeat after which a projector loses its partitions, 1s to 10m."`
}

// Check implements cli.Checked.
func (c *runCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
	c.inviteFlags.Check(faults)
	c.pingFlags.Check(faults)
	faults.Add(traces.Check())
	cli.CheckSecretVariables(faults, traces.Credentials...)
	cli.CheckAddress("ADMIN_ADDR", c.AdminAddr, faults)
	if c.BatchSize < 1 || c.BatchSize > 10_000 {
		faults.Addf("BATCH_SIZE is %d, must be 1 to 10000", c.BatchSize)
	}
	if c.LeaseTime < time.Second || c.LeaseTime > 10*time.Minute {
		faults.Addf("LEASE_TIME is %s, must be 1s to 10m", c.LeaseTime)
	}
}

// liveGCPercent halves the number of garbage collections. That saves a sixth of the
// projector's CPU time, and takes about 30 MB.
const liveGCPercent = 200

// UntilStopped implements cli.Service.
func (c *runCommand) UntilStopped() bool { return true }

// Run serves operators from the beginning, and follows the log until ctx ends.
func (c *runCommand) Run(ctx context.Context, streams cli.Streams) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(liveGCPercent)
	}
	cli.LimitMemory()
	logger := c.Logger(streams.Err)
	registry, readiness := telemetry.NewRegistry(cli.Build()), telemetry.NewReadiness()
	admin, err := telemetry.NewAdmin(c.AdminAddr, registry, readiness.Ready, logger)
	if err != nil {
		return fmt.Errorf("ADMIN_ADDR: %w", err)
	}
	if c.DatabaseURL == "" {
		readiness.NotYet("the private postgres does not answer yet")
	}
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return admin.Run(working) })
	group.Go(func() error { return c.project(working, readiness, logger, registry) })
	group.Go(func() error { sdnotify.Run(working, readiness.Ready, logger); return nil })
	return group.Wait()
}

func (c *runCommand) project(ctx context.Context, readiness *telemetry.Readiness, logger *slog.Logger, registry prometheus.Registerer) error {
	tracer, err := traces.Start(ctx, "payfold-projector", logger)
	if err != nil {
		return err
	}
	defer tracer.Stop()
	return c.with(ctx, store.Config{LeaseTime: c.LeaseTime}, logger, func(ctx context.Context, s sources) error {
		work, inviter, meter := c.parts(s, tracer, logger, registry)
		readiness.From(work.Ready)
		logger.InfoContext(ctx, "the projector starts", "owner", s.store.Owner(), "fold_id", c.rules.FoldID())
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return work.Run(ctx) })
		group.Go(func() error { return inviter.Run(ctx) })
		group.Go(func() error { return meter.Run(ctx) })
		group.Go(func() error { return c.pinger(s, logger).Run(ctx) })
		return group.Wait()
	})
}

// parts returns what runs in a projector. They register their metrics.
func (c *runCommand) parts(s sources, tracer *traces.Tracer, logger *slog.Logger, registry prometheus.Registerer) (*live.Projector, *invitations.Reconciler, *lag.Meter) {
	work := live.New(live.Config{
		Log: s.log, Store: s.store, Rules: c.rules,
		BatchSize: c.BatchSize, Logger: logger, Registerer: registry, Tracer: tracer,
	})
	inviter := invitations.New(invitations.Config{
		Store: s.store, GitHub: c.gitHub(), Repository: c.InviteRepository, PerDay: c.InvitesPerDay,
		RemoveOnRevoke: c.remove, Logger: logger, Registerer: registry, Now: time.Now,
		Tracer: tracer, DeliveryOf: s.log.TraceParent,
	})
	meter := lag.NewMeter(lag.Config{Log: s.log, Store: s.store, Logger: logger, Registerer: registry})
	return work, inviter, meter
}
