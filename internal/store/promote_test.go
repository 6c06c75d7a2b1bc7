package store

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// apply folds the events up to that one which the tables don't hold yet; event i
// grants u1 one credit.
func apply(ctx context.Context, t *testing.T, s *Store, until uint64) {
	t.Helper()
	checkpoints, err := s.Checkpoints(ctx)
	require.NoError(t, err)
	at, from := checkpoints[0].Position, map[int]uint64{}
	for _, c := range checkpoints {
		from[c.Partition] = c.Position
	}
	var batch []events.Event
	for seq := at + 1; seq <= until; seq++ {
		batch = append(batch, event(t, seq, pack(fmt.Sprintf("e%d", seq), fmt.Sprintf("p%d", seq), "u1", 1)))
	}
	if len(batch) > 0 {
		_, err = s.Apply(ctx, anyMode, batch, Advance{LogID: "log-1", From: from, To: until})
		require.NoError(t, err)
	}
}

// beside returns a candidate with the first events in it.
func beside(ctx context.Context, t *testing.T, s *Store, until uint64) *Store {
	t.Helper()
	next, err := s.Beside(ctx, "portal_next")
	require.NoError(t, err)
	t.Cleanup(next.Close)
	require.NoError(t, next.Prepare(ctx, "log-1", partitions, anyMode))
	apply(ctx, t, next, until)
	return next
}

func promotion(t *testing.T, next *Store) Promotion {
	return Promotion{FoldID: anyMode.FoldID(), CatchUp: func(ctx context.Context, head uint64) error {
		apply(ctx, t, next, head)
		return nil
	}}
}

func TestPromoteCatchesUpAndExchanges(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 5)
	next := beside(ctx, t, s, 3)
	require.NoError(t, next.Promote(ctx, promotion(t, next)))
	require.EqualValues(t, 5, number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 5, number(ctx, t, s, "select balance from portal_prev.credits"))
	require.ErrorIs(t, next.Promote(ctx, promotion(t, next)), ErrNoSchema)

	apply(ctx, t, s, 7)
	previous, err := s.Beside(ctx, PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.NoError(t, previous.Promote(ctx, promotion(t, previous)))
	require.EqualValues(t, 7, number(ctx, t, s, "select balance from portal.credits"))
	apply(ctx, t, s, 8)

	again := beside(ctx, t, s, 0)
	require.NoError(t, again.Promote(ctx, promotion(t, again)))
	schemas, err := s.Schemas(ctx)
	require.NoError(t, err)
	var names []string
	for _, schema := range schemas {
		names = append(names, fmt.Sprint(schema.Name, " ", schema.Position))
	}
	require.Equal(t, []string{"portal 8", "portal_prev 8"}, names)
}

func TestPromoteIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for reason, sql := range map[string]string{
		"as of seq 3":                     "update payfold.schema_state set until_seq = 3 where schema_name = 'portal_next'",
		`folded under "other"`:            "update payfold.schema_state set fold_id = 'other' where schema_name = 'portal_next'",
		"log log-2":                       "update payfold.schema_state set log_id = 'log-2' where schema_name = 'portal_next'",
		"2 partitions of portal_next are": "update portal.checkpoint set position = 9 where partition > 1",
		"view reports.totals":             "create view reports.totals as select sum(balance) from portal.credits",
		"view reports.spendable":          "create view reports.spendable as select * from portal.credit_balance",
		`view public."inner", view repo`:  "create view public.inner as select * from portal.payment; create view reports.of_view as select * from public.inner; create view portal_next.x as select 1; create table portal.x (y int); create view reports.z as select * from portal.x",
		"materialized view reports.kept":  "create materialized view reports.kept as select user_id from portal.credits",
		"constraint theirs on table":      "create table reports.spent (payment text constraint theirs references portal.payment)",
		"function reports.sum()":          "create function reports.sum() returns bigint begin atomic select sum(balance)::bigint from portal.credits; end",
		"function reports.of_row(":        "create function reports.of_row(portal.credits) returns bigint language sql as 'select 1::bigint'",
		"table reports.rows":              "create table reports.rows (row portal.credits)",
		"table reports.ruled":             "create table reports.ruled (x int); create rule r as on insert to reports.ruled do also delete from portal.reversal",
		"trigger theirs on table":         "create function reports.f() returns trigger language plpgsql as 'begin return new; end'; create trigger theirs after insert on portal.credits for each row execute function reports.f()",
		"policy theirs on table":          "create policy theirs on portal.credits using (true)",
		"publication theirs":              "create publication theirs for table portal.credits",
		"table portal.notes":              "create table portal.notes (note text)",
		"function portal.inside()":        "create function portal.inside() returns int language sql as 'select 1'",
		"type portal.theirs":              "create type portal.theirs as enum ('a')",
		"is not payfold's":                "create schema portal_prev; create table portal_prev.precious (x int)",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ctx, s := setup(t)
			apply(ctx, t, s, 4)
			next := beside(ctx, t, s, 4)
			_, err := s.pool.Exec(ctx, "create schema reports; "+sql)
			require.NoError(t, err)
			var oid uint32
			require.NoError(t, s.pool.QueryRow(ctx, "select 'portal'::regnamespace::oid").Scan(&oid))
			err = next.Promote(ctx, Promotion{FoldID: anyMode.FoldID(), CatchUp: func(context.Context, uint64) error { return nil }})
			require.ErrorIs(t, err, ErrNotPromoted)
			require.ErrorContains(t, err, reason)
			require.EqualValues(t, oid, number(ctx, t, s, "select 'portal'::regnamespace::oid::bigint"))
		})
	}
}

