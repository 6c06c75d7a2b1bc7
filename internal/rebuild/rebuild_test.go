package rebuild_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// There is nothing to wait for.
func TestARebuildOfAnEmptyLogEnds(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 0}, []uint64{info.First, info.Last})
	rebuild := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	require.NoError(t, rebuild.Run(ctx, 0))
}

// The lock on a schema's name is a session's, which can be lost; the checkpoints are
// what keeps two rebuilds apart.
func TestTwoRebuildsOfOneSchemaAtOnceAreOneFold(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 600, world.ShopSecret)
	head := w.Head(ctx, t)
	alone := w.Rebuild(t, w.Open(ctx, t, "alone"), 0)
	require.NoError(t, alone.Run(ctx, head))
	var both errgroup.Group
	for range 2 {
		rebuild := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 100)
		both.Go(func() error { return rebuild.Run(ctx, head) })
	}
	require.NoError(t, both.Wait())
	w.RequireSame(ctx, t, "alone", "portal_next")
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
}

// overtakenLog lets another rebuild go on while the messages at the positions are compared.
type overtakenLog struct {
	rebuild.Log
	overtake func()
}

func (l overtakenLog) Message(ctx context.Context, seq uint64) (events.Message, error) {
	m, err := l.Log.Message(ctx, seq)
	l.overtake() // after it, because it has a time limit
	return m, err
}

// The other one goes on between the reading of the positions and that of the tables.
func TestARebuildThatIsOvertakenFoldsNothingTwice(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 60, world.ShopSecret)
	head := w.Head(ctx, t)
	alone := w.Rebuild(t, w.Open(ctx, t, "alone"), 0)
	require.NoError(t, alone.Run(ctx, head))
	into := w.Open(ctx, t, "portal_next")
	first, other, overtaken := w.Rebuild(t, into, 0), w.Rebuild(t, into, 0), w.Rebuild(t, into, 0)
	require.NoError(t, first.Run(ctx, 20))
	overtaken.Log = overtakenLog{overtaken.Log, sync.OnceFunc(func() { require.NoError(t, other.Run(ctx, head-1)) })}
	require.NoError(t, overtaken.Run(ctx, head))
	w.RequireSame(ctx, t, "alone", "portal_next")
}

// What only an analyst's table cannot take is no fault of the event.
func TestAnEventThatOnlyAnExtraRefusesIsNotQuarantined(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	const most = 9223372036854775807
	paid := `{"id":%q,"eventType":"checkout.completed","created_at":1767225600000,"object":{"order":{"id":%q,"amount_paid":%d,"currency":"EUR"},
		"metadata":{"kind":"one_time","user_id":"u1","credits":1}}}`
	w.Log.Deliver(t, fmt.Sprintf(paid, "e1", "o1", most), fmt.Sprintf(paid, "e2", "o2", most),
		`{"id":"e3","eventType":"refund.created","created_at":1767225600000,"object":{"status":"succeeded","order":"o1"}}`)
	sales := store.Config{DSN: w.DSN, Schema: "sales", Owner: "command"}
	database, err := store.Open(ctx, sales)
	require.NoError(t, err)
	t.Cleanup(database.Close)
	rebuild := w.Rebuild(t, database, 0)
	rebuild.Rules.Extras = []string{"revenue_daily"}
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, database.Prepare(ctx, info.LogID, info.Partitions, rebuild.Rules))
	require.ErrorContains(t, rebuild.Run(ctx, 3), "cannot be folded with revenue_daily")
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
	plain := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	require.NoError(t, plain.Run(ctx, 3))
	require.EqualValues(t, 3, w.Number(ctx, t, "select count(*) from portal_next.processed_event where outcome = 'applied'"))
}

