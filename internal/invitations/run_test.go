package invitations

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// running runs a reconciler. The returned function stops it and waits for its end.
func running(t *testing.T, r *Reconciler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

func (w *world) awaitStatus(t *testing.T, user, status string) {
	t.Helper()
	wait.Until(t, func() bool {
		var is string
		err := w.db.QueryRow(t.Context(), "select status from payfold.invitation where user_id = $1", user).Scan(&is)
		return err == nil && is == status
	})
}

func TestANotificationWakesTheInviterBeforeTheNextScan(t *testing.T) {
	t.Parallel()
	w := setup(t)
	r := w.inviter(t)
	r.scanInterval = time.Hour
	running(t, r)
	w.buy(t, "u1", "pay1", "octo")
	w.awaitStatus(t, "u1", Invited)
	w.buy(t, "u2", "pay2", "hubot")
	w.awaitStatus(t, "u2", Invited)
}

func TestAChangeWithoutANotificationIsFoundByTheNextScan(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "")
	r := w.inviter(t)
	r.scanInterval = time.Millisecond
	running(t, r)
	w.awaitStatus(t, "u1", Pending)
	w.exec(t, "update portal.payment_facts set github_username = 'octo'")
	w.awaitStatus(t, "u1", Invited)
}

func TestWhenTheLeaderStopsAnotherInviterTakesOver(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first := w.inviter(t)
	stopFirst := running(t, first)
	wait.Until(t, func() bool { return w.leaders(t) == 1 })
	running(t, w.inviter(t))
	w.buy(t, "u1", "pay1", "octo")
	w.awaitStatus(t, "u1", Invited)
	wait.Until(t, func() bool { return testutil.CollectAndCount(first.metrics.quota) == 1 })
	stopFirst()
	require.Zero(t, testutil.CollectAndCount(first.metrics.quota), "it does not lead any more")
	w.buy(t, "u2", "pay2", "hubot")
	w.awaitStatus(t, "u2", Invited)
	require.Equal(t, 1, w.leaders(t))
}

func TestAnInviterWithoutCredentialsDoesNotLead(t *testing.T) {
	t.Parallel()
	w := setup(t)
	without := w.inviter(t)
	without.gitHub = nil
	running(t, without)
	wait.Until(t, func() bool { return w.leaders(t) == 1 }) // of the inviters that have no repository
	running(t, w.inviter(t))
	w.buy(t, "u1", "pay1", "octo")
	w.awaitStatus(t, "u1", Invited)
}

func (w *world) leaders(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, w.db.QueryRow(t.Context(), "select count(*) from pg_locks where locktype = 'advisory' and granted and mode = 'ExclusiveLock' and classid = $1::bigint::oid and database = (select oid from pg_database where datname = current_database())",
		int64(store.LeaderLock)).Scan(&n))
	return n
}

func TestALostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	w := setup(t)
	running(t, w.inviter(t))
	wait.Until(t, func() bool { return w.leaders(t) == 1 })
	w.exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	w.tables.Close() // its session was terminated, too
	w.tables = w.open(t)
	t.Cleanup(w.tables.Close)
	w.buy(t, "u1", "pay1", "octo")
	w.awaitStatus(t, "u1", Invited)
}

func TestASessionThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, work := range []func(*Reconciler) error{
		func(r *Reconciler) error { return r.records.resume(t.Context()) },
		func(r *Reconciler) error { return r.records.scan(t.Context(), nil) },
		func(r *Reconciler) error { _, err := r.next(t.Context()); return err },
		func(r *Reconciler) error { return r.measure(t.Context()) },
	} {
		r := w.inviter(t)
		r.records = records{r.Store, r.Repository, r.Now, time.Second}
		var session int
		require.NoError(t, r.Store.Pool().QueryRow(t.Context(), "select pg_backend_pid()").Scan(&session))
		require.NoError(t, syscall.Kill(session, syscall.SIGSTOP))
		t.Cleanup(func() { _ = syscall.Kill(session, syscall.SIGCONT) })
		require.ErrorIs(t, work(r), context.DeadlineExceeded)
		r.records = records{r.Store, r.Repository, r.Now, wait.Timeout}
		require.NoError(t, work(r), "on another session")
	}
}

func TestTheInviterWaitsForTheTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testenv.Database(t))
	var log wait.Buffer
	r := w.inviter(t)
	r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	running(t, r)
	createTables(t, w.dsn)
	w.connect(t)
	w.buy(t, "u1", "pay1", "octo")
	w.awaitStatus(t, "u1", Invited)
	require.NotContains(t, log.String(), "level=WARN")
}

func TestARestartTriesDeniedCredentialsAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("", testenv.Reply{Status: 401})
	reconcile(t, w.inviter(t))
	running(t, w.inviter(t))
	w.awaitStatus(t, "u1", Invited)
}

func TestMetricsCountSentAndPendingInvitationsAndTheQuotaLeft(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.perDay = 3
	w.github.RemoveUser("nobody")
	for i, name := range []string{"octo", "nobody", "hubot", "", "mona", "lisa"} {
		w.buy(t, fmt.Sprint("u", i), fmt.Sprint("pay", i), name)
		w.clock.Advance(time.Second)
	}
	r := w.inviter(t)
	reconcile(t, r)
	require.NoError(t, r.measure(t.Context()))
	require.InDelta(t, 3, testutil.ToFloat64(r.metrics.sent), 0)
	require.InDelta(t, 3, testutil.ToFloat64(r.metrics.attempts.WithLabelValues(AttemptInvite, Invited)), 0)
	require.InDelta(t, 0, testutil.ToFloat64(r.metrics.quota.WithLabelValues()), 0)
	durations := prometheus.NewRegistry()
	durations.MustRegister(r.metrics.duration)
	gathered, err := durations.Gather()
	require.NoError(t, err)
	require.EqualValues(t, 4, gathered[0].GetMetric()[0].GetHistogram().GetSampleCount(), "attempts")
	for status, n := range map[string]float64{Invited: 3, Failed: 1, Pending: 2} {
		require.InDelta(t, n, testutil.ToFloat64(r.metrics.state.WithLabelValues(status)), 0, status)
	}
	require.NoError(t, r.records.pause(t.Context(), Pause{
		Repository: r.Repository, Until: w.clock.Now().Add(time.Hour), Cause: PauseLimit, Reason: "x",
	}))
	require.NoError(t, r.measure(t.Context()))
	require.InDelta(t, 1, testutil.ToFloat64(r.metrics.paused.WithLabelValues(PauseLimit)), 0)
	w.clock.Advance(time.Hour)
	w.exec(t, "delete from payfold.invitation where status = 'failed'")
	require.NoError(t, r.measure(t.Context()))
	require.Zero(t, testutil.ToFloat64(r.metrics.paused.WithLabelValues(PauseLimit)))
	require.Zero(t, testutil.ToFloat64(r.metrics.state.WithLabelValues(Failed)))
}

func TestOnlyTheLeaderSaysWhatIsLeftOfTheQuota(t *testing.T) {
	t.Parallel()
	w := setup(t)
	r := w.inviter(t)
	require.Zero(t, testutil.CollectAndCount(r.metrics.quota), "max over all projectors is that of the leader")
	require.NoError(t, r.measure(t.Context()))
	require.Equal(t, 1, testutil.CollectAndCount(r.metrics.quota))
	r.clearGauges()
	require.Zero(t, testutil.CollectAndCount(r.metrics.quota))
	r.gitHub = nil
	require.NoError(t, r.measure(t.Context()))
	require.Zero(t, testutil.CollectAndCount(r.metrics.quota), "it does not invite")
}

