package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/history"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// command starts a command of the projector, with the secret that signed the deliveries.
func (w *world) command(t testing.TB, args ...string) *testenv.Program {
	t.Helper()
	return testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database, "PROVIDER_WEBHOOK_SECRET="+secret), args...)
}

// run runs a command that must succeed, and returns its output.
func (w *world) run(t testing.TB, args ...string) string {
	t.Helper()
	p := w.command(t, args...)
	require.Zero(t, p.Exit(t), p.Output())
	return p.Output()
}

// promote runs a command that promotes, again while the machine is busy, and returns its
// output.
func (w *world) promote(t testing.TB, args ...string) string {
	t.Helper()
	return testenv.Promote(t, func() *testenv.Program { return w.command(t, args...) })
}

// requireRefused runs a command that must fail with this reason.
func (w *world) requireRefused(t testing.TB, reason string, args ...string) {
	t.Helper()
	p := w.command(t, args...)
	require.Equal(t, 1, p.Exit(t), p.Output())
	require.Contains(t, p.Output(), reason)
}

// readPace is the pause of a watch between two reads. It leaves the cores to the programs that are tested.
const readPace = 5 * time.Millisecond

// watch reads the sum of all balances again and again, in transactions of that isolation level. It
// fails if the sum gets smaller. stop ends it and returns the error.
func (w *world) watch(t *testing.T, level pgx.TxIsoLevel) (stop func() error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "prepare balance as select coalesce(sum(balance), 0)::bigint from credits")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer conn.Close(context.Background())
		last, reads := int64(0), 0
		for ctx.Err() == nil {
			err := pgx.BeginTxFunc(context.Background(), conn, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				for range 3 {
					var prepared, direct, spendable int64
					err := tx.QueryRow(context.Background(), "execute balance", pgx.QueryExecModeSimpleProtocol).Scan(&prepared)
					if err != nil {
						return err
					}
					err = tx.QueryRow(context.Background(), "select coalesce(sum(balance), 0)::bigint, (select coalesce(sum(balance), 0)::bigint from credit_balance) from credits").
						Scan(&direct, &spendable)
					if err != nil {
						return err
					}
					if prepared < last || direct < prepared || spendable < last {
						return fmt.Errorf("after %d reads: %d, then %d prepared, %d direct, %d spendable", reads, last, prepared, direct, spendable)
					}
					last = direct
					reads++
					time.Sleep(readPace)
				}
				return nil
			})
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

func TestTablesAreRebuiltAndPromotedUnderLoad(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t, shortLease, "BATCH_SIZE=20")
	w.startProjector(t, shortLease)
	w.awaitShares(t, 2)
	load := startLoad(t, w, slowPace)
	load.await(t, maxBetween)
	endHistory := history.Follow(t, "an app", w.database)
	var watches []func() error
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		watches = append(watches, w.watch(t, level))
	}
	require.Contains(t, w.promote(t, "rebuild", "--promote"), "portal_next is live as portal")
	load.await(t, maxBetween)
	require.Contains(t, w.promote(t, "promote", "portal_prev"), "portal_prev is live as portal")
	w.run(t, "rebuild")
	load.await(t, maxBetween)
	w.promote(t, "rebuild", "--promote")
	load.await(t, maxBetween)
	for _, stop := range watches {
		require.NoError(t, stop())
	}
	load.finish(t, w)
	endHistory()
	w.requireOneFold(t)
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from payfold.quarantined_event"))
}

func TestARebuildThatIsKilledCanBeRunAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t, shortLease)
	load := startLoad(t, w, slowPace)
	load.await(t, maxBetween)
	for range 5 {
		killed := w.command(t, "rebuild", "--promote")
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // a random moment for the kill
		killed.Kill()
		load.await(t, 10)
	}
	w.promote(t, "rebuild", "--promote")
	load.finish(t, w)
	w.requireOneFold(t)
}

