package projector_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

const shopSecret = "whsec_0123456789abcdef"

// open opens a schema of the world's database, prepared where it is beside the live one.
func (w *world) open(ctx context.Context, t *testing.T, schema string) *store.Store {
	t.Helper()
	database, err := store.Open(ctx, store.Config{DSN: w.dsn, Schema: schema, Owner: "command"})
	require.NoError(t, err)
	t.Cleanup(database.Close)
	if schema != store.LiveSchema && schema != store.PreviousSchema {
		info, err := w.log.Info(ctx)
		require.NoError(t, err)
		require.NoError(t, database.Prepare(ctx, info.LogID, info.Partitions, anyRules))
	}
	return database
}

func (w *world) rebuild(t *testing.T, into *store.Store, chunk uint64) projector.Rebuild {
	return projector.Rebuild{
		Log: w.log.Reader(t), Store: into, Rules: anyRules, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}, Chunk: chunk,
	}
}

func (w *world) head(ctx context.Context, t *testing.T) uint64 {
	t.Helper()
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	return info.Last
}

// There is nothing to wait for.
func TestARebuildOfAnEmptyLogEnds(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 0}, []uint64{info.First, info.Last})
	rebuild := w.rebuild(t, w.open(ctx, t, "portal_next"), 0)
	require.NoError(t, rebuild.Run(ctx, 0))
}

// The lock on a schema's name is a session's, which can be lost; the checkpoints are
// what keeps two rebuilds apart.
func TestTwoRebuildsOfOneSchemaAtOnceAreOneFold(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	w.log.Fill(t, 600, shopSecret)
	head := w.head(ctx, t)
	alone := w.rebuild(t, w.open(ctx, t, "alone"), 0)
	require.NoError(t, alone.Run(ctx, head))
	var both errgroup.Group
	for range 2 {
		rebuild := w.rebuild(t, w.open(ctx, t, "portal_next"), 100)
		both.Go(func() error { return rebuild.Run(ctx, head) })
	}
	require.NoError(t, both.Wait())
	w.requireSame(ctx, t, "alone", "portal_next")
	require.Zero(t, w.number(ctx, t, "select count(*) from payfold.poison"))
}

// What only an analyst's table cannot take is no fault of the event.
func TestAnEventThatOnlyAnExtraRefusesIsNotPoison(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	const most = 9223372036854775807
	paid := `{"id":%q,"eventType":"checkout.completed","created_at":1767225600000,"object":{"order":{"id":%q,"amount_paid":%d,"currency":"EUR"},
		"metadata":{"kind":"one_time","user_id":"u1","credits":1}}}`
	w.log.Deliver(t, fmt.Sprintf(paid, "e1", "o1", most), fmt.Sprintf(paid, "e2", "o2", most),
		`{"id":"e3","eventType":"refund.created","created_at":1767225600000,"object":{"status":"succeeded","order":"o1"}}`)
	sales := store.Config{DSN: w.dsn, Schema: "sales", Owner: "command"}
	database, err := store.Open(ctx, sales)
	require.NoError(t, err)
	t.Cleanup(database.Close)
	rebuild := w.rebuild(t, database, 0)
	rebuild.Rules.Extras = []string{"revenue_daily"}
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, database.Prepare(ctx, info.LogID, info.Partitions, rebuild.Rules))
	require.ErrorContains(t, rebuild.Run(ctx, 3), "the event at seq 3 cannot be folded with revenue_daily")
	require.Zero(t, w.number(ctx, t, "select count(*) from payfold.poison"))
	plain := w.rebuild(t, w.open(ctx, t, "portal_next"), 0)
	require.NoError(t, plain.Run(ctx, 3))
	require.EqualValues(t, 3, w.number(ctx, t, "select count(*) from portal_next.processed_event where outcome = 'applied'"))
}

var tables = []string{
	"subscription", "subscription_state", "credits", "credit_ledger", "pro_license", "payment", "reversal", "processed_event", "duplicate_event",
}

// requireSame compares all rows of two schemas, byte for byte.
func (w *world) requireSame(ctx context.Context, t *testing.T, one, other string) {
	t.Helper()
	for _, table := range tables {
		require.Zero(t, w.number(ctx, t, fmt.Sprintf(`select count(*) from
			(select r::text from %[1]s.%[3]s r except all select r::text from %[2]s.%[3]s r) x`, one, other, table)), table)
		require.Equal(t, w.number(ctx, t, "select count(*) from "+one+"."+table), w.number(ctx, t, "select count(*) from "+other+"."+table), table)
	}
}

