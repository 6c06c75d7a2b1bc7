package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/sqlstate"
	"github.com/payfold/payfold/internal/store"
)

// sourceFlags say where the log and the tables are.
type sourceFlags struct {
	cli.Common
	cli.ArchiveFlags
	DatabaseURL     string `name:"database-url" env:"DATABASE_URL" help:"Postgres; empty: a private one in the data directory."`
	DatabaseURLFile string `name:"database-url-file" env:"DATABASE_URL_FILE" help:"File that contains database-url, which may have a password."`
}

// Check implements cli.Checked.
func (f *sourceFlags) Check(faults *cli.Faults) {
	f.Common.Check(faults)
	cli.CheckSecretVariables(faults, "PGPASSWORD") // pgx reads it
	f.DatabaseURL = cli.GivenText("DATABASE_URL", f.DatabaseURL, f.DatabaseURLFile, faults)
	if f.DatabaseURL != "" {
		if err := store.CheckDSN(f.DatabaseURL); err != nil {
			faults.Addf("DATABASE_URL: %w", err)
		}
	}
	f.CheckArchive(&f.Common, faults)
}

// sources are the log and the tables, connected.
type sources struct {
	log   *eventlog.Log
	store *store.Store
}

// logTimeout is how long a command waits for a log that is slow; see eventlog.Log.Reach. projector run waits for ever.
const logTimeout = 10 * time.Second

// sayPostgresAfter is when a command says that it waits. A private Postgres that exists may take a while to start.
const sayPostgresAfter = 10 * time.Second

// withLog calls work when the database and the log answer. It asks the database first: if the database
// is down, that is often known at once, without a wait for the log.
func withLog(logger *slog.Logger, work func(context.Context, sources) error) func(context.Context, sources) error {
	return func(ctx context.Context, s sources) error {
		if err := s.store.Ping(ctx); err != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		if _, err := s.log.Reach(ctx, logger, logTimeout); err != nil {
			return err
		}
		return work(ctx, s)
	}
}

// with opens the log and the tables, calls work and closes them. The private Postgres runs as long
// as work, in this process unless another process runs it. If it fails, work's context ends.
func (f *sourceFlags) with(ctx context.Context, config store.Config, logger *slog.Logger, work func(context.Context, sources) error) error {
	log, err := f.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	return f.withStore(ctx, config, logger, func(ctx context.Context, database *store.Store) error {
		return work(ctx, sources{log, database})
	})
}

// withSchema is with for work on one schema, which must exist, and the log, which must answer.
func (f *sourceFlags) withSchema(ctx context.Context, schema string, logger *slog.Logger, work func(context.Context, sources) error) error {
	if err := f.expectDatabase(); err != nil {
		return err
	}
	return f.with(ctx, store.Config{Schema: schema}, logger, func(ctx context.Context, s sources) error {
		defer s.store.LogBlocking(ctx, logger)()
		if _, err := s.store.SchemaNamed(ctx, schema); err != nil {
			return err
		}
		return withLog(logger, work)(ctx, s)
	})
}

// expectDatabase returns an error if there is no database, so that a command does not create a private one.
func (f *sourceFlags) expectDatabase() error {
	if f.DatabaseURL != "" {
		return nil
	}
	if _, err := localpg.DSN(f.DataDir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database in %s yet: start a projector, or set DATABASE_URL", f.DataDir)
	}
	return nil
}

// expectLog returns an error if there is no database yet and no log either: a command must not make a private database in
// a wrong data directory.
func (f *sourceFlags) expectLog(ctx context.Context, logger *slog.Logger) error {
	if f.expectDatabase() == nil {
		return nil
	}
	log, err := f.connect(logger)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.Reach(ctx, logger, logTimeout)
	return err
}

// connect returns at once, even if the log does not answer.
func (f *sourceFlags) connect(logger *slog.Logger) (*eventlog.Log, error) {
	place, err := f.Place(logger)
	if err != nil {
		return nil, err
	}
	return eventlog.Connect(eventlog.Config{
		URL: f.NATSURL, Credentials: f.NATSCreds, InboxPrefix: f.NATSInboxPrefix, DataDir: f.DataDir,
		Stream: f.NATSStream, Archive: place, Logger: logger,
	})
}

// withTables is withStore for tables that exist. It does not create a private Postgres.
func (f *sourceFlags) withTables(ctx context.Context, config store.Config, logger *slog.Logger, work func(context.Context, *store.Store) error) error {
	if err := f.expectDatabase(); err != nil {
		return err
	}
	return f.withStore(ctx, config, logger, work)
}

// withStore is with for the tables alone.
func (f *sourceFlags) withStore(ctx context.Context, config store.Config, logger *slog.Logger, work func(context.Context, *store.Store) error) error {
	return f.withPostgres(ctx, logger, func(ctx context.Context, dsn string) error {
		config.DSN = dsn
		config.Owner = ownerName()
		database, err := store.Open(ctx, config)
		if err != nil {
			return err
		}
		defer database.Close()
		return explained(work(ctx, database))
	})
}

// explained names the cause of an error of the database: a pooler, or a Postgres that lets nobody write.
func explained(err error) error {
	if sqlstate.Of(err) == "25006" { // read_only_sql_transaction
		return fmt.Errorf("this Postgres only reads, as a standby does, and the command also writes: DATABASE_URL must name the primary: %w", err)
	}
	return store.PoolerOr(err)
}

func (f *sourceFlags) withPostgres(ctx context.Context, logger *slog.Logger, work func(ctx context.Context, dsn string) error) error {
	if f.DatabaseURL != "" {
		return work(ctx, f.DatabaseURL)
	}
	private := localpg.New(localpg.Config{Dir: f.DataDir, Logger: logger, Durable: true})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var server errgroup.Group
	server.Go(func() error {
		err := private.Run(serving)
		cancel(err)
		return err
	})
	late := time.AfterFunc(sayPostgresAfter, func() { logger.WarnContext(ctx, "the private postgres does not answer yet", "data_dir", f.DataDir) })
	if f.expectDatabase() != nil { // it is being made, which takes a while
		late.Stop()
	}
	dsn, err := private.Ready(working)
	late.Stop()
	if err == nil {
		err = work(working, dsn)
	}
	stop() // after everything that uses it
	if fault := server.Wait(); fault != nil {
		return fault
	}
	return err
}

// ownerName is different for every process, and shows an operator where the process runs.
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
