package store

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"

	"github.com/payfold/payfold/internal/projections"
)

// LiveSchema holds the tables that are served.
const LiveSchema = "portal"

//go:embed portal.sql
var besideTables string

//go:embed advance_checkpoints.sql
var advanceCheckpoints string

//go:embed lock_checkpoints.sql
var lockCheckpoints string

//go:embed migrations/*.sql
var migrations embed.FS

// Store is one schema of derived tables. Safe for concurrent use.
type Store struct {
	config    Config
	pool      *pgxpool.Pool
	schema    string
	owner     string
	leaseTime time.Duration
}

// Config says which database, and who asks.
type Config struct {
	DSN       string
	Schema    string        // of the derived tables; empty: the live one
	Owner     string        // unique among the projectors of this database; at most 40 plain characters
	LeaseTime time.Duration // after which a member that says nothing is gone
}

// connectTimeout keeps recovery within two seconds of the database's return. Tests set more.
var connectTimeout = 2 * time.Second

// mostConnections is what a promotion needs, which holds two locks while it
// reads and writes, and some to spare.
const mostConnections = 8

// Open returns a store whose connections use one schema. It does not wait
// for the database: the first call does.
func Open(ctx context.Context, c Config) (*Store, error) {
	c.Schema = cmp.Or(c.Schema, LiveSchema)
	config, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("read the connection string: %w", err)
	}
	if mode := config.ConnConfig.DefaultQueryExecMode; mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
		return nil, fmt.Errorf("default_query_exec_mode %s is not supported: rows are read in the binary format", mode)
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	for name, value := range map[string]string{
		"application_name": applicationName + c.Owner,
		"search_path":      quoted(c.Schema),
		"timezone":         "UTC",
		// A projector that freezes inside a transaction must not hold its rows for
		// longer than a lease.
		"lock_timeout":                        milliseconds(c.LeaseTime / 2),
		"idle_in_transaction_session_timeout": milliseconds(c.LeaseTime * 4 / 5),
		// Calls have deadlines of their own where they need one; a rebuild has none.
		"statement_timeout": "0",
		// A plan made for empty tables reads them whole when they are full.
		"plan_cache_mode": "force_custom_plan",
		// A batch looks for a thousand keys in pages that are mostly in memory. With
		// the default, made for disks that spin, Postgres reads whole tables instead.
		"random_page_cost": "1.1",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	config.MaxConns = max(config.MaxConns, mostConnections)
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &Store{config: c, pool: pool, schema: c.Schema, owner: c.Owner, leaseTime: c.LeaseTime}, nil
}

// Beside opens a store on another schema of the same database.
func (s *Store) Beside(ctx context.Context, schema string) (*Store, error) {
	config := s.config
	config.Schema = schema
	return Open(ctx, config)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close waits for calls under way and closes the connections.
func (s *Store) Close() { s.pool.Close() }

// Schema is the name of the schema.
func (s *Store) Schema() string { return s.schema }

// Pool is the connections to the database; search_path is the schema.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// ErrOtherLog: the tables were folded from another log.
var ErrOtherLog = errors.New("the tables were folded from another log; restore it, or where it is lost see: projector adopt-log")

// Prepare creates what is missing of both schemas, and refuses tables that were
// folded from another log (ErrOtherLog) or under other rules (ErrFoldID).
func (s *Store) Prepare(ctx context.Context, logID string, partitions int, rules projections.Rules) error {
	return s.prepare(ctx, Schema{LogID: logID, FoldID: rules.FoldID()}, partitions, rules.Extras)
}

// PrepareAsOf is Prepare for tables that are to end at a message and stay so.
func (s *Store) PrepareAsOf(ctx context.Context, logID string, partitions int, rules projections.Rules, until uint64) error {
	seq := int64(until)
	return s.prepare(ctx, Schema{LogID: logID, FoldID: rules.FoldID(), UntilSeq: &seq}, partitions, rules.Extras)
}

func (s *Store) prepare(ctx context.Context, want Schema, partitions int, extras []string) error {
	return s.migrated(ctx, func(tx pgx.Tx) error { return s.ensureTables(ctx, tx, want, partitions, extras) })
}

// migrationTimeout is when Postgres ends the session of a process that froze while it
// kept others from preparing anything.
const migrationTimeout = 5 * time.Minute

// migrated calls then when schema payfold is that of this build, in a transaction that
// keeps others from preparing anything.
func (s *Store) migrated(ctx context.Context, then func(pgx.Tx) error) error {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer connection.Release()
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		// This session is idle while another one migrates, which may take longer than a
		// lease on a busy database.
		if _, err := tx.Exec(ctx, "select set_config('idle_in_transaction_session_timeout', $1, true)", milliseconds(migrationTimeout)); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return fmt.Errorf("wait for the schema lock: %w", err)
		}
		if err := s.migrate(ctx); err != nil {
			return err
		}
		return then(tx)
	})
}

// migrate brings schema payfold to this build's version, on a connection of its
// own because tern commits each step.
func (s *Store) migrate(ctx context.Context) error {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer connection.Release()
	if _, err := connection.Exec(ctx, "create schema if not exists payfold"); err != nil {
		return fmt.Errorf("create schema payfold: %w", err)
	}
	migrator, err := migrate.NewMigrator(ctx, connection.Conn(), "payfold.schema_version")
	if err != nil {
		return fmt.Errorf("read the version of schema payfold: %w", err)
	}
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := migrator.LoadMigrations(steps); err != nil {
		return fmt.Errorf("load the migrations: %w", err)
	}
	// Migrations only ever add, so this build can work on what a newer one made.
	have, err := migrator.GetCurrentVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the version of schema payfold: %w", err)
	}
	if int(have) >= len(migrator.Migrations) {
		return nil
	}
	if err := migrator.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate schema payfold: %w", err)
	}
	return nil
}

func (s *Store) ensureTables(ctx context.Context, tx pgx.Tx, want Schema, partitions int, extras []string) error {
	// A schema that somebody dropped by hand is made anew.
	if _, err := tx.Exec(ctx, "delete from payfold.schema_state where schema_name = $1 and to_regclass($2) is null",
		s.schema, in(s.schema, "checkpoint")); err != nil {
		return fmt.Errorf("forget schema %s: %w", s.schema, err)
	}
	var have Schema
	err := tx.QueryRow(ctx, "select fold_id, log_id, until_seq from payfold.schema_state where schema_name = $1", s.schema).
		Scan(&have.FoldID, &have.LogID, &have.UntilSeq)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.createTables(ctx, tx, want, partitions, extras)
	case err != nil:
		return fmt.Errorf("read the schema's state: %w", err)
	case s.schema != LiveSchema && have.LogID != want.LogID:
		return fmt.Errorf("schema %s was folded from log %s, this command has log %s; another --schema, or remove it: projector drop %s",
			s.schema, have.LogID, want.LogID, s.schema)
	case have.LogID != want.LogID:
		return fmt.Errorf("%w (schema %s has log_id %s, the stream has %s)", ErrOtherLog, s.schema, have.LogID, want.LogID)
	case have.FoldID != want.FoldID:
		return otherRules(s.schema, have.FoldID, want.FoldID)
	case !equalSeq(have.UntilSeq, want.UntilSeq):
		return fmt.Errorf("schema %s was begun for another end of the log; another --schema, or remove it: projector drop %s", s.schema, s.schema)
	case s.schema != LiveSchema:
		return nil
	}
	return s.ensureIndexes(ctx, tx, false) // what keeps two projectors from writing one row twice is always there
}

// InForce says what the schema's name leads to; ErrFoldID where that was folded under
// other rules.
func (s *Store) InForce(ctx context.Context, rules projections.Rules) (Tables, error) {
	var foldID string
	err := s.pool.QueryRow(ctx, "select fold_id from payfold.schema_state where schema_name = $1", s.schema).Scan(&foldID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, ErrNotPrepared
	case err != nil:
		return 0, fmt.Errorf("read the schema's state: %w", err)
	case foldID != rules.FoldID():
		return 0, otherRules(s.schema, foldID, rules.FoldID())
	}
	return s.tables(ctx, s.pool)
}

// otherRules says what to do about tables that were folded under other rules.
func otherRules(schema, have, want string) error {
	if schema == LiveSchema {
		return fmt.Errorf("%w: schema %s has %q, this build has %q", ErrFoldID, schema, have, want)
	}
	return fmt.Errorf("%w, or remove it: projector drop %s", FoldedOtherwise(schema, have, want), schema)
}

// FoldedOtherwise says with what to run a command on tables that were folded under other
// rules than its own.
func FoldedOtherwise(schema, have, want string) error {
	advice := "run the build, catalogue and mode it was made with"
	if with, more := strings.CutPrefix(have, want+", with "); more {
		advice = "add --with " + strings.ReplaceAll(with, " ", ",")
	} else if strings.HasPrefix(want, have+", with ") {
		advice = "leave out --with"
	}
	return fmt.Errorf("schema %s was folded under %q, this command has %q: %s", schema, have, want, advice)
}

func equalSeq(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func (s *Store) createTables(ctx context.Context, tx pgx.Tx, want Schema, partitions int, extras []string) error {
	if err := s.checkEmpty(ctx, tx); err != nil {
		return err
	}
	if err := s.makeTables(ctx, tx, extras); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "insert into checkpoint (partition, position, log_id) select p, 0, $2 from generate_series(0, $1::int - 1) p", partitions, want.LogID)
	if err != nil {
		return fmt.Errorf("create the checkpoints of schema %s: %w", s.schema, err)
	}
	_, err = tx.Exec(ctx, "insert into payfold.schema_state (schema_name, fold_id, log_id, partitions, until_seq) values ($1, $2, $3, $4, $5)",
		s.schema, want.FoldID, want.LogID, partitions, want.UntilSeq)
	if err != nil {
		return fmt.Errorf("note schema %s: %w", s.schema, err)
	}
	if s.schema != LiveSchema {
		return nil // they are filled first
	}
	return s.ensureIndexes(ctx, tx, true)
}

// makeTables makes the empty tables. Within the transaction search_path is their
// schema from then on.
func (s *Store) makeTables(ctx context.Context, tx pgx.Tx, extras []string) error {
	schema := quoted(s.schema)
	statements := []string{"create schema if not exists " + schema, "set local search_path = " + schema}
	for _, t := range derived {
		if t := t.about(); !t.extra || slices.Contains(extras, t.name) {
			statements = append(statements, t.ddl)
		}
	}
	statements = append(statements, besideTables)
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("create the tables of schema %s: %w", s.schema, err)
		}
	}
	return nil
}

// checkEmpty: a schema that somebody else filled would be promoted and dropped
// with what is in it. The live one may be there, with grants.
func (s *Store) checkEmpty(ctx context.Context, tx pgx.Tx) error {
	var used bool
	err := tx.QueryRow(ctx, `select exists (select from pg_namespace n join pg_depend d on d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid
		where n.nspname = $1 and d.classid <> 'pg_default_acl'::regclass)`, s.schema).Scan(&used)
	if err != nil {
		return fmt.Errorf("look into schema %s: %w", s.schema, err)
	}
	if used && s.schema != LiveSchema {
		return fmt.Errorf("schema %s is there already and is not payfold's", s.schema)
	}
	return nil
}

// Checkpoints returns all checkpoints, by partition.
func (s *Store) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	rows, err := s.pool.Query(ctx,
		"select partition, position, position_digest, log_id from checkpoint order by partition")
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	checkpoints, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Checkpoint])
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	return checkpoints, nil
}