// live fills the log with a shop's events and lets a projector apply them.
func (w *world) live(ctx context.Context, t *testing.T, count int) (stop func() error) {
	t.Helper()
	w.log.Fill(t, count, shopSecret)
	stop = w.start(ctx, t, 100)
	wait.Until(t, func() bool {
		var exists bool
		return w.db.QueryRow(ctx, "select to_regclass('portal.checkpoint') is not null").Scan(&exists) == nil && exists
	})
	w.waitApplied(ctx, t)
	return stop
}

func TestAnyChunkAndAnyStopGivesTheLiveTables(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	w.live(ctx, t, 700)
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	for _, chunk := range []uint64{0, 7, 333} {
		schema := fmt.Sprintf("by_%d", chunk)
		into := w.open(ctx, t, schema)
		for stops := 0; ; stops++ {
			stopped, stop := context.WithCancel(ctx)
			rebuild := w.rebuild(t, into, chunk)
			var left atomic.Int64
			left.Store(rand.Int64N(40))
			rebuild.Progress = func(_, _ uint64) {
				if left.Add(-1) == 0 && stops < 6 {
					stop()
				}
			}
			err := rebuild.Run(stopped, info.Last)
			stop()
			if err == nil {
				break
			}
			require.ErrorIs(t, err, context.Canceled)
		}
		w.requireSame(ctx, t, "portal", schema)
	}
}

// What was folded when it is interrupted is saved, if that takes no longer than it may.
func TestWhatIsFoldedIsSavedWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	w.log.Fill(t, 11_000, shopSecret)
	undisturbed := w.rebuild(t, w.open(ctx, t, "undisturbed"), 0)
	require.NoError(t, undisturbed.Run(ctx, w.head(ctx, t)))
	into := w.open(ctx, t, "portal_next")
	stopped, stop := context.WithCancel(ctx)
	rebuild := w.rebuild(t, into, 0)
	rebuild.Grace = 30 * time.Second
	rebuild.Progress = func(position, _ uint64) {
		if position > 0 {
			stop()
		}
	}
	require.ErrorIs(t, rebuild.Run(stopped, w.head(ctx, t)), context.Canceled)
	require.Positive(t, w.number(ctx, t, "select min(position) from portal_next.checkpoint"))
	again := w.rebuild(t, into, 0)
	require.NoError(t, again.Run(ctx, w.head(ctx, t)))
	w.requireSame(ctx, t, "undisturbed", "portal_next")
}

// What the database refuses of the tables that are built is found, also among
// many, and rejected in every fold from then on.
func TestARebuildFindsWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, chunk := range []uint64{0, 50} {
		t.Run(fmt.Sprint("chunk ", chunk), func(t *testing.T) {
			t.Parallel()
			ctx, w := setup(t)
			w.log.Fill(t, 400, shopSecret)
			into := w.open(ctx, t, "portal_next")
			_, err := w.db.Exec(ctx, `
				alter table portal_next.processed_event add constraint no_97 check (stream_seq not in (97, 98) or outcome = 'rejected');
				create function portal_next.refuse() returns trigger language plpgsql as $$
				begin
					if new.stream_seq = 251 then raise 'not this one'; end if;
					return new;
				end $$;
				create trigger refuse before insert or update on portal_next.payment for each row execute function portal_next.refuse()`)
			require.NoError(t, err)
			rebuild := w.rebuild(t, into, chunk)
			require.NoError(t, rebuild.Run(ctx, w.head(ctx, t)))
			require.EqualValues(t, w.head(ctx, t), w.number(ctx, t, "select (select count(*) from portal_next.processed_event) + (select count(*) from portal_next.duplicate_event)"))
			refused := w.number(ctx, t, "select count(*) from payfold.poison")
			require.Positive(t, refused)
			require.LessOrEqual(t, refused, int64(3))
			require.Equal(t, refused, w.number(ctx, t, "select count(*) from portal_next.processed_event where reason = 'internal'"))
			w.live(ctx, t, 1)
			rest := w.rebuild(t, into, chunk)
			require.NoError(t, rest.Run(ctx, w.head(ctx, t)))
			other := w.open(ctx, t, "other")
			again := w.rebuild(t, other, 0)
			require.NoError(t, again.Run(ctx, w.head(ctx, t)))
			w.requireSame(ctx, t, "portal_next", "other")
		})
	}
}