// A view of somebody's on the tables that were live before is not dropped with them.
func TestPromoteDropsNothingOfOthers(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	next := beside(ctx, t, s, 0)
	require.NoError(t, next.Promote(ctx, promotion(t, next)))
	_, err := s.pool.Exec(ctx, "create view public.theirs as select * from portal_prev.credits")
	require.NoError(t, err)
	again := beside(ctx, t, s, 0)
	require.ErrorContains(t, again.Promote(ctx, promotion(t, again)), "view public.theirs")
	previous, err := s.Beside(ctx, PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	require.ErrorContains(t, previous.Drop(ctx), "view public.theirs")
	require.ErrorIs(t, s.Drop(ctx), ErrLive)
}

// Whoever has the tables of a name may lose nothing to a rebuild under that name.
func TestASchemaThatIsNotPayfoldsIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.pool.Exec(ctx, "create schema reports; create table reports.precious (x int); create schema free")
	require.NoError(t, err)
	reports, err := s.Beside(ctx, "reports")
	require.NoError(t, err)
	defer reports.Close()
	require.ErrorContains(t, reports.Prepare(ctx, "log-1", partitions, anyMode), "not payfold's")
	require.ErrorIs(t, reports.Drop(ctx), ErrNoSchema)
	free, err := s.Beside(ctx, "free")
	require.NoError(t, err)
	defer free.Close()
	require.NoError(t, free.Prepare(ctx, "log-1", partitions, anyMode))
	require.NoError(t, free.Drop(ctx))
	require.Zero(t, number(ctx, t, s, "select count(*) from reports.precious"))
}

func TestHostileNamesAreNoSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "portal", "portal_prev", "portal_aside", "portal_verify", "payfold", "public", "information_schema", "pg_temp", "pg_x", "Portal_next", "a b",
		`x"; drop schema portal cascade; --`, "x'y", "x.y", "é", "1x", "x\x00", fmt.Sprintf("%0*d", 61, 0), "x\n",
	} {
		require.Error(t, CheckName(name), "%q", name)
	}
	for _, name := range []string{"select", "user", "table", "_", "portal_next", "as_of_2026", "x1"} {
		require.NoError(t, CheckName(name), name)
	}
	ctx, s := setup(t)
	for _, name := range []string{"select", "user", `x"; drop schema portal cascade; --`} {
		odd, err := s.Beside(ctx, name)
		require.NoError(t, err)
		defer odd.Close()
		require.ErrorIs(t, odd.Drop(ctx), ErrNoSchema)
		require.NoError(t, odd.Prepare(ctx, "log-1", partitions, anyMode))
		bulk, err := odd.NewBulk(ctx, anyMode, 1, nil)
		require.NoError(t, err)
		folded, saved := bulk.Fold(ctx, []events.Event{event(t, 1, pack("e1", "p1", "u1", 1))}), bulk.Save(ctx, 1, nil)
		bulk.Close()
		require.NoError(t, folded)
		require.NoError(t, saved)
		require.NoError(t, odd.Promote(ctx, promotion(t, odd)))
		require.EqualValues(t, 1, number(ctx, t, s, "select balance from portal.credits"))
		_, err = s.pool.Exec(ctx, "delete from payfold.schema_state where schema_name = 'portal_prev'; drop schema portal_prev cascade")
		require.NoError(t, err)
	}
}

