package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/world"
)

// outages are ways in which a database refuses every event. It is repaired after it has refused a number of rows.
var outages = map[string]string{
	"at the row":    "create trigger outage before insert on processed_event for each row execute function public.outage()",
	"by a check":    "alter table processed_event add constraint outage check (public.refuses_no_more())",
	"at the commit": "create constraint trigger outage after insert on processed_event deferrable initially deferred for each row execute function public.outage()",
}

const makeOutage = `
	create sequence if not exists public.refused; -- a rollback does not set it back
	create table if not exists public.repaired_after (refusals bigint not null);
	create or replace function public.refuses_no_more() returns boolean language sql volatile as
		'select nextval(''public.refused'') > (select refusals from public.repaired_after)';
	create or replace function public.outage() returns trigger language plpgsql as
		$$ begin if not public.refuses_no_more() then raise exception 'not now'; end if; return new; end $$;`

// beginOutage makes the database refuse events until it has refused this many rows.
func beginOutage(ctx context.Context, t require.TestingT, s *store.Store, outage string, refusals int) {
	_, err := s.Pool().Exec(ctx, fmt.Sprintf(`%s drop trigger if exists outage on processed_event;
		alter table processed_event drop constraint if exists outage; delete from public.repaired_after; delete from payfold.quarantined_event;
		insert into public.repaired_after values (%d); alter sequence public.refused restart; %s`, makeOutage, refusals, outage))
	require.NoError(t, err)
}

// applyUntilTaken applies the messages as a projector does, which begins again after each error.
func applyUntilTaken(ctx context.Context, t *testing.T, r require.TestingT, s *store.Store, batch ...events.Message) (failed int) {
	for ; ; failed++ {
		at, err := s.Positions(ctx)
		require.NoError(r, err)
		if at[0] == batch[len(batch)-1].Seq {
			return failed
		}
		var left []events.Message
		for _, m := range batch {
			if m.Seq > at[0] {
				left = append(left, m)
			}
		}
		if err := followerAt(t, s, fixture.AnyMode, at[0]).ApplyLast(ctx, left...); err != nil {
			require.ErrorContains(r, err, "the events are not the cause")
		}
	}
}

// The number of refused rows says at which moment the database is repaired: between the refusals of a batch, of an
// event alone and of its rejection, or in the middle of the transaction that finds the cause.
func TestARepairAtAnyMomentLeavesNoEventQuarantined(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			failures := 0
			for refusals := range 14 {
				fixture.Reset(ctx, t, s, fixture.AnyMode)
				beginOutage(ctx, t, s, outage, refusals)
				failures += applyUntilTaken(ctx, t, t, s, message(1, fixture.Pack("e1", "p1", "u1", 1)), message(2, fixture.Pack("e2", "p2", "u1", 2)),
					message(3, fixture.Pack("e3", "p3", "u1", 4)))
				require.Zero(t, fixture.Number(ctx, t, s, "select count(*) from payfold.quarantined_event"), "repaired after %d refusals", refusals)
				require.EqualValues(t, 7, fixture.Number(ctx, t, s, "select balance from credits"))
				require.Greater(t, fixture.Number(ctx, t, s, "select last_value from public.refused"), int64(refusals))
			}
			require.Positive(t, failures)
		})
	}
}

// Some events are refused for what they are, by a database that for a while refuses every event.
func TestOnlyTheRefusedEventsAreQuarantined(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `alter table payment_facts add constraint theirs check (credits <> 13);
		create function public.unlucky() returns trigger language plpgsql as $$ begin raise exception 'unlucky'; end $$;
		create constraint trigger unlucky after insert on payment_facts deferrable initially deferred
			for each row when (new.credits = 17) execute function public.unlucky()`)
	require.NoError(t, err)
	rapid.Check(t, func(r *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		beginOutage(ctx, r, s, outages[rapid.SampledFrom([]string{"at the row", "by a check", "at the commit"}).Draw(r, "outage")], rapid.IntRange(0, 20).Draw(r, "refusals"))
		var batch []events.Message
		var refused, sum int64
		for i, credits := range rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 13, 17}), 1, 8).Draw(r, "credits") {
			batch = append(batch, message(i+1, fixture.Pack(fmt.Sprint("e", i), fmt.Sprint("p", i), "u1", credits)))
			if credits > 10 {
				refused++
			} else {
				sum += int64(credits)
			}
		}
		applyUntilTaken(ctx, t, r, s, batch...)
		require.Equal(r, sum, fixture.Number(ctx, t, s, "select coalesce(sum(balance), 0)::bigint from credits"))
		require.Equal(r, refused, fixture.Number(ctx, t, s, "select count(*) from payfold.quarantined_event where error ~ 'theirs|unlucky'"))
		require.Equal(r, refused, fixture.Number(ctx, t, s, "select count(*) from payfold.quarantined_event join processed_event using (stream_seq) where reason = 'internal'"))
		fixture.RequireSound(ctx, r, s, len(batch))
	})
}

// Somebody adds and drops a constraint that refuses everything, again and again.
func TestAConstraintThatComesAndGoesQuarantinesNothing(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e0", "p0", "u1", 1))
	w.WaitApplied(ctx, t)
	const purchases = 200
	for i := 1; i <= purchases; i++ {
		w.Log.Deliver(t, fixture.Pack(fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i), "u1", 1))
		for _, change := range []string{"add constraint nothing check (false) not valid", "drop constraint nothing"} {
			_, err := w.DB.Exec(ctx, "alter table portal.processed_event "+change)
			require.NoError(t, err)
		}
	}
	w.WaitApplied(ctx, t)
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
	require.EqualValues(t, purchases+1, w.Number(ctx, t, "select balance from portal.credits"))
}

// The rules cannot fold one event. That needs no database that refuses anything.
func TestAnEventOnWhichTheRulesPanicIsQuarantined(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	panicking := projections.Rules{Mode: projections.ModeAny, Extras: []string{"no such projection"}}
	fixture.Reset(ctx, t, s, panicking)
	f := follower(t, s, panicking)
	require.NoError(t, f.ApplyLast(ctx, message(1, fixture.Pack("e1", "p1", "u1", 1)), message(2, fixture.Pack("e1", "p1", "u1", 1))))
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select stream_seq from payfold.quarantined_event where error like 'the rules panicked: %'"))
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from processed_event where reason = 'internal'"))
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from duplicate_event"))
}

// Otherwise a constraint could come after the rejection was taken, and refuse the event.
func TestTheTablesAreLockedWhileTheCauseIsFound(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `create function public.refuse() returns trigger language plpgsql as $$ begin
		raise exception 'locked: %', (select string_agg(relation::regclass::text, ' ' order by relation::regclass::text) from pg_locks
			where pid = pg_backend_pid() and mode = 'RowExclusiveLock' and relation in (select oid from pg_class where relkind = 'r' and relnamespace = 'portal'::regnamespace));
		end $$;
		create trigger refuse before insert on payment_facts for each row execute function public.refuse()`)
	require.NoError(t, err)
	require.NoError(t, follower(t, s, fixture.AnyMode).ApplyLast(ctx, message(1, fixture.Pack("e1", "p1", "u1", 1))))
	var said string
	require.NoError(t, s.Pool().QueryRow(ctx, "select error from payfold.quarantined_event").Scan(&said))
	for _, table := range tables.NameList() {
		require.Contains(t, said, table)
	}
}
