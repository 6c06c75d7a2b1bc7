package world

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// World is a log, a database, and any number of projectors.
type World struct {
	Log *testenv.Log
	DSN string
	DB  *pgx.Conn

	projectors int // made so far
}

// New returns a world whose database is empty.
func New(t *testing.T) (context.Context, *World) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Timeout)
	t.Cleanup(cancel)
	w := &World{Log: testenv.NewLog(t, 8), DSN: testenv.Database(t)}
	var err error
	w.DB, err = pgx.Connect(ctx, w.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { w.DB.Close(context.Background()) })
	return ctx, w
}

// LeaseTime is short, so that takeovers are quick.
const LeaseTime = 2 * time.Second

// Projector returns a new projector, which does not run yet. The caller closes the store.
func (w *World) Projector(ctx context.Context, t *testing.T, batchSize int) (*live.Projector, *store.Store) {
	t.Helper()
	w.projectors++
	database := w.OpenAs(ctx, t, fmt.Sprintf("p%d", w.projectors))
	config := w.Config(t, database, fixture.AnyMode)
	config.BatchSize = batchSize
	return live.New(config), database
}

// OpenAs opens the live tables for a projector of that name. The caller closes the store.
func (w *World) OpenAs(ctx context.Context, t *testing.T, owner string) *store.Store {
	t.Helper()
	database, err := store.Open(ctx, store.Config{DSN: w.DSN, Owner: owner, LeaseTime: LeaseTime, ConnectTimeout: wait.Timeout})
	require.NoError(t, err)
	return database
}

// Config is the configuration of a projector with these rules.
func (w *World) Config(t *testing.T, database *store.Store, rules projections.Rules) live.Config {
	return live.Config{
		Log: w.Log.Reader(t), Store: database, Rules: rules,
		BatchSize: 10, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(),
	}
}

// Start runs a projector until the returned stop is called; stop returns what Run returned.
func (w *World) Start(ctx context.Context, t *testing.T, batchSize int) (stop func() error) {
	t.Helper()
	p, database := w.Projector(ctx, t, batchSize)
	return Run(ctx, t, p, database)
}

// Run is Start for an existing projector. It closes the store.
func Run(ctx context.Context, t *testing.T, p *live.Projector, database *store.Store) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		err := p.Run(ctx)
		database.Close()
		done <- err
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}

// WaitApplied waits until the tables have a record of every message of the log.
func (w *World) WaitApplied(ctx context.Context, t *testing.T) {
	t.Helper()
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	wait.Until(t, func() bool {
		var accounted uint64
		err := w.DB.QueryRow(ctx, `select (select count(*) from portal.processed_event) + (select count(*) from portal.duplicate_event)`).Scan(&accounted)
		return err == nil && accounted == info.Last
	})
}

// Number asks the database for one number.
func (w *World) Number(ctx context.Context, t *testing.T, sql string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, w.DB.QueryRow(ctx, sql).Scan(&n))
	return n
}

// Open opens a schema of the world's database. It prepares the schema, unless that is the live or
// the previous one.
func (w *World) Open(ctx context.Context, t *testing.T, schema string) *store.Store {
	t.Helper()
	database, err := store.Open(ctx, store.Config{DSN: w.DSN, Schema: schema, Owner: "command"})
	require.NoError(t, err)
	t.Cleanup(database.Close)
	if schema != store.LiveSchema && schema != store.PreviousSchema {
		info, err := w.Log.Info(ctx)
		require.NoError(t, err)
		require.NoError(t, database.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	}
	return database
}

// Head is the newest message of the log.
func (w *World) Head(ctx context.Context, t *testing.T) uint64 {
	t.Helper()
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	return info.Last
}

// ShopSecret signs the events of Project.
const ShopSecret = "whsec_0123456789abcdef"

var derivedTables = []string{
	"subscription", "subscription_facts", "credits", "credit_ledger", "pro_license", "payment_facts", "reversal", "processed_event", "duplicate_event",
	"unlisted_product",
}

// Rebuild returns a rebuild of a schema from the log. In tables that have rows, its transactions have up to batch
// messages; 0: the usual number.
func (w *World) Rebuild(t *testing.T, into *store.Store, batch uint64) rebuild.Rebuild {
	return rebuild.Rebuild{
		Log: w.Log.Reader(t), Store: into, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}, Batch: batch,
	}
}

// Project fills the log with a shop's events and lets a projector apply them.
func (w *World) Project(ctx context.Context, t *testing.T, count int) (stop func() error) {
	t.Helper()
	w.Log.Fill(t, testenv.ShopEvent, count, ShopSecret)
	stop = w.Start(ctx, t, 100)
	wait.Until(t, func() bool {
		var exists bool
		return w.DB.QueryRow(ctx, "select to_regclass('portal.checkpoint') is not null").Scan(&exists) == nil && exists
	})
	w.WaitApplied(ctx, t)
	return stop
}

// RequireSame compares all rows of two schemas, byte for byte.
func (w *World) RequireSame(ctx context.Context, t *testing.T, one, other string) {
	t.Helper()
	for _, table := range derivedTables {
		require.Zero(t, w.Number(ctx, t, fmt.Sprintf(`select count(*) from
			(select r::text from %[1]s.%[3]s r except all select r::text from %[2]s.%[3]s r) x`, one, other, table)), table)
		require.Equal(t, w.Number(ctx, t, "select count(*) from "+one+"."+table), w.Number(ctx, t, "select count(*) from "+other+"."+table), table)
	}
}

// ApplyOdd applies the messages of the odd partitions from sequence after+1 to until.
func (w *World) ApplyOdd(ctx context.Context, t *testing.T, into *store.Store, after, until uint64) {
	t.Helper()
	reader, from := w.Log.Reader(t), map[int]uint64{}
	for partition := 1; partition < 8; partition += 2 {
		from[partition] = after
	}
	var info eventlog.Info
	wait.Until(t, func() bool {
		var err error
		info, err = reader.Info(ctx)
		return err == nil
	})
	var batch []events.Event
	var last events.Message
	for seq := after + 1; seq <= until; seq++ {
		m, err := reader.Message(ctx, seq)
		require.NoError(t, err)
		if _, mine := from[m.Partition]; mine {
			batch = append(batch, providers.Decode(m))
		}
		last = m
	}
	_, err := live.Apply(ctx, into, fixture.AnyMode, batch, store.Advance{LogID: info.LogID, From: from, To: until, Digest: last.Digest()})
	require.NoError(t, err)
}

// Faults returns how often the work of a projector was interrupted.
func Faults(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "payfold_projector_faults_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "no such metric")
	return 0
}
