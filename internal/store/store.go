// Package store has what all work on Postgres shares.
//
// These are connections, the live and candidate schemas of derived tables, the durable schema payfold, checkpoints,
// locks, and the quarantine of events that the database refuses.
//
// A checkpoint here is the position of a partition in the log. A signed checkpoint of the log is in
// package proof.
package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/tables"
)

// LiveSchema is the schema of the live tables.
const LiveSchema = "portal"

// Store is a pool of connections whose search_path is one schema of derived tables. It is
// safe for concurrent use.
type Store struct {
	config Config
	pool   *pgxpool.Pool
	schema string
}

// Config configures a Store.
type Config struct {
	DSN       string
	Schema    string        // of the derived tables; empty: the live schema
	Owner     string        // unique among the projectors of this database; at most 40 plain characters
	LeaseTime time.Duration // a member without a heartbeat for this time is evicted; 0: this process is no member

	// FrozenAfter is the time after which Postgres has freed the locks of a frozen process. A statement may wait for a
	// lock for half of it, and a transaction may be idle for four fifths. 0: LeaseTime, so that a member has released
	// its rows before it is evicted. If both are 0, there are no such limits.
	FrozenAfter time.Duration

	// StatementTimeout bounds each statement. 0: no bound. Calls that need one set a deadline; a
	// rebuild has none.
	StatementTimeout time.Duration
	Connections      int32 // maximum; 0: poolSize

	// ConnectTimeout bounds the look-up of the name, then one attempt to connect, and then the first answer of the session.
	// 0: two seconds with a FrozenAfter or LeaseTime, because a projector soon tries again and a reader must not wait.
	// Otherwise ten seconds. Only tests set it.
	ConnectTimeout time.Duration
}

// ApplicationName is the prefix of application_name of a projector's sessions; the owner
// follows it.
const ApplicationName = "payfold-projector "

// poolSize bounds the connections of one Store; pool_max_conns in the connection string may raise
// it. It is more than any program needs, also a promotion, which holds two locks and reads and
// writes, each on its own connection. It does not grow with the cores of the machine, as the
// default of pgxpool does, because Postgres has few connections.
const poolSize = 8

// CleanUpTimeout bounds a call that cleans up when a command ends, because the network may be
// silent. After it the connection is closed, and Postgres cleans up when it notices that.
const CleanUpTimeout = 5 * time.Second

// Open returns a store on the schema of the configuration. It does not connect: the first
// call of a method does.
func Open(ctx context.Context, c Config) (*Store, error) {
	c.Schema = cmp.Or(c.Schema, LiveSchema)
	config, err := parseDSN(c.DSN)
	if err != nil {
		return nil, err
	}
	frozenAfter := cmp.Or(c.FrozenAfter, c.LeaseTime)
	config.ConnConfig.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout(frozenAfter > 0))
	lookUp := config.ConnConfig.LookupFunc // ConnectTimeout begins after it
	config.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, config.ConnConfig.ConnectTimeout)
		defer cancel()
		return lookUp(ctx, host)
	}
	settings := map[string]string{
		"application_name":                    ApplicationName + c.Owner,
		"search_path":                         Quoted(c.Schema),
		"timezone":                            "UTC",
		"client_encoding":                     "UTF8", // of all texts that are sent and read, whatever the database has or prefers
		"lock_timeout":                        Milliseconds(frozenAfter / 2),
		"idle_in_transaction_session_timeout": Milliseconds(frozenAfter * 4 / 5),
		"statement_timeout":                   Milliseconds(c.StatementTimeout),
		// The session with the lock of a schema is idle, and those of a rebuild while it reads the log.
		"idle_session_timeout": "0",
		// The locks of a client whose machine has died are free after a minute, and not after two hours.
		"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3",
		// A batch that has waited for a promotion must see the new tables, whatever the database prefers.
		"default_transaction_isolation": "read committed",
		// A plan that was made for empty tables would read full tables whole.
		"plan_cache_mode": "force_custom_plan",
		// A list of a thousand keys, or a setting such as enable_seqscan, makes a plan look
		// expensive. To compile it would take a hundred times as long as to run it.
		"jit": "off",
		// A batch looks for a thousand keys in pages that are mostly in memory. With the
		// default, which is for magnetic disks, Postgres would read whole tables.
		"random_page_cost": "1.1",
	}
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	config.ConnConfig.AfterConnect = checkSettings(settings, config.ConnConfig.ConnectTimeout)
	needed := cmp.Or(c.Connections, poolSize)
	if asked := strings.Contains(c.DSN, "pool_max_conns"); !asked || config.MaxConns < needed || c.Connections > 0 {
		config.MaxConns = needed
	}
	config.PingTimeout = cmp.Or(config.PingTimeout, CleanUpTimeout) // of an idle connection before its use; Close waits for it, too
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		tables.RegisterArrays(conn.TypeMap())
		return nil
	}
	keepsOpen := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, fault *pgconn.PgError) bool {
		return keepsOpen(conn, fault) && !onlyReads(fault)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &Store{config: c, pool: pool, schema: c.Schema}, nil
}

func connectTimeout(short bool) time.Duration {
	if short {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// OpenSchema opens a store with the same configuration on another schema. Its pool is a
// separate one.
func (s *Store) OpenSchema(ctx context.Context, schema string) (*Store, error) {
	config := s.config
	config.Schema = schema
	return Open(ctx, config)
}

// At returns a store on another schema that has the same connections. Of its tables only View reads, and LockSchema
// locks the schema. It needs no Close.
func (s *Store) At(schema string) *Store {
	return &Store{config: s.config, pool: s.pool, schema: schema}
}

// Milliseconds returns a duration as the value of a setting of Postgres.
func Milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close waits for calls under way and closes the connections.
func (s *Store) Close() { s.pool.Close() }

// Schema is the name of the schema.
func (s *Store) Schema() string { return s.schema }

// Owner is unique among the projectors of the database.
func (s *Store) Owner() string { return s.config.Owner }

// LeaseTime is how long a lease lasts without a heartbeat; see Config.
func (s *Store) LeaseTime() time.Duration { return s.config.LeaseTime }

// Pool returns the connections. Their search_path is the schema, except for a store of At.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// LeaderConfig configures a connection outside the pool, which one of several processes keeps because it holds a lock.
// Postgres ends it if it is idle for so long, because the process is frozen.
func (s *Store) LeaderConfig(idle time.Duration) *pgx.ConnConfig {
	config := s.pool.Config().ConnConfig
	config.RuntimeParams["idle_session_timeout"] = Milliseconds(idle)
	return config
}

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) error { return PoolerOr(s.pool.Ping(ctx)) }

// Querier is a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Collect returns all rows of a query. doing is what the query is for; an error begins with it.
func Collect[T any](ctx context.Context, q Querier, doing string, to pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return found, nil
}
