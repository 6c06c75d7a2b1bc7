package verify_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/verify"
)

func (v *verified) retry(ctx context.Context, seq uint64) (verify.Retried, error) {
	return (&verify.Settle{Log: v.log, Tables: v.tables, Rules: fixture.AnyMode}).Retry(ctx, seq)
}

// rows is a text that changes with every row of the live tables.
func (v *verified) rows(ctx context.Context, t *testing.T) (rows string) {
	t.Helper()
	require.NoError(t, v.DB.QueryRow(ctx, `select concat_ws(' ', (select string_agg(e::text, ' ' order by event_id) from portal.processed_event e),
		(select string_agg(p::text, ' ' order by provider_payment_id) from portal.payment p), (select string_agg(c::text, ' ' order by user_id) from portal.credits c),
		(select string_agg(q::text, ' ' order by stream_seq) from payfold.quarantined_event q), (select settled_at from payfold.schema_state where schema_name = 'portal'))`).Scan(&rows))
	return rows
}

// setupQuarantined returns a world in which a constraint has refused a purchase of 13 credits, at the returned
// sequence. The same user has bought before and after it, and the provider has refunded half of it.
func setupQuarantined(t *testing.T) (context.Context, *verified, uint64) {
	t.Helper()
	ctx, v := setupVerifiedOf(t, 20)
	v.execute(ctx, t, "alter table portal.credit_ledger add constraint theirs check (delta <> 13)")
	v.World.Log.Deliver(t, fixture.Pack("before", "p1", "u1", 5), fixture.Pack("refused", "p2", "u1", 13), fixture.Pack("after", "p3", "u1", 7),
		`{"id":"refund","eventType":"refund.created","object":{"status":"succeeded","refund_amount":5,"transaction":{"id":"p2","amount_paid":10,"refunded_amount":5}}}`)
	stop := v.Start(ctx, t, 100)
	v.WaitApplied(ctx, t)
	require.NoError(t, stop())
	seq := uint64(v.Number(ctx, t, "select stream_seq from payfold.quarantined_event"))
	require.EqualValues(t, 12, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	return ctx, v, seq
}

func (v *verified) requireHolds(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := v.verify(ctx, t)
	require.NoError(t, err)
	require.Empty(t, v.differences)
}

func TestAQuarantinedEventIsTriedAgain(t *testing.T) {
	t.Parallel()
	ctx, v, seq := setupQuarantined(t)
	before := v.rows(ctx, t)
	_, err := v.retry(ctx, seq)
	require.ErrorContains(t, err, fmt.Sprintf("the event at seq %d stays quarantined: the database refuses it again: ", seq))
	require.ErrorContains(t, err, `"theirs"`)
	require.Equal(t, before, v.rows(ctx, t))

	v.execute(ctx, t, "alter table portal.credit_ledger drop constraint theirs")
	done, err := v.retry(ctx, seq)
	require.NoError(t, err)
	require.Equal(t, verify.Retried{Seq: seq, EventID: "refused", Outcome: "applied", Events: 4, Users: 1}, done)
	require.Less(t, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"), int64(5+13+7), "the refund counts, too")
	require.Greater(t, v.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"), int64(12))
	require.Zero(t, v.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
	v.requireHolds(ctx, t)

	for _, none := range []uint64{0, 1, seq, seq + 100} {
		_, err = v.retry(ctx, none)
		require.ErrorIs(t, err, verify.ErrNotQuarantined)
	}
}

// A constraint that Postgres checks only at the commit.
func TestAnEventThatIsRefusedAtTheCommitStaysQuarantined(t *testing.T) {
	t.Parallel()
	ctx, v, seq := setupQuarantined(t)
	v.execute(ctx, t, `alter table portal.credit_ledger drop constraint theirs;
		create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'at the commit'; end $$;
		create constraint trigger refuse after insert on portal.credit_ledger deferrable initially deferred
			for each row when (new.delta = 13) execute function public.refuse()`)
	before := v.rows(ctx, t)
	_, err := v.retry(ctx, seq)
	require.ErrorContains(t, err, "stays quarantined: the database refuses it again: ")
	require.ErrorContains(t, err, "at the commit")
	require.Equal(t, before, v.rows(ctx, t))
}

// The process dies when some rows are removed and some are written.
func TestARetryThatDiesHasChangedNothing(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]string{
		"rows are removed": "before delete on portal.payment_facts", "rows are written": "before insert on portal.credit_ledger",
		"it is released": "before delete on payfold.quarantined_event", "all is written": "after update on payfold.schema_state",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, v, seq := setupQuarantined(t)
			v.execute(ctx, t, "alter table portal.credit_ledger drop constraint theirs")
			before := v.rows(ctx, t)
			holder := fixture.Connect(ctx, t, v.tables)
			_, err := holder.Exec(ctx, "select pg_advisory_lock(7)")
			require.NoError(t, err)
			v.execute(ctx, t, fmt.Sprintf(`create function public.stop() returns trigger language plpgsql as
				$$ begin perform pg_advisory_xact_lock(7); return coalesce(new, old); end $$;
				create trigger stop %s for each row execute function public.stop()`, moment))
			ended := make(chan error, 1)
			go func() {
				_, err := v.retry(ctx, seq)
				ended <- err
			}()
			wait.Until(t, func() bool {
				return v.Number(ctx, t, `select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and objid = 7 and not granted
					and database = (select oid from pg_database where datname = current_database())`) > 0
			})
			require.ErrorContains(t, <-ended, "was not tried again")
			require.Equal(t, before, v.rows(ctx, t))

			_, err = holder.Exec(ctx, "select pg_advisory_unlock(7)")
			require.NoError(t, err)
			done, err := v.retry(ctx, seq)
			require.NoError(t, err)
			require.Equal(t, "applied", done.Outcome)
			v.execute(ctx, t, "drop function public.stop() cascade")
			v.requireHolds(ctx, t)
		})
	}
}

// New purchases of the same customer arrive meanwhile.
func TestAnEventIsTriedAgainWhileLiveWorkGoesOn(t *testing.T) {
	t.Parallel()
	ctx, v, seq := setupQuarantined(t)
	v.execute(ctx, t, "alter table portal.credit_ledger drop constraint theirs")
	stop := v.Start(ctx, t, 100)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for i := range 100 {
			v.World.Log.Deliver(t, fixture.Pack(fmt.Sprint("more", i), fmt.Sprint("pm", i), "u1", 1))
		}
	}()
	done, err := v.retry(ctx, seq)
	require.NoError(t, err)
	require.Equal(t, "applied", done.Outcome)
	<-delivered
	v.WaitApplied(ctx, t)
	require.NoError(t, stop())
	v.requireHolds(ctx, t)
}

