package promote

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func promotion(t *testing.T, next *store.Store) terms {
	return terms{FoldID: fixture.AnyMode.FoldID(), Within: store.HoldTimeout, CatchUp: func(ctx context.Context, head uint64) error {
		fixture.Apply(ctx, t, next, head)
		return nil
	}}
}

func TestPromoteCatchesUpAndExchanges(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 5)
	next := fixture.Candidate(ctx, t, s, 3)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	require.EqualValues(t, 5, fixture.Number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 5, fixture.Number(ctx, t, s, "select balance from portal_prev.credits"))
	require.ErrorIs(t, makeLive(ctx, next, promotion(t, next)), store.ErrNoSchema)

	fixture.Apply(ctx, t, s, 7)
	previous, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.NoError(t, makeLive(ctx, previous, promotion(t, previous)))
	require.EqualValues(t, 7, fixture.Number(ctx, t, s, "select balance from portal.credits"))
	fixture.Apply(ctx, t, s, 8)

	again := fixture.Candidate(ctx, t, s, 0)
	require.NoError(t, makeLive(ctx, again, promotion(t, again)))
	schemas, err := s.Schemas(ctx)
	require.NoError(t, err)
	var names []string
	for _, schema := range schemas {
		names = append(names, fmt.Sprint(schema.Name, " ", schema.Position))
	}
	require.Equal(t, []string{"portal 8", "portal_prev 8"}, names)
}

// A reader that could not see the candidate's rows is waited for, also where the
// projector's role may not look into the reader's session.
func TestPromoteWaitsForSnapshotsAndThenNamesThem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	s, portal := fixture.AsProjector(ctx, t)
	fixture.Apply(ctx, t, s, 2)
	config, err := pgx.ParseConfig(portal)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "monthly report"
	reader, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	defer reader.Close(ctx)
	balance := func(q store.Querier) (n int64) {
		require.NoError(t, q.QueryRow(ctx, "select balance from credits").Scan(&n))
		return n
	}
	tx, err := reader.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	require.EqualValues(t, 2, balance(tx))
	_, err = tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", int64(store.PromoteLock)) // no batch waits for readers
	require.NoError(t, err)

	next := fixture.Candidate(ctx, t, s, 2)
	err = makeLive(ctx, next, promotion(t, next))
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "monthly report")
	require.ErrorContains(t, err, "payfold_portal")
	require.EqualValues(t, 2, balance(tx))

	ended := make(chan error, 1)
	go func() { ended <- makeLive(ctx, next, promotion(t, next)) }()
	require.EqualValues(t, 2, balance(tx))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-ended)
	require.EqualValues(t, 2, balance(reader), "the grants were carried over")

	// One whose snapshots are new reads on through the promotion in one transaction.
	// A long write in another test's database makes them look old: then the promotion
	// is refused, and repeated.
	previous, err := s.OpenSchema(ctx, store.PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	tx, err = reader.Begin(ctx)
	require.NoError(t, err)
	go func() {
		err := makeLive(ctx, previous, promotion(t, previous))
		for ctx.Err() == nil && err != nil && strings.Contains(err.Error(), "monthly report") {
			err = makeLive(ctx, previous, promotion(t, previous))
		}
		ended <- err
	}()
	for promoting := true; promoting; {
		require.EqualValues(t, 2, balance(tx))
		select {
		case err := <-ended:
			require.NoError(t, err)
			promoting = false
		default:
		}
	}
	require.EqualValues(t, 2, balance(tx))
	require.NoError(t, tx.Commit(ctx))
}

// It began after the first look at the readers, and before the last events were folded.
func TestAReaderThatBeganDuringThePromotionIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 2)
	reader := fixture.Connect(ctx, t, s)
	p := promotion(t, next)
	p.Within = time.Second
	p.CatchUp = func(ctx context.Context, head uint64) error {
		_, err := reader.Exec(ctx, "begin isolation level repeatable read; select count(*) from portal.payment", pgx.QueryExecModeSimpleProtocol)
		fixture.Apply(context.WithoutCancel(ctx), t, next, head) // a busy machine may need longer than a second
		return err
	}
	require.ErrorIs(t, makeLive(ctx, next, p), ErrNotPromoted)
	_, err := reader.Exec(ctx, "commit")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
}

// It was made while the promotion waited for a batch under way.
func TestAViewThatIsMadeDuringThePromotionStopsIt(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next := fixture.Candidate(ctx, t, s, 0)
	batch := fixture.Connect(ctx, t, s)
	_, err := batch.Exec(ctx, fmt.Sprintf("begin; select pg_advisory_xact_lock_shared(%d)", store.PromoteLock))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- makeLive(ctx, next, promotion(t, next)) }()
	wait.Until(t, func() bool {
		return fixture.Number(ctx, t, s, "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'") == 1
	})
	_, err = s.Pool().Exec(ctx, "create view public.theirs as select * from portal.credits")
	require.NoError(t, err)
	_, err = batch.Exec(ctx, "commit")
	require.NoError(t, err)
	err = <-ended
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "view public.theirs")
}

// The candidate has applied it.
func TestAnEventThatIsQuarantinedDuringThePromotionStopsIt(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 3)
	p := promotion(t, next)
	p.CatchUp = func(ctx context.Context, _ uint64) error {
		_, err := s.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ('log-1', 3, 'refused')")
		return err
	}
	err := makeLive(ctx, next, p)
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "the first of 1 at seq 3")
}

// Its reader began an hour later than the promotion, by a clock that was set back between the two.
func TestAReaderIsWaitedForAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	reader, asker := fixture.Connect(ctx, t, s), fixture.Connect(ctx, t, s, "search_path", "set_back, pg_catalog")
	_, err := asker.Exec(ctx, `create schema set_back; create function set_back.clock_timestamp() returns timestamptz
		language sql as $$ select pg_catalog.clock_timestamp() - interval '1 hour' $$`)
	require.NoError(t, err)
	_, err = reader.Exec(ctx, "begin isolation level repeatable read; select count(*) from portal.credits")
	require.NoError(t, err)
	var marker string
	var since time.Time
	require.NoError(t, asker.QueryRow(ctx, "select pg_current_xact_id()::xid::text, clock_timestamp()").Scan(&marker, &since))
	rows, err := asker.Query(ctx, oldSnapshots, marker, since, int64(store.PromoteLock), int64(0))
	require.NoError(t, err)
	readers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, readers, 1)
	require.Contains(t, readers[0], fmt.Sprint("pid ", reader.PgConn().PID()))
}