// connect opens a session of its own.
func connect(ctx context.Context, t *testing.T, s *Store, settings ...string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(s.config.DSN)
	require.NoError(t, err)
	for i := 0; i < len(settings); i += 2 {
		config.RuntimeParams[settings[i]] = settings[i+1]
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// makingRoles: roles are the server's, which all tests of the package share.
var makingRoles sync.Mutex

// asProjector opens the database as deploy/postgres makes its roles.
func asProjector(ctx context.Context, t *testing.T) (*Store, string) {
	t.Helper()
	roles, err := os.ReadFile("../../deploy/postgres/roles.sql")
	require.NoError(t, err)
	dsn := testenv.Database(t)
	admin, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer admin.Close(ctx)
	func() {
		makingRoles.Lock()
		defer makingRoles.Unlock()
		_, err = admin.Exec(ctx, string(roles), pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		_, err = admin.Exec(ctx, "alter role payfold_projector password 'x'; alter role payfold_portal password 'x'")
		require.NoError(t, err)
	}()
	as := func(role string) string { return dsn + " user=" + role + " password=x" }
	s, err := Open(ctx, Config{DSN: as("payfold_projector"), Owner: "test", LeaseTime: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Prepare(ctx, "log-1", partitions, anyMode))
	return s, as("payfold_portal")
}

// A reader that could not see the candidate's rows is waited for, also where the
// projector's role may not look into the reader's session.
func TestPromoteWaitsForSnapshotsAndThenNamesThem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	s, portal := asProjector(ctx, t)
	apply(ctx, t, s, 2)
	config, err := pgx.ParseConfig(portal)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "monthly report"
	reader, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	defer reader.Close(ctx)
	balance := func(q querier) (n int64) {
		require.NoError(t, q.QueryRow(ctx, "select balance from credits").Scan(&n))
		return n
	}
	tx, err := reader.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	require.EqualValues(t, 2, balance(tx))

	next := beside(ctx, t, s, 2)
	err = next.Promote(ctx, promotion(t, next))
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "monthly report")
	require.ErrorContains(t, err, "payfold_portal")
	require.EqualValues(t, 2, balance(tx))

	ended := make(chan error, 1)
	go func() { ended <- next.Promote(ctx, promotion(t, next)) }()
	require.EqualValues(t, 2, balance(tx))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-ended)
	require.EqualValues(t, 2, balance(reader), "the grants were carried over")

	// One whose snapshots are new reads on through the promotion in one transaction.
	// A long write in another test's database makes them look old: then the promotion
	// is refused, and repeated.
	previous, err := s.Beside(ctx, PreviousSchema)
	require.NoError(t, err)
	defer previous.Close()
	tx, err = reader.Begin(ctx)
	require.NoError(t, err)
	go func() {
		err := previous.Promote(ctx, promotion(t, previous))
		for ctx.Err() == nil && err != nil && strings.Contains(err.Error(), "monthly report") {
			err = previous.Promote(ctx, promotion(t, previous))
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

// Batches wait for the promotion, however long their lock_timeout is, and hold
// nothing that it waits for.
func TestABatchWaitsForThePromotionWithoutAnError(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	hasty, err := Open(ctx, Config{DSN: s.config.DSN, Owner: "hasty", LeaseTime: time.Second})
	require.NoError(t, err)
	defer hasty.Close()
	apply(ctx, t, s, 3)
	next := beside(ctx, t, s, 2)
	applied := make(chan error, 1)
	p := promotion(t, next)
	catchUp := p.CatchUp
	p.CatchUp = func(catching context.Context, head uint64) error {
		go func() {
			_, err := hasty.Apply(ctx, anyMode, []events.Event{event(t, 4, pack("e4", "p4", "u1", 1))}, Advance{LogID: "log-1", From: from(0, 3), To: 4})
			applied <- err
		}()
		const waiting = `select count(*) from pg_stat_activity where datname = current_database()
			and application_name = 'payfold-projector hasty' and wait_event = 'advisory' and now() - query_start > '1 s'`
		wait.Until(t, func() bool { return number(ctx, t, s, waiting) == 1 })
		return catchUp(catching, head)
	}
	require.NoError(t, next.Promote(ctx, p))
	require.NoError(t, <-applied)
	require.EqualValues(t, 4, number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 3, number(ctx, t, s, "select balance from portal_prev.credits"))
	var timeout string
	require.NoError(t, hasty.pool.QueryRow(ctx, "show lock_timeout").Scan(&timeout))
	require.Equal(t, "500ms", timeout)
}

// A promotion whose process freezes under its lock says nothing to Postgres any
// more, which then ends its session: the batch that waits goes on, and the
// promotion has changed nothing when it wakes.
func TestAPromotionThatFreezesLosesItsLock(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 3)
	next := beside(ctx, t, s, 3)
	frozen, thawed, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	thaw := sync.OnceFunc(func() { close(thawed) })
	defer thaw()
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error {
		close(frozen)
		<-thawed
		return nil
	}
	go func() { ended <- next.Promote(ctx, p) }()
	<-frozen
	_, err := s.Apply(ctx, anyMode, []events.Event{event(t, 4, pack("e4", "p4", "u1", 1))}, Advance{LogID: "log-1", From: from(0, 3), To: 4})
	require.NoError(t, err)
	thaw()
	require.Error(t, <-ended)
	require.EqualValues(t, 4, number(ctx, t, s, "select balance from portal.credits"))
	require.EqualValues(t, 3, number(ctx, t, s, "select balance from portal_next.credits"))
}

// Where the new transactions of a busy portal begin while an old one writes, all
// their snapshots look old by their xmin.
func TestAWriterElsewhereDoesNotStopAPromotion(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 3)
	writer := connect(ctx, t, s)
	tx, err := writer.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "select pg_current_xact_id()")
	require.NoError(t, err)
	next := beside(ctx, t, s, 3)
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error { return nil }
	read, stop := make(chan error, 3), make(chan struct{})
	for range 3 {
		reader := connect(ctx, t, s)
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
	require.NoError(t, next.Promote(ctx, p))
	close(stop)
	for range 3 {
		require.NoError(t, <-read)
	}
}

// A transaction that still reads the tables to be dropped is waited for, not long.
func TestAReaderOfThePreviousTablesStopsAPromotionWithItsReason(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	next := beside(ctx, t, s, 0)
	reader := connect(ctx, t, s)
	_, err := reader.Exec(ctx, "begin; lock table portal.credits in access share mode")
	require.NoError(t, err)
	require.NoError(t, next.Promote(ctx, promotion(t, next)))
	again := beside(ctx, t, s, 0)
	err = again.Promote(ctx, promotion(t, again))
	require.ErrorIs(t, err, ErrNotPromoted)
	require.ErrorContains(t, err, "drop schema portal_prev")
	_, err = reader.Exec(ctx, "select count(*) from credits; commit")
	require.NoError(t, err)
	require.NoError(t, again.Promote(ctx, promotion(t, again)))
}

// rightsOf lists who may do what with a schema's tables and columns.
func rightsOf(ctx context.Context, t *testing.T, s *Store, schema string) []string {
	t.Helper()
	rows, err := s.pool.Query(ctx, `
		select format('schema %s %s', pg_get_userbyid(nspowner), (select string_agg(a::text, ' ' order by a::text) from unnest(coalesce(nspacl, acldefault('n', nspowner))) a)) from pg_namespace where nspname = $1
		union all
		select format('%s %s %s', relname, pg_get_userbyid(relowner), (select string_agg(a::text, ' ' order by a::text) from unnest(coalesce(relacl, acldefault('r', relowner))) a))
		from pg_class where relnamespace = $1::text::regnamespace and relkind in ('r', 'v')
		union all
		select format('%s.%s %s', relname, attname, (select string_agg(a::text, ' ' order by a::text) from unnest(attacl) a))
		from pg_class join pg_attribute on attrelid = pg_class.oid
		where relnamespace = $1::text::regnamespace and attacl is not null and attacl::text <> '{}'
		union all
		select format('default %s %s', pg_get_userbyid(defaclrole), defaclacl) from pg_default_acl where defaclnamespace = $1::text::regnamespace
		order by 1`, schema)
	require.NoError(t, err)
	rights, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return rights
}

func TestTheRightsAreThoseOfTheLiveTables(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	role := func(name string) string {
		var database string
		require.NoError(t, s.pool.QueryRow(ctx, "select current_database()").Scan(&database))
		full := fmt.Sprintf("%s of %q", name, database)
		t.Cleanup(func() {
			_, err := s.pool.Exec(context.Background(), "drop owned by "+quoted(full)+" cascade; drop role "+quoted(full))
			require.NoError(t, err)
		})
		_, err := s.pool.Exec(ctx, "create role "+quoted(full))
		require.NoError(t, err)
		return quoted(full)
	}
	owner, analyst, portal := role("owner"), role("analyst"), role("portal")
	for _, sql := range []string{
		"grant create on schema portal to " + owner,
		"alter schema portal owner to " + owner,
		"alter table portal.credits owner to " + owner,
		"grant usage on schema portal to public",
		"grant usage, create on schema portal to " + analyst + " with grant option",
		"grant select on portal.credits, portal.credit_balance to " + portal,
		"grant select, references on portal.payment to " + analyst + " with grant option",
		"grant select (user_id, status), update (status) on portal.subscription to " + portal,
		"grant select on portal.reversal to public",
		"alter default privileges for role " + owner + " in schema portal grant select on tables to " + portal,
	} {
		_, err := s.pool.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	want := rightsOf(ctx, t, s, LiveSchema)
	next := beside(ctx, t, s, 0)
	_, err := s.pool.Exec(ctx, "grant all on all tables in schema portal_next to "+analyst+"; grant usage on schema portal_next to "+portal)
	require.NoError(t, err)
	_, err = s.pool.Exec(ctx, "create table portal_next.of_a_new_build (x int)")
	require.NoError(t, err)
	require.NoError(t, next.Promote(ctx, promotion(t, next)))
	have := rightsOf(ctx, t, s, LiveSchema)
	added := slices.IndexFunc(have, func(line string) bool { return len(line) > 14 && line[:14] == "of_a_new_build" })
	require.Contains(t, have[added], "portal of", "a new table has the default privileges")
	normal := func(lines []string) (out []string) {
		for _, line := range lines {
			if line != have[added] {
				out = append(out, line)
			}
		}
		return out
	}
	require.Equal(t, want, normal(have))
}

// Both would succeed, and the live tables would not go on with the log.
func TestALogIsNotAdoptedDuringAPromotion(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 5)
	next := beside(ctx, t, s, 5)
	adopted := make(chan error, 1)
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error {
		go func() {
			_, err := s.AdoptLog(ctx, "log-2", 6, partitions)
			adopted <- err
		}()
		wait.Until(t, func() bool {
			return number(ctx, t, s, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") > 0
		})
		return nil
	}
	require.NoError(t, next.Promote(ctx, p))
	require.NoError(t, <-adopted)
	live, err := s.SchemaNamed(ctx, LiveSchema)
	require.NoError(t, err)
	require.Equal(t, "log-2", live.LogID)
}

func TestATableUnderTheNameOfADroppedSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 5)
	next := beside(ctx, t, s, 5)
	require.NoError(t, next.Promote(ctx, promotion(t, next)))
	_, err := s.pool.Exec(ctx, "drop schema portal_prev cascade; create schema portal_prev; create table portal_prev.payment as select * from portal.payment")
	require.NoError(t, err)
	again := beside(ctx, t, s, 5)
	require.ErrorContains(t, again.Promote(ctx, promotion(t, again)), "schema portal_prev is there and is not payfold's")
}

// Whoever folds into it would write one half of a chunk into each schema.
func TestASchemaThatIsWorkedOnIsNotPromoted(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	apply(ctx, t, s, 5)
	next := beside(ctx, t, s, 5)
	bulk, err := next.NewBulk(ctx, anyMode, 6, nil)
	require.NoError(t, err)
	defer bulk.Close()
	require.NoError(t, bulk.Fold(ctx, []events.Event{event(t, 6, pack("e6", "p6", "u1", 1))}))
	p := promotion(t, next)
	p.CatchUp = func(context.Context, uint64) error { return nil }
	require.ErrorIs(t, next.Promote(ctx, p), ErrNotPromoted)
	require.NoError(t, bulk.Save(ctx, 6, nil))
}

func TestTheLockOnASchemasNameOutlivesALimitOnIdleSessions(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.pool.Exec(ctx, "do $$ begin execute format('alter database %I set idle_session_timeout = 8000', current_database()); end $$")
	require.NoError(t, err)
	one, err := s.Beside(ctx, "portal_next")
	require.NoError(t, err)
	defer one.Close()
	unlock, err := one.LockSchema(ctx)
	require.NoError(t, err)
	defer unlock()
	two, err := s.Beside(ctx, "portal_next")
	require.NoError(t, err)
	defer two.Close()
	both, err := two.LockSchema(ctx)
	if err == nil {
		both()
	}
	require.ErrorContains(t, err, "another command works on schema portal_next")
}
