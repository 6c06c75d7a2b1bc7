package promote_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// A candidate has what folds look rows up by; what live work and its readers need comes
// with the promotion: all indexes, and statistics.
func TestPromotedTablesAreReadyForLiveWork(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 20)
	require.NoError(t, stop())
	indexes := func(schema string) (list string) {
		require.NoError(t, w.DB.QueryRow(ctx, `select string_agg(replace(indexdef, ' ' || schemaname || '.', ' '), E'\n' order by indexname)
			from pg_indexes where schemaname = $1`, schema).Scan(&list))
		return list
	}
	ofLive := indexes("portal")
	next := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	require.NoError(t, next.Run(ctx, w.Head(ctx, t)))
	require.Contains(t, indexes("portal_next"), "processed_event_pkey")
	require.NotContains(t, indexes("portal_next"), "processed_event_user")
	promotion := promote.Promotion{Rebuild: next, Live: w.Open(ctx, t, store.LiveSchema)}
	require.NoError(t, promotion.Run(ctx))
	require.Equal(t, ofLive, indexes("portal"))
	require.Positive(t, w.Number(ctx, t, "select count(*) from pg_stats where schemaname = 'portal' and tablename = 'payment_facts'"))
}

// The log has lost what the live tables hold, and has something else there.
func TestALogThatIsNotTheLiveTablesIsNotPromotedSilently(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 50)
	require.NoError(t, stop())
	live, next := w.Open(ctx, t, store.LiveSchema), w.Open(ctx, t, "portal_next")
	_, err := w.DB.Exec(ctx, "update portal.checkpoint set position_digest = 'of another message' where position = (select max(position) from portal.checkpoint)")
	require.NoError(t, err)
	promotion := promote.Promotion{Rebuild: w.Rebuild(t, next, 0), Live: live}
	require.ErrorIs(t, promotion.Run(ctx), promote.ErrNotPromoted)
	_, err = w.DB.Exec(ctx, "update portal.checkpoint set position = 99")
	require.NoError(t, err)
	err = promotion.Run(ctx)
	require.ErrorIs(t, err, promote.ErrNotPromoted)
	require.ErrorContains(t, err, "--accept-log-loss")
	promotion.AcceptLogLoss = true
	require.NoError(t, promotion.Run(ctx))
	require.EqualValues(t, w.Head(ctx, t), w.Number(ctx, t, "select max(position) from portal.checkpoint"))
}

// A restored log has a mark in the place of a message that the live tables have. The candidate lacks its event, unless
// the provider has sent it again.
func TestACandidateOfARestoredLogThatLacksAnEventIsNotPromoted(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Deliver(t, fixture.Pack("lost", "lost", "u_lost", 200))
	stop := w.Project(ctx, t, 20)
	require.NoError(t, stop())
	promoteFrom := func(log world.LossyLog, schema string, accept bool) error {
		promotion := promote.Promotion{Rebuild: w.Rebuild(t, w.Open(ctx, t, schema), 0), Live: w.Open(ctx, t, store.LiveSchema), AcceptLogLoss: accept}
		promotion.Log = log
		return promotion.Run(ctx)
	}
	const balance = "select coalesce(sum(balance), 0) from portal.credits where user_id = 'u_lost'"
	restored := world.LossyLog{Log: w.Log.Reader(t), Lost: 1}
	err := promoteFrom(restored, "portal_next", false)
	require.ErrorIs(t, err, promote.ErrNotPromoted)
	require.ErrorContains(t, err, "lacks 1 events of the live tables, the first at seq 1")
	require.ErrorContains(t, err, "--accept-log-loss")
	require.EqualValues(t, 200, w.Number(ctx, t, balance))

	w.Log.Deliver(t, fixture.Pack("later", "later", "u_later", 1))
	repaired := restored
	repaired.Again = w.Head(ctx, t) // no checkpoint of the live tables is at this message
	require.NoError(t, promoteFrom(repaired, "portal_repaired", false))
	require.EqualValues(t, 200, w.Number(ctx, t, balance))
	require.NoError(t, promoteFrom(restored, "portal_next", true))
	require.Zero(t, w.Number(ctx, t, balance))
}

// Where a round of folding took long, many events have come: they are folded
// before anybody waits.
func TestNobodyWaitsForALongRound(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 50)
	require.NoError(t, stop())
	promotion := promote.Promotion{Rebuild: w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0), Live: w.Open(ctx, t, store.LiveSchema)}
	clock := testenv.NewClock()
	promotion.Now = clock.Now
	head := w.Head(ctx, t)
	rounds := map[uint64]bool{}
	promotion.Progress = func(_, until uint64) {
		if !rounds[until] && len(rounds) < 2 {
			w.Log.Deliver(t, fixture.Pack(fmt.Sprint("x", until), fmt.Sprint("x", until), "u1", 1))
			clock.Advance(2 * time.Second)
		}
		rounds[until] = true
	}
	require.NoError(t, promotion.Run(ctx))
	require.Equal(t, map[uint64]bool{head: true, head + 1: true, head + 2: true}, rounds)
}