// Batches wait for the promotion, however long their lock_timeout is, and hold
// nothing that it waits for.
func TestABatchWaitsForThePromotionWithoutAnError(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	const lease = 4 * time.Second // a transaction may be idle for four fifths of it, also on a busy machine
	hasty, err := store.Open(ctx, store.Config{DSN: s.Pool().Config().ConnString(), Owner: "hasty", LeaseTime: lease, ConnectTimeout: wait.Timeout})
	require.NoError(t, err)
	defer hasty.Close()
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 2)
	applied := make(chan error, 1)
	p := promotion(t, next)
	catchUp := p.CatchUp
	p.CatchUp = func(catching context.Context, head uint64) error {
		go func() {
			_, err := live.Apply(ctx, hasty, fixture.AnyMode, []events.Event{fixture.Event(t, 4, fixture.Pack("e4", "p4", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(0, 3), To: 4})
			applied <- err
		}()
		const waiting = `select count(*) from pg_stat_activity where datname = current_database()
			and application_name = 'payfold-projector hasty' and wait_event = 'advisory' and now() - query_start > '2.5 s'`
		wait.Until(t, func() bool { return fixture.Number(ctx, t, s, waiting) == 1 })
		return catchUp(catching, head)
	}
	require.NoError(t, makeLive(ctx, next, p))
	require.NoError(t, <-applied)
	require.EqualValues(t, 4, fixture.Number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 3, fixture.Number(ctx, t, s, "select balance from portal_prev.credits"))
	var timeout string
	require.NoError(t, hasty.Pool().QueryRow(ctx, "show lock_timeout").Scan(&timeout))
	require.Equal(t, "2s", timeout)
}

// The database prefers transactions that see what was there before they waited. Such a batch would take the new tables,
// which have other rules, for the old ones.
func TestABatchThatWaitedForAPromotionSeesTheNewTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read'); end $$")
	require.NoError(t, err)
	s.Pool().Reset() // new sessions have the database's settings
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 3)
	_, err = s.Pool().Exec(ctx, "update payfold.schema_state set fold_id = 'other rules' where schema_name = 'portal_next'")
	require.NoError(t, err)
	applied := make(chan error, 1)
	p := promotion(t, next)
	p.FoldID = "other rules"
	p.CatchUp = func(context.Context, uint64) error {
		go func() {
			_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 4, fixture.Pack("e4", "p4", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(0, 3), To: 4})
			applied <- err
		}()
		wait.Until(t, func() bool {
			return fixture.Number(ctx, t, s, "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'") == 1
		})
		return nil
	}
	require.NoError(t, makeLive(ctx, next, p))
	require.ErrorIs(t, <-applied, store.ErrFoldID)
	require.EqualValues(t, 3, fixture.Number(ctx, t, s, "select balance from portal.credits"))
}

// Each wait of a promotion has a limit of its own. All together have one, too, which is less
// than a batch waits.
func TestAPromotionGivesUpBeforeTheBatchesThatWaitForIt(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 3)
	other := fixture.Connect(ctx, t, s)
	_, err := other.Exec(ctx, "begin; lock table portal_next.checkpoint in share mode")
	require.NoError(t, err)
	p := promotion(t, next)
	p.Within = time.Second
	err = makeLive(ctx, next, p)
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "live work would have waited longer than 1s")
	require.False(t, store.TimedOut(err), "no single wait was too long: %v", err)
	fixture.Apply(ctx, t, s, 4) // batches go on
	_, err = other.Exec(ctx, "commit")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
}

// A promotion whose process freezes under its lock says nothing to Postgres any
// more, which then ends its session: the batch that waits goes on, and the
// promotion has changed nothing when it wakes.
func TestAPromotionThatFreezesLosesItsLock(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	next := fixture.Candidate(ctx, t, s, 3)
	frozen, thawed, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	thaw := sync.OnceFunc(func() { close(thawed) })
	defer thaw()
	var timeout string // of the frozen session
	go func() {
		ended <- pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
			p := promotion(t, next)
			p.CatchUp = func(ctx context.Context, _ uint64) error {
				err := tx.QueryRow(ctx, "show idle_in_transaction_session_timeout").Scan(&timeout)
				if err == nil {
					_, err = tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '1s'") // the test does not wait for longer
				}
				close(frozen)
				<-thawed
				return err
			}
			return exchange(ctx, next, tx, p)
		})
	}()
	<-frozen
	require.Equal(t, (2 * store.CatchUpTimeout).String(), timeout)
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 4, fixture.Pack("e4", "p4", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(0, 3), To: 4})
	require.NoError(t, err)
	thaw()
	require.Error(t, <-ended)
	require.EqualValues(t, 4, fixture.Number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 3, fixture.Number(ctx, t, s, "select balance from portal_next.credits"))
}