// Until the tables have rows, it begins anew; afterwards it goes on where it was.
func TestARebuildThatIsStoppedAnywhereGivesTheLiveTables(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Project(ctx, t, 350)
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	for _, batch := range []uint64{0, 7, 170} {
		schema := fmt.Sprintf("by_%d", batch)
		into := w.Open(ctx, t, schema)
		for stops := 0; ; stops++ {
			stopped, stop := context.WithCancel(ctx)
			rebuild := w.Rebuild(t, into, batch)
			left, until := rand.IntN(20), info.Last
			if stops == 3 {
				left, until = -1, 100 // is not stopped
			}
			rebuild.Progress = func(_, _ uint64) {
				if left--; left == 0 && stops < 6 {
					stop()
				}
			}
			err := rebuild.Run(stopped, until)
			stop()
			if err == nil && until == info.Last {
				break
			}
			if until == info.Last {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		w.RequireSame(ctx, t, "portal", schema)
	}
}

// interruptedLog is interrupted while its reader waits for the messages after a sequence.
type interruptedLog struct {
	rebuild.Log
	last uint64
}

func (l interruptedLog) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return l.Log.ReadUntil(ctx, from, until, func(m events.Message) error {
		if m.Seq <= l.last {
			return deliver(m)
		}
		<-ctx.Done()
		return ctx.Err()
	})
}

// What was read is not there any more.
func TestAnInterruptedRebuildBeginsAgain(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 2_000, world.ShopSecret)
	undisturbed := w.Rebuild(t, w.Open(ctx, t, "undisturbed"), 0)
	require.NoError(t, undisturbed.Run(ctx, w.Head(ctx, t)))
	into := w.Open(ctx, t, "portal_next")
	stopped, stop := context.WithCancel(ctx)
	command := rebuild.Command{Rebuild: w.Rebuild(t, into, 0)}
	command.Log = interruptedLog{command.Log, 1_500}
	command.Progress = func(position, _ uint64) {
		if position > 0 {
			stop()
		}
	}
	_, err := command.Run(stopped)
	require.EqualError(t, err, "interrupted; portal_next is empty, and the same command begins again")
	require.Zero(t, w.Number(ctx, t, "select max(position) from portal_next.checkpoint"))
	again := w.Rebuild(t, into, 0)
	require.NoError(t, again.Run(ctx, w.Head(ctx, t)))
	w.RequireSame(ctx, t, "undisturbed", "portal_next")
}

// Who asked for tables of a moment reads them at once. Without statistics a page of the console reads a whole table.
func TestTablesAsOfAMomentHaveStatistics(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 200, world.ShopSecret)
	past, err := w.Open(ctx, t, store.LiveSchema).OpenSchema(ctx, "past")
	require.NoError(t, err)
	t.Cleanup(past.Close)
	_, err = (&rebuild.Command{Rebuild: w.Rebuild(t, past, 0), UntilSeq: new(uint64(150))}).Run(ctx)
	require.NoError(t, err)
	for _, table := range []string{"processed_event", "payment_facts", "subscription_facts", "credit_ledger"} {
		require.Positive(t, w.Number(ctx, t, "select count(*) from pg_stats where schemaname = 'past' and tablename = '"+table+"'"), table)
	}
}

// One of its two transactions was committed when it was killed.
func TestAHalfCommittedRebuildBeginsAgain(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 200, world.ShopSecret)
	undisturbed := w.Rebuild(t, w.Open(ctx, t, "undisturbed"), 0)
	require.NoError(t, undisturbed.Run(ctx, w.Head(ctx, t)))
	into := w.Open(ctx, t, "portal_next")
	_, err := w.DB.Exec(ctx, "insert into portal_next.processed_event select * from undisturbed.processed_event")
	require.NoError(t, err)
	again := w.Rebuild(t, into, 0)
	require.NoError(t, again.Run(ctx, w.Head(ctx, t)))
	w.RequireSame(ctx, t, "undisturbed", "portal_next")
}

// The network goes silent between two messages, and so no statement is there to be cancelled.
func TestAnInterruptedRebuildEndsWhereTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 2_000, world.ShopSecret)
	proxy, dsn := network.ToDatabase(t, w.DSN)
	into, err := store.Open(ctx, store.Config{DSN: dsn, Schema: "portal_next", Owner: "command"})
	require.NoError(t, err)
	defer into.Close()
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, into.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	interrupted, interrupt := context.WithCancel(ctx)
	rebuild := w.Rebuild(t, into, 0)
	rebuild.Progress = func(position, until uint64) {
		if position > until/2 && interrupted.Err() == nil { // it has begun to write
			proxy.Disturb(t, network.Silence, network.ToServer, network.ToClient)
			interrupt()
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- rebuild.Run(interrupted, info.Last) }()
	defer proxy.Clear()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(wait.Timeout):
		require.Fail(t, "it still waits for the database")
	}
}