// A batch that waits for a promotion finds tables that hold it already. That is no fault
// of anybody's, and the projector goes on from there.
func TestABatchThatAPromotionOvertookIsNoFault(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	p, database := w.Projector(ctx, t, 10)
	registry, config := prometheus.NewRegistry(), p.Config
	config.Registerer = registry
	p = live.New(config)
	world.Run(ctx, t, p, database)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)

	before := world.Faults(t, registry) // a busy machine may have been slow at the start
	promotion, err := pgx.Connect(ctx, w.DSN)
	require.NoError(t, err)
	defer promotion.Close(ctx)
	tx, err := promotion.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(0x7061_7966_6f6c_6403)) // as store.Promote does
	require.NoError(t, err)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u1", 1))
	wait.Until(t, func() bool {
		return w.Number(ctx, t, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") > 0
	})
	next := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	require.NoError(t, next.Run(ctx, w.Head(ctx, t)))
	_, err = tx.Exec(ctx, `alter schema portal rename to portal_prev; alter schema portal_next rename to portal;
		update payfold.schema_state set schema_name = 'portal_prev' where schema_name = 'portal';
		update payfold.schema_state set schema_name = 'portal' where schema_name = 'portal_next'`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))

	w.Log.Deliver(t, fixture.Pack("e3", "p3", "u1", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 3, w.Number(ctx, t, "select balance from portal.credits"))
	require.NoError(t, p.Ready(ctx))
	require.Equal(t, before, world.Faults(t, registry))
}

// Live projectors go on through one promotion after the other.
func TestEventsArriveThroughPromotions(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Project(ctx, t, 20)
	w.Start(ctx, t, 5)
	live := w.Open(ctx, t, store.LiveSchema)
	stop := make(chan struct{})
	ended := make(chan int, 1)
	go func() {
		i := 0
		defer func() { ended <- i }() // also after a failed wait, so that the test ends
		for ; ; i++ {
			select {
			case <-stop:
				return
			default:
				w.Log.Deliver(t, fixture.Pack(fmt.Sprint("x", i), fmt.Sprint("x", i), "u1", 1))
				// No faster than they are applied: a busy machine would promote nothing.
				wait.Until(t, func() bool {
					return int64(i) < 50+fixture.Number(ctx, t, live, "select coalesce(max(balance), 0) from portal.credits where user_id = 'u1'")
				}, "nothing is applied")
			}
		}
	}()
	for round := range 2 {
		next := w.Open(ctx, t, "portal_next")
		promotion := promote.Promotion{Rebuild: w.Rebuild(t, next, uint64(500+round)), Live: live}
		var err error
		wait.Until(t, func() bool {
			err = promotion.Run(ctx)
			return err == nil || !testenv.Busy.MatchString(err.Error())
		}, "nothing is promoted")
		require.NoError(t, err)
	}
	close(stop)
	delivered := <-ended
	w.WaitApplied(ctx, t)
	require.EqualValues(t, delivered, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	whole := w.Open(ctx, t, "whole")
	rebuild := w.Rebuild(t, whole, 0)
	require.NoError(t, rebuild.Run(ctx, info.Last))
	w.RequireSame(ctx, t, "portal", "whole")
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
}

// The next rebuild would take back what such a promotion gives, or give what it leaves out.
func TestACandidateThatDecidedOtherwiseOfAQuarantinedEventIsNotPromoted(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 20)
	require.NoError(t, stop())
	const quarantine = "insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 7, 'refused' from payfold.schema_state where schema_name = 'portal'"
	promotion := promote.Promotion{Rebuild: w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0), Live: w.Open(ctx, t, store.LiveSchema)}
	rebuild := promotion.Rebuild
	require.NoError(t, rebuild.Run(ctx, w.Head(ctx, t)))
	_, err := w.DB.Exec(ctx, quarantine)
	require.NoError(t, err)
	err = promotion.Run(ctx)
	require.ErrorIs(t, err, promote.ErrNotPromoted)
	require.ErrorContains(t, err, "the first of 1 at seq 7; run: projector drop portal_next")

	require.NoError(t, promotion.Store.Drop(ctx))
	promotion.Rebuild = w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	rebuild = promotion.Rebuild
	require.NoError(t, rebuild.Run(ctx, w.Head(ctx, t)))
	_, err = w.DB.Exec(ctx, "delete from payfold.quarantined_event") // as the runbook says, but the candidate is an old one
	require.NoError(t, err)
	require.ErrorContains(t, promotion.Run(ctx), "the first of 1 at seq 7")
	_, err = w.DB.Exec(ctx, quarantine)
	require.NoError(t, err)
	err = promotion.Run(ctx)
	require.ErrorIs(t, err, promote.ErrNotPromoted)
	require.ErrorContains(t, err, "portal_next rejects 1 quarantined events that the live tables have applied, the first at seq 7")
	promotion.AcceptLogLoss = true
	require.NoError(t, promotion.Run(ctx))
	require.EqualValues(t, 1, w.Number(ctx, t, "select count(*) from portal.processed_event where reason = 'internal' and stream_seq = 7"))
}
