package live_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// undoSecondEvent sets the tables back to public.checkpoints, before e2 came.
const undoSecondEvent = `
		begin;
		delete from portal.checkpoint;
		insert into portal.checkpoint select * from public.checkpoints;
		delete from portal.processed_event where event_id = 'e2';
		delete from portal.payment_facts where provider_payment_id = 'p2';
		delete from portal.credit_ledger where user_id = 'u2';
		delete from portal.credits where user_id = 'u2';
		commit`

// applyTwoEvents keeps the checkpoints after the first event, for undoSecondEvent.
func applyTwoEvents(ctx context.Context, t *testing.T, w *world.World) {
	t.Helper()
	appendTo(ctx, t, w.Log.Log, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	_, err := w.DB.Exec(ctx, "create table public.checkpoints as table portal.checkpoint")
	require.NoError(t, err)
	appendTo(ctx, t, w.Log.Log, fixture.Pack("e2", "p2", "u2", 1))
	w.WaitApplied(ctx, t)
}

// The test undoes by hand the commits that a standby has not received.
func TestTablesThatWereSetBackAreNoticedAndFoldedAgain(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p1")
	config := w.Config(t, database, fixture.AnyMode)
	registry, said := prometheus.NewRegistry(), &wait.Buffer{}
	config.Registerer, config.Logger = registry, slog.New(slog.NewTextHandler(said, nil))
	stop := world.Run(ctx, t, live.New(config), database)
	applyTwoEvents(ctx, t, w)
	require.NotContains(t, said.String(), "set back")

	_, err := w.DB.Exec(ctx, undoSecondEvent)
	require.NoError(t, err)
	appendTo(ctx, t, w.Log.Log, fixture.Pack("e3", "p3", "u2", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 2, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u2'"))
	require.NoError(t, stop())
	require.Equal(t, 1, strings.Count(said.String(), `level=WARN msg="the tables were set back: the database has lost commits`), said.String())
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP payfold_projector_set_backs_total Times the tables were at earlier positions than this projector had seen: the database had lost commits.
		# TYPE payfold_projector_set_backs_total counter
		payfold_projector_set_backs_total 1
	`), "payfold_projector_set_backs_total"))
}

// A pooler, or a freeze of the projector, hides that the database was replaced, and the shop sells nothing for hours.
func TestTablesThatWereSetBackAreFoldedAgainWithoutANewEvent(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p1")
	stop := world.Run(ctx, t, live.New(w.Config(t, database, fixture.AnyMode)), database)
	applyTwoEvents(ctx, t, w)
	_, err := w.DB.Exec(ctx, undoSecondEvent)
	require.NoError(t, err)
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 1, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u2'"))
	require.NoError(t, stop())
}
