package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"
	_ "time/tzdata" // for machines and images without the time zone database

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry"
)

type consoleCommand struct {
	sourceFlags
	signerFlags
	accessFlags
	Addr             string `name:"console-addr" env:"CONSOLE_ADDR" default:"127.0.0.1:8083" help:"Where the console listens."`
	AdminAddr        string `name:"console-admin-addr" env:"CONSOLE_ADMIN_ADDR" help:"Where the console serves /livez, /readyz and /metrics; empty: nowhere."`
	ShowPersonalData bool   `name:"console-show-personal-data" env:"CONSOLE_SHOW_PERSONAL_DATA" help:"Show names and whole bodies, which are masked otherwise."`
	IngestAddr       string `name:"console-ingest-addr" env:"CONSOLE_INGEST_ADDR" default:"127.0.0.1:8081" help:"ADMIN_ADDR of ingest, whose state the overview shows; none: it is not asked."`
	TimeZone         string `name:"console-time-zone" env:"CONSOLE_TIME_ZONE" default:"UTC" help:"Time zone of the shop, such as Europe/Berlin: pages show times in it."`

	zone *time.Location
}

// Check implements cli.Checked.
func (c *consoleCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.signerFlags.Check(faults)
	c.accessFlags.Check(faults)
	cli.CheckAddress("CONSOLE_ADDR", c.Addr, faults)
	if c.AdminAddr != "" {
		cli.CheckAddress("CONSOLE_ADMIN_ADDR", c.AdminAddr, faults)
	}
	if c.IngestAddr != notAsked {
		cli.CheckAddress("CONSOLE_INGEST_ADDR", c.IngestAddr, faults)
	}
	var err error
	if c.zone, err = time.LoadLocation(c.TimeZone); err != nil || c.TimeZone == "Local" {
		faults.Addf("CONSOLE_TIME_ZONE is %q, must be a name of the time zone database, such as Europe/Berlin", c.TimeZone)
	}
}

// Limits of the console's load on the database that projectors write.
const (
	consoleConnections = 6 // up to two compute what is kept
	consoleStatement   = 5 * time.Second
)

// notAsked is the value of CONSOLE_INGEST_ADDR and PING_INGEST_ADDR where ingest cannot be reached, or several run.
const notAsked = "none"

// askIngest returns the question how the ingest with this ADMIN_ADDR is; nil for notAsked.
func askIngest(addr string) func(context.Context) (logreport.Ingest, error) {
	if addr == notAsked {
		return nil
	}
	return func(ctx context.Context) (logreport.Ingest, error) { return logreport.AskIngest(ctx, addr) }
}

// rightsInterval is how soon the console ends after its role was given the right to write.
const rightsInterval = time.Minute

// UntilStopped implements cli.Service.
func (c *consoleCommand) UntilStopped() bool { return true }

// Run serves the console until ctx ends.
func (c *consoleCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.Logger(streams.Err)
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("CONSOLE_ADDR: listen for the console: %w", err)
	}
	defer listener.Close()
	log, err := c.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	return c.withReader(ctx, logger, func(ctx context.Context, tables *store.Store) error {
		return c.serve(ctx, listener, log, tables, streams, logger)
	})
}

func (c *consoleCommand) serve(ctx context.Context, listener net.Listener, log *eventlog.Log, tables *store.Store, streams cli.Streams, logger *slog.Logger) error {
	guard, err := c.guard(ctx, listener.Addr(), logger)
	if err != nil {
		return err
	}
	meter := lag.NewMeter(lag.Config{Log: log, Store: tables, Logger: logger})
	serving := console.New(console.Config{
		Log: log, Tables: tables, Guard: guard, Secrets: c.secrets, ShowPersonalData: c.ShowPersonalData,
		TimeZone: c.zone, Ingest: askIngest(c.IngestAddr), Lag: meter.LastHour,
		Version: cli.Build().Version, Logger: logger,
	})
	fmt.Fprintf(streams.Out, "console: %s\n", guard.Link("http://"+listener.Addr().String()))
	group, ctx := errgroup.WithContext(ctx)
	if c.AdminAddr != "" {
		admin, err := telemetry.NewAdmin(c.AdminAddr, telemetry.NewRegistry(cli.Build()), tables.Ping, logger)
		if err != nil {
			return fmt.Errorf("CONSOLE_ADMIN_ADDR: %w", err)
		}
		group.Go(func() error { return admin.Run(ctx) })
	}
	group.Go(func() error { return serving.Run(ctx, listener) })
	group.Go(func() error { return meter.Run(ctx) })
	group.Go(func() error { return tables.StayReadOnly(ctx, rightsInterval) })
	return group.Wait()
}

// withReader calls work with the live tables, under a role that can change nothing. Without a
// DATABASE_URL, that role is the reader of the private Postgres.
func (c *consoleCommand) withReader(ctx context.Context, logger *slog.Logger, work func(context.Context, *store.Store) error) error {
	if err := c.expectDatabase(); err != nil {
		return err
	}
	return c.withPostgres(ctx, logger, func(ctx context.Context, dsn string) (err error) {
		if c.DatabaseURL == "" {
			if dsn, err = localpg.ReaderDSN(c.DataDir); err != nil {
				return fmt.Errorf("read the reader of the private postgres: %w", err)
			}
		}
		tables, err := store.Open(ctx, store.Config{
			DSN: dsn, Owner: ownerName(), FrozenAfter: readTimeout, StatementTimeout: consoleStatement, Connections: consoleConnections,
		})
		if err != nil {
			return err
		}
		defer tables.Close()
		if err := tables.CheckReadOnly(ctx); err != nil {
			return explained(err)
		}
		return work(ctx, tables)
	})
}
