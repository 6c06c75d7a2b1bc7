package invitations

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// errDone ends the work of a leader.
var errDone = errors.New("done")

// notify tells the leader, as a batch does, whose purchases have changed.
func notify(ctx context.Context, t *testing.T, r records, payload string) {
	t.Helper()
	_, err := r.tables.Pool().Exec(ctx, "select pg_notify($1, $2)", store.LicensesChanged, payload)
	require.NoError(t, err)
}

func TestTheLeaderHearsWhosePurchasesHaveChanged(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	long := strings.Repeat("u", 7985) // its payload is the longest that Postgres accepts
	require.ErrorIs(t, r.lead(ctx, "acme/tool", func(ctx context.Context, changed <-chan []string) error {
		for payload, users := range map[string][]string{
			`{"users":["u1","u2"]}`: {"u1", "u2"}, `{"users":["` + long + `"]}`: {long}, `{"all":true}`: nil,
		} {
			notify(ctx, t, r, payload)
			require.Equal(t, users, <-changed, payload)
		}
		return errDone
	}), errDone)
}

func TestUnreadNotificationsBecomeOneForAnyUser(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	require.ErrorIs(t, r.lead(ctx, "acme/tool", func(ctx context.Context, changed <-chan []string) error {
		_, err := r.tables.Pool().Exec(ctx, "select pg_notify($1, format('{\"users\":[\"u%s\"]}', n)) from generate_series(1, 1000) n", store.LicensesChanged)
		require.NoError(t, err)
		wait.Until(t, func() bool { return len(changed) == cap(changed) })
		for heard := range changed {
			if heard == nil {
				break
			}
		}
		return errDone
	}), errDone)
}

func TestOneProcessLeadsAtATime(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	var order []string
	first, second := make(chan struct{}), make(chan error, 1)
	err := r.lead(ctx, "acme/tool", func(context.Context, <-chan []string) error {
		go func() {
			second <- r.lead(ctx, "acme/tool", func(context.Context, <-chan []string) error {
				order = append(order, "second")
				return errDone
			})
		}()
		other := r.lead(ctx, "acme/other", func(context.Context, <-chan []string) error {
			close(first)
			return errDone
		})
		<-first
		order = append(order, "first")
		return other
	})
	require.ErrorIs(t, err, errDone)
	require.ErrorIs(t, <-second, errDone)
	require.Equal(t, []string{"first", "second"}, order)
}

func TestALeaderThatLosesItsSessionStopsInviting(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	err := r.lead(ctx, "acme/tool", func(working context.Context, _ <-chan []string) error {
		_, err := r.tables.Pool().Exec(ctx, `select pg_terminate_backend(pid) from pg_locks join pg_database d on d.oid = database
			where datname = current_database() and locktype = 'advisory' and classid = $1::bigint::oid and pid <> pg_backend_pid()`, int64(store.LeaderLock))
		require.NoError(t, err)
		<-working.Done()
		return nil
	})
	require.ErrorContains(t, err, "listen for changed purchases")
}

// For Postgres, a session that only receives notifications is idle.
func TestABusyListenerStillSendsHeartbeats(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	session, err := pgx.ConnectConfig(ctx, r.tables.LeaderConfig(leaderTimeout))
	require.NoError(t, err)
	defer session.Close(ctx)
	require.NoError(t, becomeLeader(ctx, session, "acme/tool"))
	listening, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan []string, 100)
	ended := make(chan error, 1)
	pid := session.PgConn().PID()
	go func() { ended <- listen(listening, session, changed, 100*time.Millisecond) }()
	var first, last time.Time // of the heartbeats
	for heartbeats := 0; heartbeats < 4; {
		notify(ctx, t, r, `{"users":["u1"]}`)
		select {
		case <-changed:
		case err := <-ended:
			require.NoError(t, err, "the session has ended")
		}
		var at time.Time
		require.NoError(t, r.tables.Pool().QueryRow(ctx, "select query_start from pg_stat_activity where pid = $1", pid).Scan(&at))
		if at.After(last) {
			last = at
			if heartbeats++; heartbeats == 1 {
				first = at
			}
		}
	}
	require.GreaterOrEqual(t, last.Sub(first), 300*time.Millisecond, "and no more than it must")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAFrozenInvitersSessionEnds(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	require.ErrorIs(t, r.lead(ctx, "acme/tool", func(context.Context, <-chan []string) error { return errDone }), errDone)
	config := r.tables.LeaderConfig(leaderTimeout)
	require.Equal(t, strconv.FormatInt(leaderTimeout.Milliseconds(), 10), config.RuntimeParams["idle_session_timeout"])
	require.Greater(t, leaderTimeout, 3*leaderHeartbeat, "heartbeats come before the timeout")
	require.NoError(t, onSession(ctx, func(ctx context.Context) error {
		_, bounded := ctx.Deadline()
		require.True(t, bounded, "nor does it wait for a database that is silent")
		return nil
	}))
}

func TestAPauseIsNeverMadeShorter(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), setup(t).records(t)
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	long := Pause{Repository: "acme/tool", Until: now.Add(time.Hour), Cause: PauseLimit, Reason: "told"}
	require.NoError(t, r.pause(ctx, long))
	require.NoError(t, r.pause(ctx, Pause{Repository: "acme/tool", Until: now.Add(time.Second), Cause: PauseFault, Reason: "x"}))
	pauses, err := Pauses(ctx, r.tables.Pool(), now)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.Equal(t, long.Cause, pauses[0].Cause)
	require.NoError(t, r.resume(ctx))
	pauses, err = Pauses(ctx, r.tables.Pool(), now)
	require.NoError(t, err)
	require.Len(t, pauses, 1, "a pause for a limit outlives the process")
	pauses, err = Pauses(ctx, r.tables.Pool(), now.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, pauses)
}
