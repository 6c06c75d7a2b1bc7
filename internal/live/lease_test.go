package live_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// awaitShares waits until the leases are shared like this, largest first.
func awaitShares(ctx context.Context, w *world.World, t *testing.T, want ...int64) {
	t.Helper()
	var have []int64
	wait.Until(t, func() bool {
		rows, err := w.DB.Query(ctx, "select count(*) from payfold.lease where expires_at > now() group by owner order by 1 desc")
		if err != nil {
			return false
		}
		have, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err == nil && fmt.Sprint(have) == fmt.Sprint(want)
	}, "want %v", want)
}

func TestProjectorsShareThePartitions(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stopFirst := w.Start(ctx, t, 10)
	awaitShares(ctx, w, t, 8)
	w.Start(ctx, t, 10)
	awaitShares(ctx, w, t, 4, 4)
	w.Start(ctx, t, 10)
	awaitShares(ctx, w, t, 3, 3, 2)
	for i := range 40 {
		w.Log.Deliver(t, fixture.Pack(fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i), fmt.Sprintf("u%d", i), 1))
	}
	w.WaitApplied(ctx, t)
	require.NoError(t, stopFirst())
	awaitShares(ctx, w, t, 4, 4)
	w.Log.Deliver(t, fixture.Pack("last", "last", "u0", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 41, w.Number(ctx, t, "select sum(balance)::bigint from credits"))
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.out_of_order_event"))
}

// The database could execute a canceled heartbeat later, after the projector has left.
func TestAStopDoesNotCancelAHeartbeat(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	p, database := w.Projector(ctx, t, 100)
	defer database.Close()
	require.NoError(t, database.Prepare(ctx, "log-1", 4, fixture.AnyMode))
	stopped, stop := context.WithCancel(ctx)
	stop()
	share, _, err := p.HeartbeatOnce(stopped, 4)
	require.NoError(t, err)
	require.Len(t, share, 4)
}

func TestAMemberDoesNoWorkOnThePartitionsThatItReleases(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	p, database := w.Projector(ctx, t, 100)
	defer database.Close()
	require.NoError(t, database.Prepare(ctx, "log-1", 4, fixture.AnyMode))
	_, _, err := p.HeartbeatOnce(ctx, 4)
	require.NoError(t, err)
	_, other := w.Projector(ctx, t, 100)
	defer other.Close()
	_, err = live.Members{Store: other}.Heartbeat(ctx)
	require.NoError(t, err)
	share, surplus, err := p.HeartbeatOnce(ctx, 4)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1}, {2, 3}}, [][]int{share, surplus})
}

// A projector that freezes within a transaction holds checkpoint rows and sends no
// heartbeats; its session stays open.
func TestAFrozenProjectorBlocksNobody(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1))
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())

	config, err := pgx.ParseConfig(w.DSN)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "payfold-projector frozen"
	frozen, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	defer frozen.Close(context.Background())
	for _, sql := range []string{
		"insert into payfold.member values ('frozen', now())",
		"insert into payfold.lease select p, 'frozen', now() + interval '2 seconds' from generate_series(0, 7) p",
		"begin",
		"update portal.checkpoint set position = 0",
	} {
		_, err := frozen.Exec(ctx, sql)
		require.NoError(t, err)
	}

	w.Start(ctx, t, 10)
	w.Log.Deliver(t, fixture.Pack("e2", "p2", "u1", 1))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 2, w.Number(ctx, t, "select balance from credits where user_id = 'u1'"))
	_, err = frozen.Exec(ctx, "commit")
	require.Error(t, err, "its session was ended with its lease")
}

// A projector notices them also without events.
func TestAProjectorNoticesTablesOfOtherRules(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	p, database := w.Projector(ctx, t, 10)
	world.Run(ctx, t, p, database)
	wait.Until(t, func() bool { return p.Ready(ctx) == nil })
	_, err := w.DB.Exec(ctx, "update payfold.schema_state set fold_id = 'of another build'")
	require.NoError(t, err)
	wait.Until(t, func() bool {
		err := p.Ready(ctx)
		return err != nil && strings.Contains(err.Error(), "projector rebuild --promote")
	})
	wait.Until(t, func() bool { return w.Number(ctx, t, "select count(*) from payfold.member") == 0 })
}

func TestAProjectorWithOtherRulesHoldsNoLeaseAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	w.Start(ctx, t, 10)
	awaitShares(ctx, w, t, 8)
	database := w.OpenAs(ctx, t, "other-rules")
	defer database.Close()
	other := live.New(w.Config(t, database, projections.Rules{Mode: projections.ModeLive}))
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- other.Run(ctx) }()
	wait.Until(t, func() bool {
		err := other.Ready(ctx)
		return err != nil && strings.Contains(err.Error(), "projector rebuild --promote")
	})
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.member where owner = 'other-rules'"))
	awaitShares(ctx, w, t, 8)
	cancel()
	require.NoError(t, <-ended)
}

// A constraint that the rules do not know refuses two events.
func TestAQuarantinedEventIsRejectedAndTheOthersAreApplied(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 100)
	w.Log.Deliver(t, fixture.Pack("e0", "p0", "u0", 1))
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
	_, err := w.DB.Exec(ctx, "alter table portal.credit_ledger add constraint unforeseen check (delta not in (13, 14))")
	require.NoError(t, err)
	for i := 1; i <= 40; i++ {
		w.Log.Deliver(t, fixture.Pack(fmt.Sprintf("e%d", i), fmt.Sprintf("p%d", i), "u1", i))
	}
	stop = w.Start(ctx, t, 100)
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
	require.EqualValues(t, 40*41/2-13-14, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	require.EqualValues(t, 2, w.Number(ctx, t,
		"select count(*) from portal.processed_event where outcome = 'rejected' and reason = 'internal' and event_id in ('e13', 'e14')"))
	require.EqualValues(t, 2, w.Number(ctx, t, "select count(*) from payfold.quarantined_event where stream_seq in (14, 15) and error like '%unforeseen%'"))

	// A fold from the start rejects the same events, also without the constraint.
	_, err = w.DB.Exec(ctx, "drop schema portal cascade; delete from payfold.schema_state")
	require.NoError(t, err)
	w.Start(ctx, t, 7)
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 40*41/2-13-14, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))

	_, err = w.DB.Exec(ctx, "delete from payfold.quarantined_event")
	require.NoError(t, err)
	pardoned := w.Rebuild(t, w.Open(ctx, t, "pardoned"), 0)
	require.NoError(t, pardoned.Run(ctx, w.Head(ctx, t)))
	require.EqualValues(t, 40*41/2, w.Number(ctx, t, "select balance from pardoned.credits where user_id = 'u1'"))
}

func TestADatabaseThatRefusesEverythingIsTheCauseAndNotTheEvents(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 100)
	w.Log.Deliver(t, fixture.Pack("e0", "p0", "u0", 1))
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
	_, err := w.DB.Exec(ctx, "alter table portal.processed_event add constraint nothing check (event_id = 'e0')")
	require.NoError(t, err)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u1", 1))
	p, database := w.Projector(ctx, t, 100)
	defer database.Close()
	run, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(run) }()
	wait.Until(t, func() bool {
		err := p.Ready(ctx)
		return err != nil && !strings.HasPrefix(err.Error(), "starting")
	})
	require.ErrorContains(t, p.Ready(ctx), "the events are not the cause")
	cancel()
	require.NoError(t, <-ended)

	_, err = w.DB.Exec(ctx, "alter table portal.processed_event drop constraint nothing")
	require.NoError(t, err)
	w.Start(ctx, t, 100)
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 2, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
}
