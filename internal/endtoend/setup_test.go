package endtoend

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) {
	code := testenv.RunWithPostgres(m)
	testenv.RemovePrograms()
	os.Exit(code)
}

const secret = "whsec_0123456789abcdef"

// world is one installation: a data directory, ingest with its embedded log, and
// projectors with one database.
type world struct {
	dir      string
	database string
	listen   string
	nats     string   // TCP address of the embedded log; empty: only its socket
	cluster  string   // NATS_URL of the log; empty: the embedded one
	settings []string // further environment of all programs
	ingest   *testenv.Program
	provider *testenv.Provider
}

// setup starts ingest on an empty data directory.
func setup(t testing.TB, env ...string) *world {
	t.Helper()
	w := start(t, t.TempDir(), env...)
	w.database = testenv.Database(t)
	return w
}

// start starts ingest on a data directory.
func start(t testing.TB, dir string, env ...string) *world {
	t.Helper()
	w := &world{dir: dir, listen: ports.Free(t), provider: newProvider(t)}
	w.startIngest(t, env...)
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	return w
}

func newProvider(t testing.TB) *testenv.Provider {
	provider := &testenv.Provider{Secret: secret, Client: &http.Client{
		Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	t.Cleanup(provider.Client.CloseIdleConnections)
	return provider
}

// startIngest starts ingest with the same address each time.
func (w *world) startIngest(t testing.TB, env ...string) {
	t.Helper()
	w.ingest = testenv.Start(t, "ingest", append(append(w.env(), "LISTEN_ADDR="+w.listen, "PROVIDER_WEBHOOK_SECRET="+secret, "PUBLISH_TIMEOUT=4500ms"), env...)) // a disk may be busy
	w.ingest.WaitFor(t, `msg="receiving deliveries"`)
}

func (w *world) startProjector(t testing.TB, env ...string) *testenv.Program {
	t.Helper()
	return testenv.Start(t, "projector", append(append(w.env(), "DATABASE_URL="+w.database), env...))
}

func (w *world) env() []string {
	return append([]string{"DATA_DIR=" + w.dir, "NATS_URL=" + w.cluster, "EMBEDDED_NATS_ADDR=" + w.nats, "ADMIN_ADDR=127.0.0.1:0"}, w.settings...)
}

// deliver repeats the delivery of each body until ingest answers 200.
func (w *world) deliver(t testing.TB, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		_, err := w.provider.DeliverUntilAccepted(t.Context(), body)
		require.NoError(t, err)
	}
}

// deliverForAnswer repeats a delivery while ingest answers 503, and returns the answer.
// first says that it is the answer to the first delivery.
func (w *world) deliverForAnswer(t testing.TB, body string) (answer string, first bool) {
	t.Helper()
	for first = true; ; first = false {
		status, answer, err := w.provider.Deliver(t.Context(), body)
		if err == nil && status != http.StatusServiceUnavailable {
			require.Equal(t, http.StatusOK, status, answer)
			return answer, first
		}
		require.NoError(t, t.Context().Err())
	}
}

// head returns the newest sequence of the log.
func (w *world) head(t testing.TB) uint64 {
	t.Helper()
	log, info := w.connect(t)
	defer log.Close()
	return info.Last
}

// connect waits for the log. The caller closes the connection.
func (w *world) connect(t testing.TB) (*eventlog.Log, eventlog.Info) {
	t.Helper()
	log, err := eventlog.Connect(eventlog.Config{URL: w.cluster, DataDir: w.dir, Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	var info eventlog.Info
	wait.Until(t, func() bool {
		info, err = log.Info(t.Context())
		return err == nil
	})
	return log, info
}

// awaitProjected waits until every message of the log is applied. It fails if nothing more is
// applied for wait.Timeout.
func (w *world) awaitProjected(t testing.TB) {
	t.Helper()
	head, position, since := w.head(t), int64(-1), time.Now()
	for position < int64(head) {
		applied, err := query[int64](t, w.database, "select coalesce(min(position), 0) from portal.checkpoint")
		if err == nil && applied > position {
			position, since = applied, time.Now()
			continue
		}
		require.Less(t, time.Since(since), wait.Timeout, "seq %d is applied, the head is %d; the last error is %v", position, head, err)
		time.Sleep(20 * time.Millisecond)
	}
}

// requireAllAccounted: every message of the log is one row, and balances are sums of the
// ledger.
func (w *world) requireAllAccounted(t testing.TB) {
	t.Helper()
	processed := mustQuery[int64](t, w.database, "select count(*) from portal.processed_event")
	duplicates := mustQuery[int64](t, w.database, "select count(*) from portal.duplicate_event")
	require.EqualValues(t, w.head(t), processed+duplicates)
	require.Zero(t, mustQuery[int64](t, w.database, `
		select count(*) from portal.credits c
		where balance <> (select coalesce(sum(delta), 0) from portal.credit_ledger l where l.user_id = c.user_id and l.kind = 'one_time')`))
}

// adminLine begins the line with the ADMIN_ADDR of a program.
const adminLine = `msg="health and metrics are served"`

// attribute returns the value of an attribute in a log line.
func attribute(line, name string) string {
	_, after, _ := strings.Cut(line, name+"=")
	value, _, _ := strings.Cut(after, " ")
	return strings.Trim(value, `"`)
}

// dsnOf reads the private Postgres' connection string.
func dsnOf(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres.dsn"))
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// setupPrivate is setup for projectors with a private Postgres.
func setupPrivate(t testing.TB) *world {
	t.Helper()
	// Where root runs the tests, Postgres runs as another user, who cannot enter t.TempDir().
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { removePrivate(t, dir) })
	return start(t, dir)
}

// removePrivate removes a data directory and the socket folder of its Postgres.
func removePrivate(t testing.TB, dir string) {
	if config, err := pgx.ParseConfig(dsnOf(t, dir)); err == nil {
		_ = os.RemoveAll(config.Host)
	}
	_ = os.RemoveAll(dir)
}

// startPrivate starts a projector with a private Postgres and waits until that is ready.
func (w *world) startPrivate(t testing.TB) *testenv.Program {
	t.Helper()
	projector := testenv.Start(t, "projector", w.env())
	projector.WaitFor(t, `msg="private postgres is ready"`)
	w.database = dsnOf(t, w.dir)
	return projector
}
