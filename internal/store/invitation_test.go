package store

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func pro(id, payment, user, gitHubUser string) string {
	return `{"id":"` + id + `","eventType":"checkout.completed","object":{"provider_payment_id":"` + payment +
		`","metadata":{"kind":"pro","user_id":"` + user + `","github_username":"` + gitHubUser + `"}}}`
}

func TestABatchThatChangesAPurchaseOfALicenceTellsTheInviter(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	listener, err := pgx.ConnectConfig(ctx, inviterSession(s))
	require.NoError(t, err)
	defer listener.Close(ctx)
	_, err = listener.Exec(ctx, "listen "+licensesChanged)
	require.NoError(t, err)
	candidate, err := Open(ctx, Config{DSN: s.pool.Config().ConnString(), Schema: "portal_next", Owner: "test", LeaseTime: time.Second})
	require.NoError(t, err)
	defer candidate.Close()
	require.NoError(t, candidate.Prepare(ctx, "log-1", partitions, anyMode))
	apply := func(s *Store, seq uint64, body string) {
		_, err := s.Apply(ctx, anyMode, []events.Event{event(t, seq, body)}, Advance{LogID: "log-1", From: from(0, seq-1), To: seq, Digest: []byte("d")})
		require.NoError(t, err)
	}
	apply(candidate, 1, pro("e1", "p1", "u1", "octo"))
	apply(s, 1, pack("e1", "p1", "u1", 5))
	_, err = s.pool.Exec(ctx, "select pg_notify($1, 'a marker')", licensesChanged)
	require.NoError(t, err)
	apply(s, 2, pro("e2", "p2", "u1", "octo"))
	apply(s, 3, pro("e3", "p3", "u1", "hubot"))
	apply(s, 4, `{"id":"e4","eventType":"refund.created","object":{"provider_payment_id":"p2"}}`) // the licence shows the other
	for _, want := range []string{"a marker", `["u1"]`, `["u1"]`, `["u1"]`} {
		heard, err := listener.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, want, heard.Payload, "neither a candidate's purchases nor a pack of credits")
	}
}

func TestMoreUsersThanANotificationHoldsAreAnyUsers(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	long := strings.Repeat("é", 127)
	require.Empty(t, namesOf(slices.Repeat([]string{long}, 40)))
	require.NoError(t, s.HoldInviter(ctx, "acme/tool", func(ctx context.Context, changed <-chan []string) error {
		for _, users := range [][]string{{"u\"\n1", "u2"}, slices.Repeat([]string{long}, 40), slices.Repeat([]string{long}, 31), {}} {
			_, err := s.pool.Exec(ctx, notifyLicenses, namesOf(users))
			require.NoError(t, err)
			heard := <-changed
			if len(users) == 40 {
				require.Nil(t, heard)
				continue
			}
			require.Equal(t, users, heard)
		}
		return nil
	}))
}

func TestNotificationsThatNobodyTakesBecomeOneOfAnyUser(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	require.NoError(t, s.HoldInviter(ctx, "acme/tool", func(ctx context.Context, changed <-chan []string) error {
		_, err := s.pool.Exec(ctx, "select pg_notify($1, format('[\"u%s\"]', n)) from generate_series(1, 1000) n", licensesChanged)
		require.NoError(t, err)
		wait.Until(t, func() bool { return len(changed) == cap(changed) })
		for heard := range changed {
			if heard == nil {
				break
			}
		}
		return nil
	}))
}

func TestOneInviterAtATime(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	var order []string
	first, second := make(chan struct{}), make(chan error, 1)
	err := s.HoldInviter(ctx, "acme/tool", func(context.Context, <-chan []string) error {
		go func() {
			second <- s.HoldInviter(ctx, "acme/tool", func(context.Context, <-chan []string) error {
				order = append(order, "second")
				return nil
			})
		}()
		other := s.HoldInviter(ctx, "acme/other", func(context.Context, <-chan []string) error {
			close(first)
			return nil
		})
		<-first
		order = append(order, "first")
		return other
	})
	require.NoError(t, err)
	require.NoError(t, <-second)
	require.Equal(t, []string{"first", "second"}, order)
}

func TestWhoLosesTheSessionStopsInviting(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	err := s.HoldInviter(ctx, "acme/tool", func(working context.Context, _ <-chan []string) error {
		_, err := s.pool.Exec(ctx, `select pg_terminate_backend(pid) from pg_locks join pg_database d on d.oid = database
			where datname = current_database() and locktype = 'advisory' and classid = $1::bigint::oid and pid <> pg_backend_pid()`, int64(inviterLock+1))
		require.NoError(t, err)
		<-working.Done()
		return nil
	})
	require.ErrorContains(t, err, "listen for changed purchases")
}

// A session that only hears is idle to Postgres, however much it hears.
func TestAnInviterThatAlwaysHearsSomethingShowsThatItLives(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	session, err := pgx.ConnectConfig(ctx, inviterSession(s))
	require.NoError(t, err)
	defer session.Close(ctx)
	require.NoError(t, becomeInviter(ctx, session, "acme/tool"))
	listening, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan []string, 100)
	ended := make(chan error, 1)
	pid := session.PgConn().PID()
	go func() { ended <- listen(listening, session, changed, 100*time.Millisecond) }()
	var shown time.Time // by the session, the last time
	for signs := 0; signs < 4; {
		_, err := s.pool.Exec(ctx, notifyLicenses, `["u1"]`)
		require.NoError(t, err)
		select {
		case <-changed:
		case err := <-ended:
			require.NoError(t, err, "the session has ended")
		}
		var at time.Time
		require.NoError(t, s.pool.QueryRow(ctx, "select query_start from pg_stat_activity where pid = $1", pid).Scan(&at))
		if at.After(shown) {
			shown = at
			signs++
		}
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAFrozenInvitersSessionEnds(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	require.NoError(t, s.HoldInviter(ctx, "acme/tool", func(context.Context, <-chan []string) error { return nil }))
	config := inviterSession(s)
	require.Equal(t, milliseconds(inviterIdle), config.RuntimeParams["idle_session_timeout"])
	require.Greater(t, inviterIdle, 3*listenFor, "one that lives shows it in time")
}

func TestAPauseIsNeverMadeShorter(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	long := Pause{Repository: "acme/tool", Until: now.Add(time.Hour), Cause: PauseLimit, Reason: "told"}
	require.NoError(t, s.PauseInvitations(ctx, long))
	require.NoError(t, s.PauseInvitations(ctx, Pause{Repository: "acme/tool", Until: now.Add(time.Second), Cause: PauseFault, Reason: "x"}))
	pauses, err := s.InvitationPauses(ctx, now)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.Equal(t, long.Cause, pauses[0].Cause)
	require.NoError(t, s.EndPause(ctx, "acme/tool", PauseDenied))
	pauses, err = s.InvitationPauses(ctx, now)
	require.NoError(t, err)
	require.Len(t, pauses, 1, "a limit outlives the process that met it")
	pauses, err = s.InvitationPauses(ctx, now.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, pauses)
}
