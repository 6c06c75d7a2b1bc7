package invitations

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// checks is the default number of checks of each property. Each check is some days of
// purchases in real tables. make test-properties runs many more.
const checks = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	os.Exit(testenv.RunWithPostgres(checked{m}))
}

// checked fails where goroutines outlive the tests.
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

// world is a database with purchases, a fake GitHub and a clock.
type world struct {
	dsn    string
	db     *pgx.Conn
	tables *store.Store // as a projector opens it
	seq    uint64       // of the log's newest event
	github *testenv.GitHub
	clock  *testenv.Clock
	perDay int
	remove bool
	ids    atomic.Int64
}

func setup(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, testenv.Copy(t, "tables", createTables))
	w.connect(t)
	return w
}

func newWorld(t *testing.T, dsn string) *world {
	clock := testenv.NewClock()
	return &world{dsn: dsn, clock: clock, github: testenv.NewGitHub(t, clock.Now), perDay: 50}
}

func createTables(t testing.TB, dsn string) {
	s := (&world{dsn: dsn}).open(t)
	defer s.Close()
	require.NoError(t, s.Prepare(t.Context(), "log-1", 1, anyMode))
}

// connect opens the connections of the test to the tables.
func (w *world) connect(t *testing.T) {
	t.Helper()
	w.tables = w.open(t)
	t.Cleanup(w.tables.Close)
	var err error
	w.db, err = pgx.Connect(t.Context(), w.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.db.Close(context.Background())) })
}

var anyMode = projections.Rules{Mode: projections.ModeAny}

func (w *world) open(t require.TestingT) *store.Store {
	s, err := store.Open(context.Background(), store.Config{DSN: w.dsn, Owner: "test", LeaseTime: 20 * time.Second, ConnectTimeout: wait.Timeout})
	require.NoError(t, err)
	return s
}

// inviter returns the reconciler of a new process.
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

// invited returns a world in which user u1 has bought a licence for a GitHub user with pay1, and an inviter that has
// handled the purchase.
func invited(t *testing.T, gitHubUser string) (*world, *Reconciler) {
	t.Helper()
	w := setup(t)
	w.buy(t, "u1", "pay1", gitHubUser)
	r := w.inviter(t)
	reconcile(t, r)
	return w, r
}

func (w *world) records(t *testing.T) records {
	t.Helper()
	s := w.open(t)
	t.Cleanup(s.Close)
	return records{s, "acme/tool", w.clock.Now, wait.Timeout}
}

// reconcile makes attempts until nothing is due.
func reconcile(t *testing.T, r *Reconciler) {
	t.Helper()
	require.NoError(t, r.records.scan(t.Context(), nil))
	for range 1000 {
		worked, err := r.next(t.Context())
		require.NoError(t, err)
		if !worked {
			return
		}
	}
	require.Fail(t, "always one more attempt is due")
}

// outlive reconciles when the attempts of dead processes have expired, and when GitHub no longer acts on their requests.
func (w *world) outlive(t *testing.T, r *Reconciler) {
	t.Helper()
	for _, wait := range []time.Duration{attemptExpiry, lateAction} {
		w.clock.Advance(wait)
		reconcile(t, r)
	}
}

func (w *world) exec(t require.TestingT, sql string, args ...any) {
	_, err := w.db.Exec(context.Background(), sql, args...)
	require.NoError(t, err)
}

// deliver folds events into the tables, as a projector does.
func (w *world) deliver(t require.TestingT, bodies ...string) {
	var batch []events.Event
	advance := store.Advance{LogID: "log-1", From: map[int]uint64{0: w.seq}, Digest: []byte("digest")}
	for _, body := range bodies {
		w.seq++
		batch = append(batch, providers.Decode(events.Message{Provider: "provider", Seq: w.seq, ID: fmt.Sprint("evt_", w.seq), Body: []byte(body), ReceivedAt: w.clock.Now()}))
	}
	advance.To = w.seq
	result, err := live.Apply(context.Background(), w.tables, anyMode, batch, advance)
	require.NoError(t, err)
	for _, event := range result.Events {
		require.Empty(t, event.Reason)
	}
}

// event returns the body of an event of the provider, with the present time.
func (w *world) event(eventType, object string) string {
	return fmt.Sprintf(`{"id":"evt_%d_%d","eventType":%q,"created_at":%d,"object":{%s}}`,
		w.seq, w.ids.Add(1), eventType, w.clock.Now().UnixMilli(), object)
}

// purchase returns a checkout of a licence.
func (w *world) purchase(user, payment, gitHubUser string) string {
	return w.event("checkout.completed", fmt.Sprintf(`"provider_payment_id":%q,"metadata":{"kind":"pro","user_id":%q,"github_username":%q}`, payment, user, gitHubUser))
}

func (w *world) reversal(payment string) string {
	return w.event("refund.created", fmt.Sprintf(`"provider_payment_id":%q`, payment))
}

func (w *world) buy(t require.TestingT, user, payment, gitHubUser string) {
	w.deliver(t, w.purchase(user, payment, gitHubUser))
}

func (w *world) refund(t require.TestingT, payment string) { w.deliver(t, w.reversal(payment)) }

// invitation reads the invitation of a purchase.
func (w *world) invitation(t *testing.T, user, payment string) Invitation {
	t.Helper()
	found, err := list(t.Context(), w.db, "user_id = $1 and provider_payment_id = $2", oldestFirst, user, payment)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
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
