package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// LiveSchema holds the tables that are served.
const LiveSchema = "portal"

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

	ConnectTimeout time.Duration // 0: two seconds, with which recovery takes no longer once the database is back
}

// ApplicationName is how Postgres lists a projector's sessions; its owner follows.
const ApplicationName = "payfold-projector "

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
	config.ConnConfig.ConnectTimeout = cmp.Or(c.ConnectTimeout, 2*time.Second)
	for name, value := range map[string]string{
		"application_name": ApplicationName + c.Owner,
		"search_path":      Quoted(c.Schema),
		"timezone":         "UTC",
		// A projector that freezes inside a transaction must not hold its rows for
		// longer than a lease.
		"lock_timeout":                        Milliseconds(c.LeaseTime / 2),
		"idle_in_transaction_session_timeout": Milliseconds(c.LeaseTime * 4 / 5),
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

// Milliseconds is a duration as Postgres reads it in a setting.
func Milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close waits for calls under way and closes the connections.
func (s *Store) Close() { s.pool.Close() }

// Schema is the name of the schema.
func (s *Store) Schema() string { return s.schema }

// Owner is unique among the projectors of the database.
func (s *Store) Owner() string { return s.owner }

// LeaseTime is how long a lease lasts.
func (s *Store) LeaseTime() time.Duration { return s.leaseTime }

// Pool is the connections to the database; search_path is the schema.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }
