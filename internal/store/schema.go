package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
)

// Schema describes one set of derived tables: the live tables, a candidate, the previous
// tables, or tables that end at a message.
type Schema struct {
	Name      string    `json:"name"`
	FoldID    string    `json:"fold_id"`
	LogID     string    `json:"log_id"`
	UntilSeq  *int64    `json:"until_seq"` // the message at which the tables end; nil: there is none, as of live tables
	CreatedAt time.Time `json:"created_at"`
	Position  int64     `json:"position"` // every message up to this sequence is applied
}

const (
	// PreviousSchema has the tables that were live before the last promotion.
	PreviousSchema = "portal_prev"
	// VerifySchema is the schema into which verify folds the log.
	VerifySchema = "portal_verify"
	// ExportSchema has the tables of an export as of the past.
	ExportSchema = "portal_export"
	// TransientSchema exists only within one transaction, of a promotion or of a comparison
	// of definitions.
	TransientSchema = "portal_aside"
)

var (
	// ErrNoSchema means that there are no derived tables in a schema of that name.
	ErrNoSchema = errors.New("there is no such schema")
	// ErrLive means that the operation is not allowed on the live schema.
	ErrLive = errors.New("the schema is live")
)

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,59}$`)

// CheckName returns an error if a candidate schema may not have that name.
func CheckName(name string) error {
	switch {
	case !schemaName.MatchString(name):
		return fmt.Errorf("schema %q: a name is up to 60 small letters, digits and underscores", name)
	case name == LiveSchema:
		return fmt.Errorf("schema %s: %w; rebuild a candidate and promote it", name, ErrLive)
	case name == PreviousSchema, name == TransientSchema, name == VerifySchema, name == ExportSchema,
		name == WalletSchema, name == TransientWallet, name == "payfold", name == "public", name == "information_schema", strings.HasPrefix(name, "pg_"):
		return fmt.Errorf("schema %s: the name is taken", name)
	}
	return nil
}

// Schemas lists all sets of derived tables, ordered by name.
func (s *Store) Schemas(ctx context.Context) (list []Schema, err error) {
	for range maxReads { // a schema may be dropped or renamed during a read
		if list, err = SchemasIn(ctx, s.pool); !NotPrepared(err) {
			break
		}
	}
	return list, err
}

// SchemasIn is Schemas in a transaction. It returns an error if a schema is dropped or
// renamed during the call; see NotPrepared.
func SchemasIn(ctx context.Context, q Querier) ([]Schema, error) {
	var none bool
	if err := q.QueryRow(ctx, "select to_regclass('payfold.schema_state') is null").Scan(&none); err != nil || none {
		return nil, err
	}
	schemas, err := Collect(ctx, q, "list the schemas", func(row pgx.CollectableRow) (out Schema, err error) {
		err = row.Scan(&out.Name, &out.FoldID, &out.LogID, &out.UntilSeq, &out.CreatedAt)
		out.CreatedAt = out.CreatedAt.UTC()
		return out, err
	}, `select schema_name, fold_id, log_id, until_seq, created_at from payfold.schema_state
		where to_regclass(format('%I.checkpoint', schema_name)) is not null order by 1`)
	if err != nil {
		return nil, err
	}
	for i := range schemas {
		err := q.QueryRow(ctx, "select coalesce(min(position), 0) from "+Qualified(schemas[i].Name, "checkpoint")).Scan(&schemas[i].Position)
		if err != nil {
			return nil, fmt.Errorf("read the checkpoints of %s: %w", schemas[i].Name, err)
		}
	}
	return schemas, nil
}

// SchemaNamed returns the schema of that name, or ErrNoSchema.
func (s *Store) SchemaNamed(ctx context.Context, name string) (Schema, error) {
	schemas, err := s.Schemas(ctx)
	if err != nil {
		return Schema{}, err
	}
	return SchemaIn(schemas, name)
}

// SchemaIn returns the schema of that name, or ErrNoSchema.
func SchemaIn(schemas []Schema, name string) (Schema, error) {
	for _, schema := range schemas {
		if schema.Name == name {
			return schema, nil
		}
	}
	return Schema{}, NoSchema(name)
}

// NoSchema returns ErrNoSchema with advice on what to do.
func NoSchema(name string) error {
	if name == LiveSchema {
		return fmt.Errorf("%w: %s: %w", ErrNoSchema, name, ErrNotPrepared)
	}
	return fmt.Errorf("%w: %s; projector status lists what there is", ErrNoSchema, name)
}

// Drop removes the store's schema with everything in it, unless another command works on it.
// It returns ErrLive for the live schema, ErrNoSchema if there are no tables, and an error
// if objects of other schemas depend on it.
func (s *Store) Drop(ctx context.Context) error {
	unlock, err := s.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.dropLocked(ctx)
}

// dropLocked is Drop for a command that has the lock of LockSchema already.
func (s *Store) dropLocked(ctx context.Context) error {
	if s.schema == LiveSchema {
		return fmt.Errorf("%w: %s; projector rebuild --promote replaces its tables; the old tables become %s, which can be dropped", ErrLive, s.schema, PreviousSchema)
	}
	if _, err := s.SchemaNamed(ctx, s.schema); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		others, err := ExternalDependencies(ctx, tx, s.schema, s.schema, Outside)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return fmt.Errorf("schema %s is used from outside, so drop these first: %s", s.schema, strings.Join(others, ", "))
		}
		return DropSchema(ctx, tx, s.schema)
	})
}

// Temporarily calls use while no other command works on the store's schema. The schema is not there when use begins,
// and is dropped when use has returned. If ctx has ended by then, that may take CleanUpTimeout. What is left after it,
// or by a killed process, is dropped by the next Temporarily.
func (s *Store) Temporarily(ctx context.Context, use func() error) error {
	unlock, err := s.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.dropLocked(ctx); err != nil && !errors.Is(err, ErrNoSchema) {
		return err
	}
	defer func() {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(CleanUpTimeout, cancel) })()
		_ = s.dropLocked(work)
	}()
	return use()
}

// DropSchema drops a schema with everything in it. A schema that payfold has not made stays.
func DropSchema(ctx context.Context, tx pgx.Tx, name string) error {
	deleted, err := tx.Exec(ctx, "delete from payfold.schema_state where schema_name = $1", name)
	if err != nil {
		return fmt.Errorf("forget schema %s: %w", name, err)
	}
	if deleted.RowsAffected() == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "drop schema if exists "+Quoted(name)+" cascade"); err != nil {
		return fmt.Errorf("drop schema %s: %w", name, err)
	}
	return nil
}

// Quoted returns a name, quoted for a statement.
func Quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// Qualified returns the name of a schema's table, quoted for a statement.
func Qualified(schema, table string) string { return pgx.Identifier{schema, table}.Sanitize() }

// LockSchema takes the lock of the schema, which one command at a time can have, until unlock. It
// waits up to ten seconds, because the session of a killed command may hold the lock for some
// seconds. After that it returns an error.
func (s *Store) LockSchema(ctx context.Context) (unlock func(), err error) {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	retry := backoff.Every(LockRetryInterval)
	for range lockTimeout / LockRetryInterval {
		var locked bool
		if err := connection.QueryRow(ctx, "select pg_try_advisory_lock($1, hashtext($2))", commandLock, s.schema).Scan(&locked); err != nil {
			connection.Release()
			return nil, fmt.Errorf("lock schema %s: %w", s.schema, err)
		}
		if locked {
			return func() { _ = connection.Hijack().Close(context.Background()) }, nil
		}
		if err := retry.Wait(ctx); err != nil {
			connection.Release()
			return nil, err
		}
	}
	connection.Release()
	return nil, fmt.Errorf("another command works on schema %s", s.schema)
}

const (
	lockTimeout = 10 * time.Second

	// LockRetryInterval is the pause between two tries to take a lock.
	LockRetryInterval = 100 * time.Millisecond
)

//go:embed external_dependencies.sql
var externalDependenciesSQL string

// The places of external dependencies.
const (
	Outside  = "outside"  // in another schema
	Attached = "attached" // to tables of the schema: triggers, rules, policies, publications
	Inside   = "inside"   // in the schema
)

// ExternalDependencies describes the objects at these places that depend on a schema or lie in it,
// and that payfold has not made. A table or view of the schema is payfold's if schema model has one
// of the same name.
func ExternalDependencies(ctx context.Context, q Querier, schema, model string, places ...string) ([]string, error) {
	return Collect(ctx, q, "look for what depends on schema "+schema, pgx.RowTo[string], externalDependenciesSQL, Quoted(schema), Quoted(model), places)
}

//go:embed subscribers.sql
var subscribersSQL string

// WarnSubscribers logs a warning if rows of new tables would reach a subscriber of the database. A subscriber that is a
// Postgres without these tables stops at the first row, and its slot keeps the WAL until the disk is full.
func (s *Store) WarnSubscribers(ctx context.Context, logger *slog.Logger) error {
	var publications, slots string
	if err := s.pool.QueryRow(ctx, subscribersSQL).Scan(&publications, &slots); err != nil {
		return fmt.Errorf("look for publications: %w", err)
	}
	if publications != "" && slots != "" {
		logger.WarnContext(ctx, "a publication for all tables also sends the tables that are built now: a subscriber without them stops, and its slot keeps WAL",
			"schema", s.schema, "publications", publications, "slots", slots)
	}
	return nil
}
