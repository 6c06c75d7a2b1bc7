package verify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
	"github.com/payfold/payfold/internal/verify"
)

// entangled returns purchases of some users. The events of one user name payments, orders,
// subscriptions and events of the others, but other customers, so they are in other
// partitions.
func entangled(events int, random *rand.Rand) (bodies []string) {
	for i := range events {
		user, other := random.IntN(6), random.IntN(6)
		metadata := fmt.Sprintf(`"metadata":{"user_id":"u%d","kind":%q,"credits":10}`, user, []string{"one_time", "subscription", "pro"}[random.IntN(3)])
		id, customer := fmt.Sprintf("e%d", i), fmt.Sprintf(`"customer":"c%d"`, random.IntN(40))
		if random.IntN(10) == 0 {
			id = fmt.Sprintf("e%d", random.IntN(i+1)) // of an event before
		}
		body := map[int]string{
			0: `"checkout.completed","object":{"order":{"id":"o%d","transaction":"t%d"},` + metadata,
			1: `"checkout.completed","object":{"order":{"id":"o%d"},` + metadata + `,"units":%d`,
			2: `"subscription.paid","object":{"id":"s%d","last_transaction_id":"t%d"`,
			3: `"subscription.active","object":{"id":"s%d","units":%d,` + metadata,
			4: `"refund.created","object":{"transaction":"t%d","refund_amount":%d`,
			5: `"customer.updated","object":{"a":%d,"b":%d,` + metadata,
		}[random.IntN(6)]
		bodies = append(bodies, fmt.Sprintf(`{"id":%q,"eventType":`+body+`,%s}}`, id, 1+other, 1+random.IntN(8), customer))
	}
	return bodies
}

// applyOutOfOrder applies one partition of the log after the other, the last one first.
func (v *verified) applyOutOfOrder(ctx context.Context, t *testing.T) {
	t.Helper()
	info, err := v.log.Info(ctx)
	require.NoError(t, err)
	checkpoints, err := v.tables.Checkpoints(ctx)
	require.NoError(t, err)
	head, err := v.log.Message(ctx, info.Last)
	require.NoError(t, err)
	for partition := info.Partitions - 1; partition >= 0; partition-- {
		var batch []events.Event
		for seq := checkpoints[partition].Position + 1; seq <= info.Last; seq++ {
			m, err := v.log.Message(ctx, seq)
			require.NoError(t, err)
			if m.Partition == partition {
				batch = append(batch, providers.Decode(m))
			}
		}
		_, err := live.Apply(ctx, v.tables, fixture.AnyMode, batch, store.Advance{
			LogID: info.LogID, From: map[int]uint64{partition: checkpoints[partition].Position}, To: info.Last, Digest: head.Digest(),
		})
		require.NoError(t, err)
	}
}

func (v *verified) settle(ctx context.Context) (verify.Settled, error) {
	return (&verify.Settle{Log: v.log, Tables: v.tables, Rules: fixture.AnyMode}).Run(ctx)
}

// Verify counts the rows that out-of-order events explain separately. Settle writes their
// rows again and no rows of other customers.
func TestOutOfOrderEventsAreToldApartAndSettled(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			ctx, v := setupVerifiedOf(t, 100)
			v.World.Log.Deliver(t, entangled(80, rand.New(rand.NewPCG(seed, 1)))...)
			v.applyOutOfOrder(ctx, t)
			verdict, err := v.verify(ctx, t)
			require.NoError(t, err)
			require.Positive(t, verdict.OutOfOrder)
			require.Zero(t, verdict.Differences, "%+v", v.differences)
			require.False(t, verdict.Holds())

			v.execute(ctx, t, "update portal.credits set balance = balance + 1, granted = granted + 1 where user_id = (select min(user_id) from portal.credits where user_id like 'user_%')")
			verdict, err = v.verify(ctx, t)
			require.NoError(t, err)
			require.Equal(t, 1, verdict.Differences, "the row of another customer is a difference")
			v.execute(ctx, t, "update portal.credits set balance = balance - 1, granted = granted - 1 where user_id = (select min(user_id) from portal.credits where user_id like 'user_%')")

			rowsOfOthers := "select coalesce(sum(xmin::text::bigint), 0) from portal.payment_facts where user_id like 'user_%'"
			before := v.Number(ctx, t, rowsOfOthers)
			settled, err := v.settle(ctx)
			require.NoError(t, err)
			require.Positive(t, settled.OutOfOrder)
			require.LessOrEqual(t, settled.Events, 80)
			require.Equal(t, before, v.Number(ctx, t, rowsOfOthers), "the rows of other customers were not written")
			require.EqualValues(t, 1, v.Number(ctx, t, "select count(*) from payfold.schema_state where schema_name = 'portal' and settled_at is not null"),
				"a projector with rows in memory reads them again")
			verdict, err = v.verify(ctx, t)
			require.NoError(t, err)
			require.Empty(t, v.differences)

			settled, err = v.settle(ctx)
			require.NoError(t, err)
			require.Zero(t, settled, "nothing is left")
		})
	}
}