func TestAnAppInvitesWithTheTokenOfItsInstallation(t *testing.T) {
	t.Parallel()
	w := setup(t)
	private, text := newKey()
	w.github.App = testenv.GitHubApp{ID: 7, Installation: 42, Key: &private.PublicKey}
	credentials, err := App(7, 42, text)
	require.NoError(t, err)
	r := w.inviter(t)
	r.gitHub = NewGitHub(w.github.Address(), credentials, testenv.GitHubRepository, "pull", w.clock.Now)
	w.buy(t, "u1", "pay1", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	tokens := 0
	for _, request := range w.github.Requests(http.MethodPost) {
		require.Equal(t, "/app/installations/42/access_tokens", request.Path)
		tokens++
	}
	require.Equal(t, 1, tokens, "kept for the next call")
}

func TestAnAppThatGitHubRefusesPausesEverything(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply testenv.Reply // to the request for a token
		cause string
	}{
		{testenv.Reply{Status: 401}, PauseDenied},
		{testenv.Reply{Status: 404}, PauseDenied},
		{testenv.Reply{Status: 403}, PauseDenied},
		{testenv.Reply{Status: 403, Header: map[string]string{"Retry-After": "60"}}, PauseLimit},
		{testenv.Reply{Status: 429}, PauseLimit},
		{testenv.Reply{Status: 500}, PauseFault},
	} {
		w := setup(t)
		_, text := newKey()
		w.github.Script("", test.reply)
		credentials, err := App(7, 42, text)
		require.NoError(t, err)
		r := w.inviter(t)
		r.gitHub = NewGitHub(w.github.Address(), credentials, testenv.GitHubRepository, "pull", w.clock.Now)
		w.buy(t, "u1", "pay1", "octo")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Pending)
		pauses, err := Pauses(t.Context(), r.Store.Pool(), w.clock.Now())
		require.NoError(t, err)
		require.Len(t, pauses, 1)
		require.Equal(t, test.cause, pauses[0].Cause, test.reply)
	}
}

// newKey makes the key of an App, the same for all tests.
var newKey = sync.OnceValues(func() (*rsa.PrivateKey, []byte) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

func TestSecretsAlwaysPrintAsRedacted(t *testing.T) {
	t.Parallel()
	_, key := newKey()
	app, err := App(7, 42, key)
	require.NoError(t, err)
	inKey := strings.Split(string(key), "\n")[3]
	clock := testenv.NewClock()
	github := testenv.NewGitHub(t, clock.Now)
	for _, credentials := range []Credentials{Token("ghp_very_secret"), app} {
		hub := NewGitHub(github.Address(), credentials, testenv.GitHubRepository, "pull", clock.Now)
		r := New(Config{GitHub: hub, Registerer: prometheus.NewRegistry(), Now: clock.Now})
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).Info("x", "credentials", credentials, "wrapped", struct{ C Credentials }{credentials}, "hub", hub)
		}
		texts := []string{log.String()}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
			for _, value := range []any{credentials, &credentials, struct{ c Credentials }{credentials}, []Credentials{credentials}, hub, *hub, hub.http, hub.http.Transport, r, r.Config} {
				texts = append(texts, fmt.Sprintf(verb, value))
			}
		}
		for _, text := range texts {
			require.NotContains(t, text, "very_secret")
			require.NotContains(t, text, fmt.Sprintf("%x", "very_secret"))
			require.NotContains(t, text, inKey)
		}
	}
	_, err = App(7, 42, []byte("-----BEGIN RSA PRIVATE KEY-----\nsecretsecret\n-----END RSA PRIVATE KEY-----\n"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secretsecret")
}

func TestTheTokenIsNeverLogged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	var log wait.Buffer
	r := w.inviter(t)
	r.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, reply := range []testenv.Reply{{Drops: true}, {Status: 401}, {Status: 500}, {Status: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}} {
		w.github.Script("", reply)
		reconcile(t, r)
		w.clock.Advance(2 * time.Hour)
	}
	require.Contains(t, log.String(), "level=ERROR")
	require.NotContains(t, log.String(), testenv.GitHubToken)
}

func TestNotificationsWaitAfterAScan(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	changed, tick := make(chan []string, 3), make(chan time.Time, 1)
	changed <- []string{"u2"}
	r.restsUntil = time.Now().Add(time.Hour)
	tick <- time.Now()
	require.NoError(t, r.await(t.Context(), changed, tick, false))
	require.NoError(t, r.await(t.Context(), changed, tick, true))
	require.Len(t, changed, 1, "it rests")

	began := time.Now()
	r.restsUntil = began
	changed <- nil // any user
	changed <- []string{"u3"}
	require.NoError(t, r.await(t.Context(), changed, tick, false))
	require.Empty(t, changed, "one scan is for all notifications")
	w.awaitStatus(t, "u1", Pending)
	require.True(t, r.restsUntil.After(began))
}

// A scan that waited a minute for the database does not delay invitations for twenty.
func TestTheRestAfterAScanIsBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, restAfter(50*time.Millisecond))
	require.Equal(t, maxRest, restAfter(time.Minute))
}
