package endtoend

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// setupCandidate is setup with a candidate schema, portal_next.
func setupCandidate(t *testing.T) *world {
	t.Helper()
	w := setup(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.promote(t, "rebuild", "--promote")
	w.run(t, "rebuild")
	return w
}

// liveTables identifies the tables that are live.
func (w *world) liveTables(t *testing.T) int64 {
	t.Helper()
	return mustQuery[int64](t, w.database, "select 'portal.credits'::regclass::oid::bigint")
}

func TestACommandWithoutADatabaseSaysSoBeforeItWaitsForTheLog(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"promote", "portal_prev"}, {"rebuild"}} {
		p := testenv.Start(t, "projector", []string{"DATA_DIR=" + t.TempDir(), "DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, command...)
		require.Equal(t, 1, p.Exit(t), p.Output())
		require.Contains(t, p.Output(), "the database does not answer")
		require.NotContains(t, p.Output(), "not connected to the log")
	}
}

func TestACommandThatWaitsForTheLogSaysSo(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, and says nothing
	require.NoError(t, err)
	defer silent.Close()
	dir := t.TempDir()
	log := []string{"DATA_DIR=" + dir, "NATS_URL=nats://" + silent.Addr().String()}
	rebuild := testenv.Start(t, "projector", append(log, "DATABASE_URL="+testenv.Database(t)), "rebuild")
	archive := testenv.Start(t, "ingest", append(log, "ARCHIVE_URL="+filepath.Join(dir, "archive")), "archive")
	rebuild.WaitFor(t, "the log does not answer yet")
	archive.WaitFor(t, "the log does not answer yet")
}

func TestARepeatedPromotionReportsTheFirstOne(t *testing.T) {
	t.Parallel()
	w := setupCandidate(t)
	require.Contains(t, w.promote(t, "promote", "portal_next", "--json"), `"promoted_before":false`)
	live := w.liveTables(t)
	require.Contains(t, w.promote(t, "promote", "portal_next"), "portal_next is live as portal since 20")
	require.Contains(t, w.promote(t, "promote", "portal_next", "--json"), `"promoted_before":true`)
	require.Equal(t, live, w.liveTables(t))
	w.requireRefused(t, "no such schema", "promote", "portal_nxt")
	w.requireRefused(t, "live already", "promote", "portal")

	other := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database, "PROVIDER_MODE=live"), "promote", "portal_next")
	require.Equal(t, 1, other.Exit(t), other.Output())
	require.Contains(t, other.Output(), `mode any`)

	w.run(t, "rebuild")
	require.Contains(t, w.promote(t, "promote", "portal_next", "--json"), `"promoted_before":false`, "a new schema with the same name")
	w.promote(t, "promote", "portal_prev")
	require.Equal(t, live, w.liveTables(t))
	require.Contains(t, w.promote(t, "promote", "portal_prev", "--json"), `"promoted_before":false`, "the tables before, once more")
	require.NotEqual(t, live, w.liveTables(t))
	before := w.liveTables(t)
	w.promote(t, "rebuild", "--promote")
	require.NotEqual(t, before, w.liveTables(t), "the rebuild runs again")
}

// holdCommit makes the commit of a promotion wait until release is called: a trigger that
// runs at the commit waits for a lock.
func (w *world) holdCommit(t *testing.T) (release func()) {
	t.Helper()
	execute(t, w.database, `create function public.hold() returns trigger language plpgsql as $$
		begin perform set_config('lock_timeout', '0', true); perform pg_advisory_xact_lock(42); return null; end $$;
		create constraint trigger hold after update of promoted_from on payfold.schema_state deferrable initially deferred for each row execute function public.hold()`)
	holder, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	_, err = holder.Exec(t.Context(), "select pg_advisory_lock(42)")
	require.NoError(t, err)
	return func() {
		require.NoError(t, holder.Close(context.Background()))
		execute(t, w.database, "drop trigger hold on payfold.schema_state")
	}
}

// committing selects the session that waits in the trigger; 0: none.
const committing = "select coalesce((select pid from pg_locks where locktype = 'advisory' and objid = 42 and not granted and database = (select oid from pg_database where datname = current_database())), 0)"

// awaitCommit waits until the commit is held and returns its session.
func (w *world) awaitCommit(t *testing.T) (session int64) {
	t.Helper()
	wait.Until(t, func() bool {
		session = mustQuery[int64](t, w.database, committing)
		return session != 0
	}, "the commit")
	return session
}

// The network is cut while the database commits, and restored after the commit.
func TestAPromotionThatLosesItsAnswerFindsTheResult(t *testing.T) {
	t.Parallel()
	for command, commits := range map[string]bool{"promote portal_next": true, "promote portal_prev": true, "rebuild --promote": true, "promote portal_next ": false} {
		t.Run(fmt.Sprint(command, " commits: ", commits), func(t *testing.T) {
			t.Parallel()
			w := setupCandidate(t)
			proxy, dsn := network.ToDatabase(t, w.database)
			release, before := w.holdCommit(t), w.liveTables(t)
			p := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+dsn), strings.Fields(command)...)
			session := w.awaitCommit(t)
			proxy.Cut()
			if !commits {
				mustQuery[bool](t, w.database, "select pg_terminate_backend($1)", session)
			}
			release()
			wait.Until(t, func() bool { return mustQuery[int64](t, w.database, committing) == 0 }, "the commit")
			proxy.Restore(t)
			if !commits {
				require.Equal(t, 1, p.Exit(t), p.Output())
				require.Contains(t, p.Output(), "not promoted")
				require.Equal(t, before, w.liveTables(t))
				return
			}
			require.Zero(t, p.Exit(t), p.Output())
			require.Contains(t, p.Output(), "is live as portal")
			require.NotEqual(t, before, w.liveTables(t))
		})
	}
}

// The command is killed while the database commits, and run again before the commit ends.
func TestAPromotionThatIsKilledAtItsCommitIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"promote", "portal_next"}, {"promote", "portal_prev"}, {"rebuild", "--promote"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			w := setupCandidate(t)
			if args[1] == "portal_prev" { // of tables that were promoted before
				w.promote(t, args...)
			}
			release, before := w.holdCommit(t), w.liveTables(t)
			first := w.command(t, args...)
			w.awaitCommit(t)
			first.Kill()
			second := w.command(t, args...)
			wait.Until(t, func() bool {
				return mustQuery[int64](t, w.database, `select count(*) from pg_locks where not granted and objid is distinct from 42
					and database = (select oid from pg_database where datname = current_database())`) > 0
			}, "the second command waits")
			release()
			require.Zero(t, second.Exit(t), second.Output())
			require.Contains(t, second.Output(), "Nothing is left to do")
			live := w.liveTables(t)
			require.NotEqual(t, before, live)
			require.EqualValues(t, before, mustQuery[int64](t, w.database, "select 'portal_prev.credits'::regclass::oid::bigint"), "the tables before are kept")
		})
	}
}