func TestARebuildMakesTheTablesAsOfASequenceOrATime(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10), pack("evt_2", "pay_2", "u_1", 5))
	w.awaitProjected(t)
	moment := time.Now()
	w.deliver(t, pack("evt_3", "pay_3", "u_1", 1))
	w.awaitProjected(t)
	require.Contains(t, w.run(t, "rebuild", "--until-seq", "1", "--schema", "first"), "as of seq 1")
	require.Contains(t, w.run(t, "rebuild", "--until", moment.Format(time.RFC3339Nano), "--schema", "second"), "as of seq 2")
	require.Contains(t, w.run(t, "rebuild", "--until-seq", "0", "--schema", "zero"), "as of seq 0")
	w.run(t, "rebuild", "--until-seq", "1", "--schema", "first") // it exists already
	require.True(t, mustQuery[bool](t, w.database, "select to_regclass('first.processed_event_stream_seq') is not null"), "people look at it")
	for schema, balance := range map[string]int64{"first": 10, "second": 15, "portal": 16, "zero": 0} {
		require.Equal(t, balance, mustQuery[int64](t, w.database, "select coalesce(sum(balance), 0)::bigint from "+schema+".credits"), schema)
	}
	w.requireRefused(t, "as of seq 1", "promote", "first")
	require.EqualValues(t, 10, mustQuery[int64](t, w.database, "select balance from first.credits"), "still as of seq 1")
	w.requireRefused(t, "projector drop first", "rebuild", "--until-seq", "2", "--schema", "first")
	w.requireRefused(t, "live already", "promote", "portal")
	w.requireRefused(t, "is live", "drop", "portal")
	w.requireRefused(t, "no such schema", "promote", "nothing")
	w.requireRefused(t, "no such schema", "drop", "payfold")
	w.requireRefused(t, "the log ends at seq 3", "rebuild", "--until-seq", "4", "--schema", "fourth")
	require.Equal(t, 2, w.command(t, "rebuild", "--schema", `x"; drop schema portal`).Exit(t))
	require.Equal(t, 2, w.command(t, "rebuild", "--until-seq", "1", "--promote").Exit(t))
	require.Equal(t, 2, w.command(t, "rebuild", "--until", "2999-01-01T00:00:00Z", "--schema", "fourth").Exit(t))
	list := w.run(t, "status")
	for _, schema := range []string{"first", "second", "zero", "portal"} {
		require.Regexp(t, `(?m)^  `+schema+` +rules `, list)
	}
	require.NotContains(t, list, "fourth", "nothing is begun for a message that is not there")
	w.run(t, "drop", "first")
	require.NotRegexp(t, `(?m)^  first +rules `, w.run(t, "status"))
}

func TestACommandThatWaitsForALockNamesItsSession(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.promote(t, "rebuild", "--promote")
	w.run(t, "rebuild")
	config, err := pgx.ParseConfig(w.database)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "psql"
	holder, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer holder.Close(context.Background())
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "lock table portal.checkpoint, portal_next.checkpoint")
	require.NoError(t, err)
	waiting := []*testenv.Program{w.command(t, "drop", "portal_next"), w.command(t, "settle"), w.command(t, "verify")}
	for _, p := range waiting {
		p.WaitFor(t, fmt.Sprintf("pid %d (psql) of ", holder.PgConn().PID()))
	}
	require.NoError(t, tx.Rollback(t.Context()))
	for _, p := range waiting {
		require.Zero(t, p.Exit(t), p.Output())
	}
}

func TestASecondCommandOnASchemaWaitsAndThenFails(t *testing.T) {
	t.Parallel()
	w := setup(t)
	holder := w.blockRebuild(t)
	first := w.command(t, "rebuild")
	w.awaitBlocked(t)
	second, dropping, third := w.command(t, "rebuild"), w.command(t, "drop", "portal_next"), w.command(t, "rebuild", "--schema", "other")
	require.Zero(t, third.Exit(t), third.Output())
	for _, p := range []*testenv.Program{second, dropping} {
		require.Equal(t, 1, p.Exit(t), p.Output())
		require.Contains(t, p.Output(), "another command works on schema portal_next")
	}
	waits := w.command(t, "rebuild")
	require.NoError(t, holder.Close(context.Background()))
	for _, p := range []*testenv.Program{first, waits} {
		require.Zero(t, p.Exit(t), p.Output())
	}
}

// blockRebuild makes the next rebuild wait at its second event until the returned
// connection is closed.
func (w *world) blockRebuild(t *testing.T) *pgx.Conn {
	t.Helper()
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.run(t, "rebuild")
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 5))
	holder, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	_, err = holder.Exec(t.Context(), "begin; lock table portal_next.processed_event in share mode")
	require.NoError(t, err)
	return holder
}

// awaitBlocked waits until the rebuild is blocked.
func (w *world) awaitBlocked(t *testing.T) {
	t.Helper()
	wait.Until(t, func() bool {
		return mustQuery[bool](t, w.database, "select exists (select from pg_locks where not granted and relation = 'portal_next.processed_event'::regclass)")
	})
}

func TestCtrlCKeepsWhatIsBuilt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	holder := w.blockRebuild(t)
	p := w.command(t, "rebuild")
	w.awaitBlocked(t)
	p.Signal(syscall.SIGINT)
	require.Equal(t, 1, p.Exit(t), p.Output())
	require.Contains(t, p.Output(), "interrupted; portal_next holds everything up to seq 1, and the same command goes on from there")
	require.NoError(t, holder.Close(context.Background()))
	require.Contains(t, w.run(t, "rebuild"), "up to seq 2")
	require.EqualValues(t, 15, mustQuery[int64](t, w.database, "select balance from portal_next.credits"))
}

