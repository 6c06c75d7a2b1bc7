package projector_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(testenv.QuickLogins(m))) }

var anyRules = projections.Rules{Mode: projections.ModeAny}

// world is a log, a database, and any number of projectors.
type world struct {
	log *testenv.Log
	dsn string
	db  *pgx.Conn

	projectors int // made so far
}

func setup(t *testing.T) (context.Context, *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience)
	t.Cleanup(cancel)
	w := &world{log: testenv.NewLog(t, 8), dsn: testenv.Database(t)}
	var err error
	w.db, err = pgx.Connect(ctx, w.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { w.db.Close(context.Background()) })
	return ctx, w
}

// leaseTime is short, so that takeovers are quick.
const leaseTime = 2 * time.Second

// projector returns a new one, which is not running; the store is to be closed.
func (w *world) projector(ctx context.Context, t *testing.T, batchSize int) (*projector.Projector, *store.Store) {
	t.Helper()
	w.projectors++
	owner := fmt.Sprintf("p%d", w.projectors)
	database, err := store.Open(ctx, store.Config{DSN: w.dsn, Owner: owner, LeaseTime: leaseTime})
	require.NoError(t, err)
	config := w.config(t, database, owner, anyRules)
	config.BatchSize = batchSize
	return projector.New(config), database
}

func (w *world) config(t *testing.T, database *store.Store, owner string, rules projections.Rules) projector.Config {
	return projector.Config{
		Log: w.log.Reader(t), Store: database, Owner: owner, LeaseTime: leaseTime, Rules: rules,
		BatchSize: 10, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(),
	}
}

// start runs a projector until the returned stop is called; stop returns what Run returned.
func (w *world) start(ctx context.Context, t *testing.T, batchSize int) (stop func() error) {
	t.Helper()
	p, database := w.projector(ctx, t, batchSize)
	return run(ctx, t, p, database)
}

// run is start for a projector that was made before; it closes the store.
func run(ctx context.Context, t *testing.T, p *projector.Projector, database *store.Store) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		err := p.Run(ctx)
		database.Close()
		done <- err
	}()
	var once func() error
	ended := false
	var result error
	once = func() error {
		if !ended {
			cancel()
			result, ended = <-done, true
		}
		return result
	}
	t.Cleanup(func() { require.NoError(t, once()) })
	return once
}

// waitApplied waits until every message up to the head is accounted for.
func (w *world) waitApplied(ctx context.Context, t *testing.T) {
	t.Helper()
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	wait.Until(t, func() bool {
		var accounted uint64
		err := w.db.QueryRow(ctx, `select (select count(*) from portal.processed_event) + (select count(*) from portal.duplicate_event)`).Scan(&accounted)
		return err == nil && accounted == info.Last
	})
}

func (w *world) number(ctx context.Context, t *testing.T, sql string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, w.db.QueryRow(ctx, sql).Scan(&n))
	return n
}