// The tables before stand wherever their partitions stood when they were
// replaced; to go back they are caught up, each partition from its own place.
func TestPreviousTablesAreCaughtUpFromUnevenPositions(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	stop := w.live(ctx, t, 300)
	require.NoError(t, stop())
	live := w.open(ctx, t, store.LiveSchema)
	// As if one projector had gone on and another one not: the last 100 messages
	// are there for half of the partitions.
	half := w.open(ctx, t, "half")
	first := w.rebuild(t, half, 0)
	require.NoError(t, first.Run(ctx, 200))
	w.applyOdd(ctx, t, half, 200, 290)
	require.Positive(t, w.number(ctx, t, "select count(distinct position) - 1 from half.checkpoint"))
	promote := projector.Promote{Rebuild: w.rebuild(t, half, 13), Live: live}
	require.NoError(t, promote.Run(ctx))
	w.requireSame(ctx, t, "portal", "portal_prev")
	require.Zero(t, w.number(ctx, t, fmt.Sprintf("select count(*) from portal.checkpoint where position < %d", w.head(ctx, t))))
}

// A candidate has what folds look rows up by; what live work and its readers need comes
// with the promotion: all indexes, and statistics.
func TestPromotedTablesAreReadyForLiveWork(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	stop := w.live(ctx, t, 20)
	require.NoError(t, stop())
	indexes := func(schema string) (list string) {
		require.NoError(t, w.db.QueryRow(ctx, `select string_agg(replace(indexdef, ' ' || schemaname || '.', ' '), E'\n' order by indexname)
			from pg_indexes where schemaname = $1`, schema).Scan(&list))
		return list
	}
	ofLive := indexes("portal")
	next := w.rebuild(t, w.open(ctx, t, "portal_next"), 0)
	require.NoError(t, next.Run(ctx, w.head(ctx, t)))
	require.Contains(t, indexes("portal_next"), "processed_event_pkey")
	require.NotContains(t, indexes("portal_next"), "processed_event_user")
	promote := projector.Promote{Rebuild: next, Live: w.open(ctx, t, store.LiveSchema)}
	require.NoError(t, promote.Run(ctx))
	require.Equal(t, ofLive, indexes("portal"))
	require.Positive(t, w.number(ctx, t, "select count(*) from pg_stats where schemaname = 'portal' and tablename = 'payment'"))
}

// applyOdd applies what lies between of every other partition.
func (w *world) applyOdd(ctx context.Context, t *testing.T, into *store.Store, after, until uint64) {
	t.Helper()
	reader, from := w.log.Reader(t), map[int]uint64{}
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
			batch = append(batch, events.Decode(m))
		}
		last = m
	}
	_, err := into.Apply(ctx, anyRules, batch, store.Advance{LogID: info.LogID, From: from, To: until, Digest: last.Digest()})
	require.NoError(t, err)
}

// The log has lost what the live tables hold, and has something else there.
func TestALogThatIsNotTheLiveTablesIsNotPromotedSilently(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	stop := w.live(ctx, t, 50)
	require.NoError(t, stop())
	live, next := w.open(ctx, t, store.LiveSchema), w.open(ctx, t, "portal_next")
	_, err := w.db.Exec(ctx, "update portal.checkpoint set position_digest = 'of another message' where position = (select max(position) from portal.checkpoint)")
	require.NoError(t, err)
	promote := projector.Promote{Rebuild: w.rebuild(t, next, 0), Live: live}
	require.ErrorIs(t, promote.Run(ctx), store.ErrNotPromoted)
	_, err = w.db.Exec(ctx, "update portal.checkpoint set position = 99")
	require.NoError(t, err)
	err = promote.Run(ctx)
	require.ErrorIs(t, err, store.ErrNotPromoted)
	require.ErrorContains(t, err, "--accept-log-loss")
	promote.AcceptLogLoss = true
	require.NoError(t, promote.Run(ctx))
	require.EqualValues(t, w.head(ctx, t), w.number(ctx, t, "select max(position) from portal.checkpoint"))
}