func (v *verified) execute(ctx context.Context, t *testing.T, sql string) {
	t.Helper()
	_, err := v.DB.Exec(ctx, sql)
	require.NoError(t, err)
}

// packIn is an event in this partition, which sells u1 ten credits.
func packIn(t *testing.T, id string, partition int) string {
	t.Helper()
	for n := 0; ; n++ {
		body := fmt.Sprintf(`{"id":%[1]q,"eventType":"checkout.completed","object":{"order":{"id":%[1]q,"transaction":%[1]q},"customer":"c%[2]d",
			"metadata":{"user_id":"u1","kind":"one_time","credits":10}}}`, id, n)
		if fixture.Event(t, 1, body).Partition(8) == partition {
			return body
		}
	}
}

// The database has refused one of the events, and that of another one is missing in the tables.
func TestSettleKeepsToWhatTheTablesShouldHave(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 20)
	v.World.Log.Deliver(t, packIn(t, "first", 7), packIn(t, "second", 0), packIn(t, "third", 7))
	v.execute(ctx, t, fmt.Sprintf("insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, %d, 'refused' from payfold.schema_state", v.Head(ctx, t)-2))
	v.applyOutOfOrder(ctx, t)
	const balance = "select balance from portal.credits where user_id = 'u1'"
	require.EqualValues(t, 20, v.Number(ctx, t, balance))

	v.execute(ctx, t, "update portal.processed_event set event_id = 'other' where event_id = 'second'")
	_, err := v.settle(ctx)
	require.ErrorContains(t, err, "the tables have records of 2 of these 3 messages")
	v.execute(ctx, t, "update portal.processed_event set event_id = 'second' where event_id = 'other'")

	settled, err := v.settle(ctx)
	require.NoError(t, err)
	require.Equal(t, verify.Settled{OutOfOrder: 1, Events: 3, Users: 1}, settled)
	require.EqualValues(t, 20, v.Number(ctx, t, balance), "the refused event is still rejected")
}

// While it waits, a promotion replaces the tables.
func TestSettleWaitsForTheBatchUnderWayAndThenChecksTheRules(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 20)
	v.World.Log.Deliver(t, packIn(t, "first", 0), packIn(t, "second", 7))
	v.applyOutOfOrder(ctx, t)
	batch := fixture.Connect(ctx, t, v.tables)
	_, err := batch.Exec(ctx, fmt.Sprintf("begin; select pg_advisory_xact_lock_shared(%d)", store.PromoteLock))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := v.settle(ctx)
		ended <- err
	}()
	wait.Until(t, func() bool {
		return v.Number(ctx, t, `select count(*) from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database())`) > 0
	}, "it waits")
	v.execute(ctx, t, "update payfold.schema_state set fold_id = 'other' where schema_name = 'portal'")
	_, err = batch.Exec(ctx, "commit")
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, store.ErrFoldID)
}

// The fold of the customers would lack what the lost message has granted.
func TestCustomersOfALostMessageAreNotSettled(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 20)
	v.World.Log.Deliver(t, packIn(t, "first", 7), packIn(t, "second", 0), packIn(t, "third", 7))
	v.applyOutOfOrder(ctx, t)
	require.EqualValues(t, 1, v.Number(ctx, t, "select count(*) from payfold.out_of_order_event"))
	require.EqualValues(t, 30, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))

	lossy := world.LossyLog{Log: v.log, Lost: v.Head(ctx, t) - 2}
	_, err := (&verify.Settle{Log: lossy, Tables: v.tables, Rules: fixture.AnyMode}).Run(ctx)
	require.ErrorContains(t, err, "not settled")
	require.ErrorContains(t, err, "the tables have 1 events of these customers that the log does not have")
	require.EqualValues(t, 30, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))

	settled, err := v.settle(ctx)
	require.NoError(t, err)
	require.Equal(t, verify.Settled{OutOfOrder: 1, Events: 3, Users: 1}, settled)
	require.EqualValues(t, 30, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
}

// It removes rows before it writes them again, and those may have been of any user.
func TestSettleNotifiesOnceThatAnyUserMayHaveChanged(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 20)
	v.World.Log.Deliver(t, packIn(t, "first", 0), packIn(t, "second", 7))
	v.applyOutOfOrder(ctx, t)
	listener := fixture.Connect(ctx, t, v.tables)
	_, err := listener.Exec(ctx, "listen payfold_changed; listen payfold_licenses")
	require.NoError(t, err)
	settled, err := v.settle(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, settled.OutOfOrder)
	v.execute(ctx, t, "select pg_notify('payfold_changed', 'a marker')")
	for _, want := range [][2]string{{store.Changed, `{"all":true}`}, {store.LicensesChanged, `{"all":true}`}, {store.Changed, "a marker"}} {
		heard, err := listener.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{heard.Channel, heard.Payload})
	}
}