// The verification has folded the log without the event.
func TestNoEventIsTriedAgainBesideAVerification(t *testing.T) {
	t.Parallel()
	ctx, v, seq := setupQuarantined(t)
	unlock, err := v.scratch.LockSchema(ctx)
	require.NoError(t, err)
	before := v.rows(ctx, t)
	_, err = v.retry(ctx, seq)
	require.ErrorContains(t, err, "another command works on schema portal_verify")
	require.Equal(t, before, v.rows(ctx, t))
	unlock()
}

// Only a rebuild has seen the event so far.
func TestAnEventThatTheLiveTablesHaveNotReachedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 20)
	v.World.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 5))
	seq := v.Head(ctx, t)
	v.execute(ctx, t, fmt.Sprintf("insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, %d, 'refused' from payfold.schema_state", seq))
	_, err := v.retry(ctx, seq)
	require.ErrorContains(t, err, "the live tables have not reached it yet")
	require.EqualValues(t, 1, v.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
}

func TestLaterFoldsHaveTheEventThatWasTriedAgain(t *testing.T) {
	t.Parallel()
	ctx, v, seq := setupQuarantined(t)
	v.execute(ctx, t, "alter table portal.credit_ledger drop constraint theirs")
	_, err := v.retry(ctx, seq)
	require.NoError(t, err)
	after := v.Rebuild(t, v.Open(ctx, t, "after_retry"), 0)
	require.NoError(t, after.Run(ctx, v.Head(ctx, t)))
	v.RequireSame(ctx, t, store.LiveSchema, "after_retry")
}