// Where the new transactions of a busy portal begin while an old one writes, all
// their snapshots look old by their xmin.
func TestAWriterElsewhereDoesNotStopAPromotion(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	writer := fixture.Connect(ctx, t, s)
	tx, err := writer.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "select pg_current_xact_id()")
	require.NoError(t, err)
	next := fixture.Candidate(ctx, t, s, 3)
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error { return nil }
	read, stop := make(chan error, 3), make(chan struct{})
	for range 3 {
		reader := fixture.Connect(ctx, t, s)
		go func() {
			for {
				select {
				case <-stop:
					read <- nil
					return
				default:
				}
				err := pgx.BeginTxFunc(ctx, reader, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
					var n int64
					return tx.QueryRow(ctx, "select balance from credits, pg_sleep(0.05)").Scan(&n)
				})
				if err != nil {
					read <- err
					return
				}
			}
		}()
	}
	require.NoError(t, makeLive(ctx, next, p))
	close(stop)
	for range 3 {
		require.NoError(t, <-read)
	}
}

// A transaction that still reads the tables to be dropped is waited for, not long.
func TestAReaderOfThePreviousTablesStopsAPromotionWithItsReason(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next := fixture.Candidate(ctx, t, s, 0)
	reader := fixture.Connect(ctx, t, s)
	_, err := reader.Exec(ctx, "begin; lock table portal.credits in access share mode")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	again := fixture.Candidate(ctx, t, s, 0)
	err = makeLive(ctx, again, promotion(t, again))
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "drop schema portal_prev")
	_, err = reader.Exec(ctx, "select count(*) from credits; commit")
	require.NoError(t, err)
	require.NoError(t, makeLive(ctx, again, promotion(t, again)))
}

// Both would succeed, and the live tables would not go on with the log.
func TestALogIsNotAdoptedDuringAPromotion(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 5)
	next := fixture.Candidate(ctx, t, s, 5)
	adopted := make(chan error, 1)
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error {
		go func() {
			_, err := identity.Adopt(ctx, s, eventlog.Info{LogID: "log-2", First: 6, Partitions: fixture.Partitions})
			adopted <- err
		}()
		wait.Until(t, func() bool {
			return fixture.Number(ctx, t, s, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") > 0
		})
		return nil
	}
	require.NoError(t, makeLive(ctx, next, p))
	require.NoError(t, <-adopted)
	live, err := s.SchemaNamed(ctx, store.LiveSchema)
	require.NoError(t, err)
	require.Equal(t, "log-2", live.LogID)
}

// Tables that a rebuild made have no out-of-order events, whatever the ones before had.
func TestARebuildLeavesNoOutOfOrderEvents(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 2, fixture.Pack("e2", "p2", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(1, 0), To: 2})
	require.NoError(t, err)
	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 2})
	require.NoError(t, err)
	recorded, err := store.OutOfOrder(ctx, s.Pool(), s.Schema())
	require.NoError(t, err)
	require.Equal(t, []store.OutOfOrderEvent{{Seq: 1, Later: 2}}, recorded)
	next := fixture.Candidate(ctx, t, s, 0)
	p := promotion(t, next)
	p.AcceptLogLoss = true
	require.NoError(t, makeLive(ctx, next, p))
	recorded, err = store.OutOfOrder(ctx, s.Pool(), s.Schema())
	require.NoError(t, err)
	require.Empty(t, recorded)
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		count, err := store.CountOutOfOrder(ctx, tx, store.LiveSchema)
		require.Zero(t, count)
		return err
	}))
}

func TestAPromotionNotifiesAppsAndTheInviter(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	listener := fixture.Connect(ctx, t, s)
	_, err := listener.Exec(ctx, "listen payfold_changed; listen payfold_licenses")
	require.NoError(t, err)
	next := fixture.Candidate(ctx, t, s, 3)
	require.NoError(t, makeLive(ctx, next, promotion(t, next)))
	for _, want := range [][2]string{{store.Changed, `{"all":true}`}, {store.LicensesChanged, `{"all":true}`}} {
		heard, err := listener.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{heard.Channel, heard.Payload})
	}
}
