package projector_test

import (
	"context"
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
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// world is a log, a database, and any number of projectors.
type world struct {
	log *testenv.Log
	dsn string
	db  *pgx.Conn
}

func setup(t *testing.T) (context.Context, *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &world{log: testenv.NewLog(t, 8), dsn: testenv.Database(t)}
	var err error
	w.db, err = pgx.Connect(ctx, w.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { w.db.Close(context.Background()) })
	return ctx, w
}

// start runs a projector until the returned stop is called; stop returns what Run returned.
func (w *world) start(ctx context.Context, t *testing.T, batchSize int) (stop func() error) {
	t.Helper()
	database, err := store.Open(ctx, w.dsn)
	require.NoError(t, err)
	p := projector.New(projector.Config{
		Log: w.log.Reader(t), Store: database, Rules: projections.Rules{Mode: projections.ModeAny},
		BatchSize: batchSize, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(),
	})
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
	require.Eventually(t, func() bool {
		var accounted uint64
		err := w.db.QueryRow(ctx, `select (select count(*) from portal.processed_event) + (select count(*) from portal.duplicate_event)`).Scan(&accounted)
		return err == nil && accounted == info.Last
	}, 30*time.Second, 5*time.Millisecond)
}

func (w *world) number(ctx context.Context, t *testing.T, sql string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, w.db.QueryRow(ctx, sql).Scan(&n))
	return n
}
