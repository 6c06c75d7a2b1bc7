package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationTimeout is the time after which Postgres ends the idle session of a process that
// holds the schema lock and has frozen.
const migrationTimeout = 5 * time.Minute

// Migrate brings schema payfold to this build's version.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrateThen(ctx, func(pgx.Tx) error { return nil })
}

// migrateThen brings schema payfold to this build's version and calls then, in a transaction
// that holds the schema lock.
func (s *Store) migrateThen(ctx context.Context, then func(pgx.Tx) error) error {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", PoolerOr(err))
	}
	defer connection.Release()
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		// This session is idle while another connection migrates. On a busy database that may
		// take longer than a lease.
		if _, err := tx.Exec(ctx, "select set_config('idle_in_transaction_session_timeout', $1, true)", Milliseconds(migrationTimeout)); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return fmt.Errorf("wait for the schema lock: %w", err)
		}
		steps, err := fs.Sub(migrations, "migrations")
		if err != nil {
			return err
		}
		if err := s.migrateSchema(ctx, steps); err != nil {
			return err
		}
		return then(tx)
	})
}

// migrateSchema brings schema payfold to the newest version that the steps have. It uses its own
// connection, because tern commits each step.
func (s *Store) migrateSchema(ctx context.Context, steps fs.FS) error {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer connection.Release()
	if err := checkWhole(ctx, connection); err != nil {
		return err
	}
	if _, err := connection.Exec(ctx, "create schema if not exists payfold"); err != nil {
		return fmt.Errorf("create schema payfold: %w", err)
	}
	migrator, err := migrate.NewMigrator(ctx, connection.Conn(), "payfold.schema_version")
	if err != nil {
		return fmt.Errorf("read the version of schema payfold: %w", err)
	}
	if err := migrator.LoadMigrations(steps); err != nil {
		return fmt.Errorf("load the migrations: %w", err)
	}
	// Migrations only add, so this build also works with the schema of a newer build.
	have, err := migrator.GetCurrentVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the version of schema payfold: %w", err)
	}
	if int(have) >= len(migrator.Migrations) {
		return nil
	}
	// tern resets the session to the settings of the role and the database, such as transaction_timeout.
	defer func() { _ = connection.Conn().Close(ctx) }()
	// It is called in the transaction of each migration, which fails if this fails.
	migrator.OnStart = func(int32, string, string, string) { _, _ = connection.Exec(ctx, shortLockTimeout) }
	if err := retryLocks(ctx, func() error { return migrator.Migrate(ctx) }); err != nil {
		return fmt.Errorf("migrate schema payfold: %w", err)
	}
	return nil
}

// checkWhole returns ErrPartOfADatabase, before anything is made, if schema payfold is missing beside the others.
func checkWhole(ctx context.Context, q Querier) error {
	var part bool
	err := q.QueryRow(ctx, `select to_regnamespace('payfold') is null
		and (to_regnamespace('wallet') is not null or to_regclass('portal.processed_event') is not null)`).Scan(&part)
	if err != nil {
		return fmt.Errorf("look for the schemas: %w", err)
	}
	if part {
		return fmt.Errorf("there is no schema payfold: %w", ErrPartOfADatabase)
	}
	return nil
}

const (
	// WalletSchema has what apps spend of the credits that the live tables grant. No promotion touches it.
	WalletSchema = "wallet"
	// TransientWallet exists only within one transaction, of a comparison of definitions.
	TransientWallet = "wallet_aside"
)

// MakeWallet creates schema wallet as this build makes it, under another name: its functions are texts, which have that
// name in them. Only migrations named after it make objects of the schema.
func MakeWallet(ctx context.Context, tx pgx.Tx, name string) error {
	steps, err := fs.Glob(migrations, "migrations/*_wallet*.sql") // sorted
	if err != nil {
		return err
	}
	for _, step := range steps {
		text, err := fs.ReadFile(migrations, step)
		if err != nil {
			return err
		}
		up, _, _ := strings.Cut(string(text), "---- create above / drop below ----")
		if _, err := tx.Exec(ctx, strings.ReplaceAll(up, WalletSchema, name)); err != nil {
			return fmt.Errorf("create schema %s by %s: %w", name, step, err)
		}
	}
	return nil
}
