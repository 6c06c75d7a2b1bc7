package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry"
)

type runCommand struct {
	cli.Common
	rulesFlags
	AdminAddr   string        `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8082" help:"Health, metrics and profiles."`
	DatabaseURL string        `name:"database-url" env:"DATABASE_URL" help:"Postgres; empty: a private one in the data directory."`
	BatchSize   int           `name:"batch-size" env:"BATCH_SIZE" default:"1000" help:"Most events in one transaction."`
	LeaseTime   time.Duration `name:"lease-time" env:"LEASE_TIME" default:"10s" help:"After which a projector that says nothing loses its partitions."`
}

// Check implements cli.Checked.
func (c *runCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.rulesFlags.Check(faults)
	cli.CheckAddress("ADMIN_ADDR", c.AdminAddr, faults)
	if c.BatchSize < 1 || c.BatchSize > 10_000 {
		faults.Addf("BATCH_SIZE is %d, must be 1 to 10000", c.BatchSize)
	}
	if c.LeaseTime < time.Second || c.LeaseTime > 10*time.Minute {
		faults.Addf("LEASE_TIME is %s, must be 1s to 10m", c.LeaseTime)
	}
}

func (c *runCommand) run(ctx context.Context, stderr io.Writer) error {
	logger := c.Logger(stderr)
	log, err := eventlog.Connect(eventlog.Config{
		URL: c.NATSURL, Credentials: c.NATSCreds, DataDir: c.DataDir, Stream: c.NATSStream, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer log.Close()

	// The private Postgres stops after everything that uses it.
	serverCtx, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	server, serverCtx := errgroup.WithContext(serverCtx)
	defer func() {
		stopServer()
		_ = server.Wait()
	}()
	signalled := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dsn := c.DatabaseURL
	if dsn == "" {
		private := localpg.New(localpg.Config{Dir: c.DataDir, Logger: logger, Durable: true})
		server.Go(func() error {
			err := private.Run(serverCtx)
			cancel(err)
			return err
		})
		if dsn, err = private.Ready(ctx); err != nil {
			return cause(signalled, ctx, err)
		}
	}
	owner := ownerName()
	database, err := store.Open(ctx, store.Config{DSN: dsn, Owner: owner, LeaseTime: c.LeaseTime})
	if err != nil {
		return err
	}
	defer database.Close()

	registry := telemetry.NewRegistry()
	work := projector.New(projector.Config{
		Log: log, Store: database, Owner: owner, LeaseTime: c.LeaseTime, Rules: c.rules,
		BatchSize: c.BatchSize, Logger: logger, Registerer: registry,
	})
	admin, err := telemetry.NewAdmin(c.AdminAddr, registry, work.Ready, logger)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "the projector starts", "owner", owner, "admin_addr", admin.Addr(), "fold_id", c.rules.FoldID())
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return work.Run(groupCtx) })
	group.Go(func() error { return admin.Run(groupCtx) })
	return cause(signalled, ctx, group.Wait())
}

// cause is nil after a signal, else what ended ctx: a fault of the private
// Postgres, or err itself.
func cause(signalled, ctx context.Context, err error) error {
	if signalled.Err() != nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ownerName tells this process apart from every other projector, before and now,
// and tells an operator where it runs.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	plain := strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r
		}
		return -1
	}, host)
	return fmt.Sprintf("%.20s-%d-%.6s", plain, os.Getpid(), strings.ToLower(rand.Text()))
}