// Only a rebuild has less priority. Live projection may have to wait for a promotion, so a
// promotion has not.
func TestARebuildHasLessPriority(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.blockRebuild(t)
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	priority := func(p *testenv.Program) int {
		priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, p.Pid())
		require.NoError(t, err)
		return priority
	}
	promote := w.command(t, "promote", "portal_next")
	w.awaitBlocked(t)
	require.Equal(t, own, priority(promote))
	promote.Kill()
	rebuild := w.command(t, "rebuild")
	wait.Until(t, func() bool { return priority(rebuild) == min(own, 15) }) // niceness 5; Linux returns 20 minus it
}

// Projectors with new rules start beside old ones. The promotion stops the old ones, and a
// promotion back stops the new ones.
func TestANewBuildIsDeployedAndRolledBack(t *testing.T) {
	t.Parallel()
	binary := otherBuild(t)
	w := setup(t)
	newly := func(args ...string) *testenv.Program {
		return testenv.StartCommand(t, exec.Command(binary, args...), append(w.env(), "DATABASE_URL="+w.database, shortLease))
	}
	ready := func(p *testenv.Program) string {
		return "http://" + attribute(p.WaitFor(t, adminLine), "admin_addr") + "/readyz"
	}
	becomes := func(url string, status int) {
		wait.Until(t, func() bool { return statusOf(t, url) == status }, "%s is not %d", url, status)
	}
	first, second := w.startProjector(t, shortLease), w.startProjector(t, shortLease)
	oldReady := ready(first)
	w.awaitShares(t, 2)
	load := startLoad(t, w, slowPace)
	load.await(t, maxBetween)

	third := newly()
	third.WaitFor(t, "projector rebuild --promote")
	newReady := ready(third)
	becomes(newReady, 503)
	w.requireRefused(t, "no such schema", "promote", "portal_next")
	built := newly("rebuild")
	require.Zero(t, built.Exit(t), built.Output())
	w.requireRefused(t, `this command has "rules `+projections.RulesVersion, "promote", "portal_next")
	w.requireRefused(t, "projector drop portal_next", "rebuild")
	testenv.Promote(t, func() *testenv.Program { return newly("rebuild", "--promote") })
	for _, p := range []*testenv.Program{first, second} {
		p.WaitFor(t, "projector rebuild --promote")
	}
	becomes(oldReady, 503)
	becomes(newReady, 200)
	w.awaitShares(t, 1)
	load.await(t, maxBetween)
	require.Equal(t, "rules next, mode any", mustQuery[string](t, w.database, "select fold_id from payfold.schema_state where schema_name = 'portal'"))

	// A migration that the old build does not know. Migrations only add.
	execute(t, w.database, "create table payfold.of_a_newer_build (x int); update payfold.schema_version set version = version + 1")
	back := newly("promote", "portal_prev")
	require.Equal(t, 1, back.Exit(t), back.Output())
	require.Contains(t, back.Output(), `folded under "rules `+projections.RulesVersion)
	w.promote(t, "promote", "portal_prev")
	becomes(oldReady, 200)
	becomes(newReady, 503)
	w.awaitShares(t, 2)
	load.finish(t, w)
	w.requireOneFold(t)
}

func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	_, err = connection.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func TestARebuildAppliesAChangedCatalogue(t *testing.T) {
	t.Parallel()
	w := setup(t)
	file := filepath.Join(t.TempDir(), "catalogue.yaml")
	sells := func(credits int) {
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "version: 1\nproducts:\n  pack: {kind: one_time, credits: %d}\n", credits), 0o600))
	}
	sells(3)
	w.startProjector(t, "CATALOGUE_FILE="+file)
	w.deliver(t, `{"id":"evt_1","eventType":"checkout.completed","object":{"provider_payment_id":"pay_1","metadata":{"kind":"one_time","user_id":"u_1","product_key":"pack"}}}`)
	w.awaitProjected(t)
	sells(4)
	require.Contains(t, w.promote(t, "rebuild", "--promote", "--json", "--catalogue-file", file), `"name":"portal"`)
	require.EqualValues(t, 4, mustQuery[int64](t, w.database, "select balance from portal.credits"))
}

func TestARebuildFillsAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.promote(t, "rebuild", "--promote")
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 5))
	w.startProjector(t)
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	require.EqualValues(t, 15, mustQuery[int64](t, w.database, "select balance from portal.credits"))
}