// What the database refuses of the tables that are built is found, also among
// many, and rejected in every fold from then on.
func TestARebuildFindsWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, batch := range []uint64{0, 50} {
		t.Run(fmt.Sprint("batch ", batch), func(t *testing.T) {
			t.Parallel()
			ctx, w := world.New(t)
			w.Log.Fill(t, testenv.ShopEvent, 200, world.ShopSecret)
			into := w.Open(ctx, t, "portal_next")
			_, err := w.DB.Exec(ctx, `
				alter table portal_next.processed_event add constraint no_97 check (stream_seq not in (97, 98) or outcome = 'rejected');
				create function portal_next.refuse() returns trigger language plpgsql as $$
				begin
					if new.stream_seq = 151 then raise 'not this one'; end if;
					return new;
				end $$;
				create trigger refuse before insert or update on portal_next.payment_facts for each row execute function portal_next.refuse()`)
			require.NoError(t, err)
			scratch := w.Rebuild(t, into, batch) // as of a verify, which quarantines nothing
			scratch.Scratch = true
			require.ErrorAs(t, scratch.Run(ctx, w.Head(ctx, t)), new(*store.RefusedError))
			require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
			rebuild, said := w.Rebuild(t, into, batch), &wait.Buffer{}
			rebuild.Logger = slog.New(slog.NewTextHandler(said, nil))
			require.NoError(t, rebuild.Run(ctx, w.Head(ctx, t)))
			require.Contains(t, said.String(), "level=ERROR msg=\"an event is quarantined")
			require.EqualValues(t, w.Head(ctx, t), w.Number(ctx, t, "select (select count(*) from portal_next.processed_event) + (select count(*) from portal_next.duplicate_event)"))
			refused := w.Number(ctx, t, "select count(*) from payfold.quarantined_event")
			require.Positive(t, refused)
			require.LessOrEqual(t, refused, int64(3))
			require.Equal(t, refused, w.Number(ctx, t, "select count(*) from portal_next.processed_event where reason = 'internal'"))
			w.Project(ctx, t, 1)
			rest := w.Rebuild(t, into, batch)
			require.NoError(t, rest.Run(ctx, w.Head(ctx, t)))
			other := w.Open(ctx, t, "other")
			again := w.Rebuild(t, other, 0)
			require.NoError(t, again.Run(ctx, w.Head(ctx, t)))
			w.RequireSame(ctx, t, "portal_next", "other")
		})
	}
}

// The tables before stand wherever their partitions stood when they were
// replaced; to go back they are caught up, each partition from its own place.
func TestPreviousTablesAreCaughtUpFromUnevenPositions(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 300)
	require.NoError(t, stop())
	live := w.Open(ctx, t, store.LiveSchema)
	// As if one projector had gone on and another one not: the last 100 messages
	// are there for half of the partitions.
	half := w.Open(ctx, t, "half")
	first := w.Rebuild(t, half, 0)
	require.NoError(t, first.Run(ctx, 200))
	w.ApplyOdd(ctx, t, half, 200, 290)
	require.Positive(t, w.Number(ctx, t, "select count(distinct position) - 1 from half.checkpoint"))
	uneven, err := half.SchemaNamed(ctx, "half")
	require.NoError(t, err)
	require.EqualValues(t, 200, uneven.Position, "everything up to here is applied")
	promotion := promote.Promotion{Rebuild: w.Rebuild(t, half, 13), Live: live}
	require.NoError(t, promotion.Run(ctx))
	w.RequireSame(ctx, t, "portal", "portal_prev")
	require.Zero(t, w.Number(ctx, t, fmt.Sprintf("select count(*) from portal.checkpoint where position < %d", w.Head(ctx, t))))
}

// A restored log has a mark in the place of a message that these tables have. The mark is in a partition whose position
// is before it.
func TestAMarkOfAMessageThatTheTablesHaveIsPassedOver(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 60)
	require.NoError(t, stop())
	half := w.Open(ctx, t, "half")
	first := w.Rebuild(t, half, 0)
	require.NoError(t, first.Run(ctx, 20))
	head := w.Head(ctx, t)
	w.ApplyOdd(ctx, t, half, 20, head)
	log := world.LossyLog{Log: w.Log.Reader(t)}
	for log.Lost = head; ; log.Lost-- {
		m, err := log.Log.Message(ctx, log.Lost)
		require.NoError(t, err)
		mark, err := log.Message(ctx, log.Lost)
		require.NoError(t, err)
		if m.Partition%2 == 1 && mark.Partition%2 == 0 {
			break
		}
	}
	then := w.Rebuild(t, half, 0)
	then.Log = log
	require.NoError(t, then.Run(ctx, head))
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
	w.RequireSame(ctx, t, "portal", "half")
}

// Scratch tables are brought to the uneven positions of others. Only for that they get indexes.
func TestMoreIsFoldedIntoScratchTables(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, 300, world.ShopSecret)
	uneven := w.Open(ctx, t, "uneven")
	first := w.Rebuild(t, uneven, 0)
	require.NoError(t, first.Run(ctx, 200))
	for n, more := range []func(){func() {}, func() { w.ApplyOdd(ctx, t, uneven, 200, w.Head(ctx, t)) }} {
		more()
		checkpoints, err := uneven.Checkpoints(ctx)
		require.NoError(t, err)
		var upTo identity.Positions
		for _, checkpoint := range checkpoints {
			upTo = append(upTo, checkpoint.Position)
		}
		schema := fmt.Sprint("further", n)
		further := w.Rebuild(t, w.Open(ctx, t, schema), 70)
		further.Scratch = true
		require.NoError(t, further.Run(ctx, upTo.Lowest()))
		further.UpTo = upTo
		require.NoError(t, further.Run(ctx, upTo.Highest()))
		w.RequireSame(ctx, t, "uneven", schema)
		indexed := w.Number(ctx, t, "select count(*) from pg_indexes where tablename = 'processed_event' and schemaname = '"+schema+"'")
		require.Equal(t, n > 0, indexed > 0)
	}
}
