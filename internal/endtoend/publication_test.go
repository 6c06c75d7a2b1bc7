package endtoend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// A shop that copies its whole database with logical replication has a publication for all tables.
func TestEveryCommandWorksWithAPublicationForAllTables(t *testing.T) {
	t.Parallel()
	w := setup(t)
	execute(t, w.database, "create publication theirs for all tables")
	projector := w.startProjector(t)
	w.deliver(t, fixture.Pack("evt_1", "pay_1", "u_1", 10), fixture.Pack("evt_2", "pay_2", "u_1", 5))
	w.awaitProjected(t)
	execute(t, w.database, "alter table portal.credits add constraint theirs check (balance <> 16)")
	w.deliver(t, fixture.Pack("evt_3", "pay_3", "u_1", 1))
	w.awaitProjected(t)
	execute(t, w.database, "alter table portal.credits drop constraint theirs")
	w.run(t, "quarantine", "retry", fmt.Sprint(mustQuery[int64](t, w.database, "select stream_seq from payfold.quarantined_event")))
	w.run(t, "settle")
	w.promote(t, "rebuild", "--promote")
	w.deliver(t, fixture.Pack("evt_4", "pay_4", "u_1", 1))
	w.awaitProjected(t)
	w.run(t, "rebuild", "--schema", "sales", "--with", "revenue_daily")
	w.run(t, "rebuild", "--schema", "sales", "--with", "revenue_daily")
	w.run(t, "rebuild", "--schema", "before", "--until-seq", "2")
	require.Contains(t, w.verify(t, 0), "portal is what the log gives")
	w.promote(t, "promote", "portal_prev")
	w.run(t, "drop", "portal_prev")
	w.run(t, "drop", "sales")
	w.run(t, "drop", "before")
	require.Equal(t, int64(17), mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'"))
	stop(t, projector)
}

// A Postgres that subscribes to all tables stops at the first row of a table that it lacks.
func TestACommandThatMakesTablesSaysFirstThatASubscriberGetsThem(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.database = testenv.PrimaryPostgres(t)
	projector := w.startProjector(t)
	w.deliver(t, fixture.Pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	const warning = `level=WARN msg="a publication for all tables also sends the tables that are built now`
	require.NotContains(t, w.verify(t, 0), warning, "nobody subscribes")
	execute(t, w.database, "select pg_create_logical_replication_slot('replica', 'pgoutput')")
	require.NotContains(t, w.verify(t, 0), warning, "a publication of other tables does not send them")

	execute(t, w.database, "create publication theirs for all tables")
	for schema, args := range map[string][]string{
		"portal_verify": {"verify"}, "sales": {"rebuild", "--schema", "sales", "--with", "revenue_daily"}, "portal_next": {"rebuild", "--promote"},
	} {
		output := w.promote(t, args...)
		require.Equal(t, 1, strings.Count(output, warning), output)
		require.Contains(t, output, " schema="+schema+" publications=theirs slots=replica")
		require.Less(t, strings.Index(output, warning), strings.Index(output, "seq 1"), "it is said before the work: %s", output)
	}
	stop(t, projector)
}