// Where a round of folding took long, many events have come: they are folded
// before anybody waits.
func TestNobodyWaitsForALongRound(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	stop := w.live(ctx, t, 50)
	require.NoError(t, stop())
	promote := projector.Promote{Rebuild: w.rebuild(t, w.open(ctx, t, "portal_next"), 0), Live: w.open(ctx, t, store.LiveSchema)}
	head := w.head(ctx, t)
	rounds := map[uint64]bool{}
	promote.Progress = func(_, until uint64) {
		if !rounds[until] && len(rounds) < 2 {
			w.log.Deliver(t, pack(fmt.Sprint("x", until), fmt.Sprint("x", until), "u1", 1))
			time.Sleep(2100 * time.Millisecond) // the length of the round, not a wait
		}
		rounds[until] = true
	}
	require.NoError(t, promote.Run(ctx))
	require.Equal(t, map[uint64]bool{head: true, head + 1: true, head + 2: true}, rounds)
}

// A batch that waits for a promotion finds tables that hold it already. That is no fault
// of anybody's, and the projector goes on from there.
func TestABatchThatAPromotionOvertookIsNoFault(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	p, database := w.projector(ctx, t, 10)
	registry, config := prometheus.NewRegistry(), p.Config
	config.Registerer = registry
	p = projector.New(config)
	run(ctx, t, p, database)
	w.log.Deliver(t, pack("e1", "p1", "u1", 1))
	w.waitApplied(ctx, t)

	before := faults(t, registry) // a busy machine may have been slow at the start
	promotion, err := pgx.Connect(ctx, w.dsn)
	require.NoError(t, err)
	defer promotion.Close(ctx)
	tx, err := promotion.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(0x7061_7966_6f6c_6403)) // as store.Promote does
	require.NoError(t, err)
	w.log.Deliver(t, pack("e2", "p2", "u1", 1))
	wait.Until(t, func() bool {
		return w.number(ctx, t, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") > 0
	})
	next := w.rebuild(t, w.open(ctx, t, "portal_next"), 0)
	require.NoError(t, next.Run(ctx, w.head(ctx, t)))
	_, err = tx.Exec(ctx, `alter schema portal rename to portal_prev; alter schema portal_next rename to portal;
		update payfold.schema_state set schema_name = 'portal_prev' where schema_name = 'portal';
		update payfold.schema_state set schema_name = 'portal' where schema_name = 'portal_next'`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))

	w.log.Deliver(t, pack("e3", "p3", "u1", 1))
	w.waitApplied(ctx, t)
	require.EqualValues(t, 3, w.number(ctx, t, "select balance from portal.credits"))
	require.NoError(t, p.Ready(ctx))
	require.Equal(t, before, faults(t, registry))
}

func faults(t *testing.T, registry *prometheus.Registry) float64 {
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

// Live projectors go on through one promotion after the other.
func TestEventsArriveThroughPromotions(t *testing.T) {
	t.Parallel()
	ctx, w := setup(t)
	w.live(ctx, t, 20)
	w.start(ctx, t, 5)
	live := w.open(ctx, t, store.LiveSchema)
	stop := make(chan struct{})
	ended := make(chan int, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				ended <- i
				return
			default:
				w.log.Deliver(t, pack(fmt.Sprint("x", i), fmt.Sprint("x", i), "u1", 1))
			}
		}
	}()
	for round := range 4 {
		next := w.open(ctx, t, "portal_next")
		promote := projector.Promote{Rebuild: w.rebuild(t, next, uint64(500+round)), Live: live}
		require.NoError(t, promote.Run(ctx))
	}
	close(stop)
	delivered := <-ended
	w.waitApplied(ctx, t)
	require.EqualValues(t, delivered, w.number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	info, err := w.log.Info(ctx)
	require.NoError(t, err)
	whole := w.open(ctx, t, "whole")
	rebuild := w.rebuild(t, whole, 0)
	require.NoError(t, rebuild.Run(ctx, info.Last))
	w.requireSame(ctx, t, "portal", "whole")
	require.Zero(t, w.number(ctx, t, "select count(*) from payfold.poison"))
}
