package invitations

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

func TestMain(m *testing.M) {
	os.Exit(testenv.RunWithPostgres(checked{m}))
}

// checked also looks for goroutines that outlive the tests.
type checked struct{ *testing.M }

func (c checked) Run() int {
	ignore := goleak.IgnoreCurrent()
	code := c.M.Run()
	if err := goleak.Find(ignore, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop")); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

// world is a database with licences, a GitHub, and a time.
type world struct {
	dsn    string
	db     *pgx.Conn
	github *testenv.GitHub
	clock  *testenv.Clock
	perDay int
	remove bool
	own    *store.Store // of the process that runAndDie runs; nil: it is dead
}

func setup(t *testing.T) *world {
	t.Helper()
	clock := testenv.NewClock()
	w := &world{dsn: testenv.Database(t), clock: clock, github: testenv.NewGitHub(t, clock.Now), perDay: 50}
	s := w.open(t)
	require.NoError(t, s.Prepare(t.Context(), "log-1", 1, projections.Rules{}))
	s.Close()
	var err error
	w.db, err = pgx.Connect(t.Context(), w.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.db.Close(context.Background())) })
	return w
}

func (w *world) open(t require.TestingT) *store.Store {
	s, err := store.Open(context.Background(), store.Config{DSN: w.dsn, Owner: "test", LeaseTime: 20 * time.Second})
	require.NoError(t, err)
	return s
}

// stop ends what runAndDie has left.
func (w *world) stop() {
	if w.own != nil {
		w.own.Close()
		w.own = nil
	}
}

// inviter returns a new process's reconciler.
func (w *world) inviter(t *testing.T) *Reconciler {
	t.Helper()
	s := w.open(t)
	t.Cleanup(s.Close)
	return w.on(t, s)
}

func (w *world) on(t testing.TB, s *store.Store) *Reconciler {
	return New(Config{
		Store: s, Repository: testenv.GitHubRepository, PerDay: w.perDay, RemoveOnRevoke: w.remove,
		GitHub: NewGitHub(w.github.Address(), Token(testenv.GitHubToken), testenv.GitHubRepository, "pull", w.clock.Now),
		Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(), Now: w.clock.Now,
	})
}

// reconcile does all that there is to do at present.
func reconcile(t *testing.T, r *Reconciler) {
	t.Helper()
	require.NoError(t, r.scan(t.Context(), nil))
	for range 1000 {
		worked, err := r.next(t.Context())
		require.NoError(t, err)
		if !worked {
			return
		}
	}
	require.Fail(t, "the reconciler does not come to rest")
}

func (w *world) exec(t require.TestingT, sql string, args ...any) {
	_, err := w.db.Exec(context.Background(), sql, args...)
	require.NoError(t, err)
}

// buy makes the licence of a purchase the user's active one.
func (w *world) buy(t require.TestingT, user, payment, gitHubUser string) {
	w.exec(t, `insert into portal.pro_license (user_id, status, github_username, provider_payment_id, activated_at, event_id, stream_seq)
		values ($1, 'active', nullif($3, ''), $2, $4, $2, 1)
		on conflict (user_id) do update set status = 'active', github_username = coalesce(nullif($3, ''), pro_license.github_username),
			provider_payment_id = $2, activated_at = $4, revoked_at = null`, user, payment, gitHubUser, w.clock.Now())
}

func (w *world) refund(t require.TestingT, user string) {
	w.exec(t, "update portal.pro_license set status = 'revoked', revoked_at = $2 where user_id = $1", user, w.clock.Now())
}

// invitation is the row of a purchase.
func (w *world) invitation(t *testing.T, user, payment string) store.Invitation {
	t.Helper()
	rows, err := w.db.Query(t.Context(), "select * from payfold.invitation where user_id = $1 and provider_payment_id = $2", user, payment)
	require.NoError(t, err)
	one, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[store.Invitation])
	require.NoError(t, err)
	return one
}

func (w *world) requireStatus(t *testing.T, user, payment, status string) {
	t.Helper()
	one := w.invitation(t, user, payment)
	require.Equal(t, status, one.Status, "reason: %s", said(one.Reason))
}

func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
