package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestADeliveredEventBecomesARow(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 100)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 200), fixture.Pack("e2", "p1", "u1", 200), fixture.Pack("e3", "p3", "u1", 50))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 250, w.Number(ctx, t, "select balance from credits where user_id = 'u1'"))
	require.EqualValues(t, 1, w.Number(ctx, t, "select count(*) from processed_event where outcome = 'duplicate_payment'"))
}

func TestARestartContinuesAtTheCheckpoints(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	for round := range 3 {
		stop := w.Start(ctx, t, 2)
		for i := range 5 {
			id := fmt.Sprintf("%d-%d", round, i)
			w.Log.Deliver(t, fixture.Pack("e"+id, "p"+id, "u"+id[2:], 10))
		}
		w.WaitApplied(ctx, t)
		require.NoError(t, stop())
		require.Zero(t, w.Number(ctx, t, "select (select count(*) from payfold.member) + (select count(*) from payfold.lease)"), "it left at once")
	}
	require.EqualValues(t, 150, w.Number(ctx, t, "select sum(balance)::bigint from credits"))
	require.EqualValues(t, 15, w.Number(ctx, t, "select count(*) from credit_ledger"))
}

// The partitions of a projector that was killed are behind.
func TestAProjectorContinuesFromUnevenPositions(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 60, world.ShopSecret)
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	tables := w.Open(ctx, t, store.LiveSchema)
	require.NoError(t, tables.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	w.ApplyOdd(ctx, t, tables, 0, 40)
	w.Start(ctx, t, 5)
	wait.Until(t, func() bool {
		return w.Number(ctx, t, "select min(position) from portal.checkpoint") == int64(info.Last)
	})
	whole := w.Rebuild(t, w.Open(ctx, t, "whole"), 0)
	require.NoError(t, whole.Run(ctx, info.Last))
	w.RequireSame(ctx, t, "portal", "whole")
}

func TestIdlePositionsMoveOn(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1))
	wait.Until(t, func() bool {
		var least int64
		err := w.DB.QueryRow(ctx, "select min(position) from checkpoint").Scan(&least)
		return err == nil && least == 2
	})
}

func TestTheProjectorOutlivesTheLogsServer(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	w.Log.Stop(t)
	w.Log.Start(t, 8)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u1", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 2, w.Number(ctx, t, "select balance from credits where user_id = 'u1'"))
}

// countedLog counts the questions that the log did not answer.
type countedLog struct {
	*eventlog.Log
	unanswered atomic.Int64
}

func (l *countedLog) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := l.Log.Info(ctx)
	if err != nil {
		l.unanswered.Add(1)
	}
	return info, err
}

func TestAnOutageIsOneInterruptionHoweverOftenTheProjectorTriesAgain(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p")
	config := w.Config(t, database, fixture.AnyMode)
	log, registry := &countedLog{Log: w.Log.Reader(t)}, prometheus.NewRegistry()
	config.Log, config.Registerer = log, registry
	p := live.New(config)
	world.Run(ctx, t, p, database)
	wait.Until(t, func() bool { return p.Ready(ctx) == nil })
	before := world.Faults(t, registry)
	w.Log.Stop(t)
	wait.Until(t, func() bool { return log.unanswered.Load() > 3 })
	require.InDelta(t, before+1, world.Faults(t, registry), 0)
	w.Log.Start(t, 8)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	require.InDelta(t, before+1, world.Faults(t, registry), 0)
}

func TestTheProjectorOutlivesItsConnections(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	_, err := w.DB.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	require.NoError(t, err)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u1", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 2, w.Number(ctx, t, "select balance from credits where user_id = 'u1'"))
}

// Run returns an error that explains how a log was replaced or has lost its end.
func TestAForeignLogIsRefused(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		sql  string
		want error
	}{
		"another log":     {"update payfold.schema_state set log_id = 'x'", store.ErrOtherLog},
		"a lost tail":     {"update checkpoint set position = 99", identity.ErrLogLost},
		"another message": {"update checkpoint set position_digest = 'x' where position > 0", identity.ErrLogLost},
		"other partitions": {
			"insert into checkpoint select 8, 0, null, (select min(log_id) from checkpoint)", identity.ErrLogLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w := world.New(t)
			stop := w.Start(ctx, t, 10)
			w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
			w.WaitApplied(ctx, t)
			require.NoError(t, stop())
			_, err := w.DB.Exec(ctx, damage.sql)
			require.NoError(t, err)

			p, database := w.Projector(ctx, t, 10)
			defer database.Close()
			require.ErrorIs(t, p.Run(ctx), damage.want)
			require.Error(t, p.Ready(ctx))
			require.Zero(t, metrics.Values(t, p.Registerer.(*prometheus.Registry))["payfold_projector_partitions"])
		})
	}
}

// The embedded log is lost and created again; the token of its data directory is the same.
func TestAReplacedLogIsRefusedWhileRunning(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	p, database := w.Projector(ctx, t, 10)
	defer database.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	w.Log.Stop(t)
	require.NoError(t, os.RemoveAll(filepath.Join(w.Log.Dir, "log")))
	w.Log.Start(t, 8)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u2", 1), fixture.Pack("e3", "p3", "u3", 1))
	require.ErrorIs(t, <-ended, store.ErrOtherLog)
	require.EqualValues(t, 1, w.Number(context.Background(), t, "select count(*) from processed_event"))
}

// oldHead is a log that tells an old head when once gets a value, as a server that is cut off from the others
// does.
type oldHead struct {
	*eventlog.Log
	once chan struct{}
}

func (l oldHead) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := l.Log.Info(ctx)
	select {
	case <-l.once:
		info.Last--
	default:
	}
	return info, err
}

// A projector ends only if successive tries find another log, not after two old heads with work in between.
func TestOldHeadsWithWorkBetweenThemEndNoProjector(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p")
	config := w.Config(t, database, fixture.AnyMode)
	log := oldHead{w.Log.Reader(t), make(chan struct{})}
	registry := prometheus.NewRegistry()
	config.Log, config.Registerer = log, registry
	p := live.New(config)
	stop := world.Run(ctx, t, p, database)
	wait.Until(t, func() bool { return p.Ready(ctx) == nil }, "the log was empty when it began")
	for i := range 3 {
		told := time.Now()
		if i > 0 {
			before := world.Faults(t, registry)
			log.once <- struct{}{}
			wait.Until(t, func() bool { return world.Faults(t, registry) > before }, "the old head is noticed")
		}
		id := strconv.Itoa(i)
		w.Log.Deliver(t, fixture.Pack("e"+id, "p"+id, "u1", 1))
		w.WaitApplied(ctx, t)
		wait.Until(t, func() bool { return time.Since(told) > live.LostLogTimeout })
	}
	require.NoError(t, stop())
}

// cutOffLog is a log of three servers, whose leader can be cut off from the others.
type cutOffLog struct {
	*eventlog.Log
	cutOff atomic.Bool
}

func (l *cutOffLog) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := l.Log.Info(ctx)
	info.Replicas = 3
	if l.cutOff.Load() {
		info.Last--
	}
	return info, err
}

// Such a leader may need twenty seconds until it notices.
func TestALeaderThatIsCutOffForAWhileEndsNoProjector(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p")
	config := w.Config(t, database, fixture.AnyMode)
	log := &cutOffLog{Log: w.Log.Reader(t)}
	config.Log = log
	stop := world.Run(ctx, t, live.New(config), database)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	log.cutOff.Store(true)
	began := time.Now()
	wait.Until(t, func() bool { return time.Since(began) > 2*live.LostLogTimeout })
	log.cutOff.Store(false)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u1", 1))
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
}
