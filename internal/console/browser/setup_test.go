package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// bin has the programs.
var bin string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if bin, err = os.MkdirTemp("", "payfold-bin-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/...")
	build.Dir = "../../.."
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, output)
	}
	stop, err := startBrowser()
	if err != nil {
		return 1, err
	}
	defer stop()
	return m.Run(), nil
}

const secret = "whsec_0123456789abcdef"

// world is one installation: ingest with its log, a projector with its Postgres, and a console.
type world struct {
	t        *testing.T
	dir      string
	settings []string // of all programs, besides env
	provider *testenv.Provider
	ingest   []string         // settings of ingest
	log      *testenv.Program // ingest
	tables   *testenv.Program // the projector
	console  *console
}

// console is a running console.
type console struct {
	url   string // without a slash at its end
	token string // what opens it: /?token=…
}

// setup starts the programs. env is for the console.
func setup(t *testing.T, env ...string) *world {
	t.Helper()
	w := startShop(t)
	w.console = w.startConsole(env...)
	return w
}

// startShop is setup without a console. settings are for all programs.
func startShop(t *testing.T, settings ...string) *world {
	t.Helper()
	// Where root runs the tests, Postgres runs as another user, who cannot enter t.TempDir().
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	w := &world{t: t, dir: dir, settings: settings}
	t.Cleanup(w.remove)
	listen, admin := ports.Free(t), ports.Free(t)
	w.ingest = []string{"LISTEN_ADDR=" + listen, "ADMIN_ADDR=" + admin}
	w.settings = append(w.settings, "CONSOLE_INGEST_ADDR="+admin)
	w.provider = &testenv.Provider{URL: "http://" + listen + "/api/payments/provider/webhook", Secret: secret, Client: &http.Client{Timeout: 10 * time.Second}}
	t.Cleanup(w.provider.Client.CloseIdleConnections)
	w.log = w.start("ingest", w.ingest...)
	w.log.WaitFor(t, `msg="receiving deliveries"`)
	w.tables = w.start("projector")
	w.tables.WaitFor(t, "msg=projecting")
	return w
}

// start starts a program in the world's folder.
func (w *world) start(program string, env ...string) *testenv.Program {
	w.t.Helper()
	return testenv.StartCommand(w.t, exec.Command(filepath.Join(bin, program)), append(w.env(), env...))
}

func (w *world) env() []string {
	return append([]string{
		"DATA_DIR=" + w.dir, "EMBEDDED_NATS_ADDR=", "ADMIN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET=" + secret,
		"PUBLISH_TIMEOUT=4500ms",
	}, w.settings...)
}

// startConsole starts one more console.
func (w *world) startConsole(env ...string) *console {
	w.t.Helper()
	url, token, found := strings.Cut(w.startGuarded("127.0.0.1:0", env...), "/?token=")
	require.True(w.t, found, url)
	return &console{url: url, token: token}
}

// startGuarded starts a console at an address, and returns its link.
func (w *world) startGuarded(address string, env ...string) string {
	w.t.Helper()
	command := exec.Command(filepath.Join(bin, "projector"), "console")
	return testenv.StartCommand(w.t, command, append(append(w.env(), "CONSOLE_ADDR="+address), env...)).WaitFor(w.t, "console: ")
}

// finished is a command that has ended.
type finished struct {
	ExitCode int
	Output   string
}

// projector runs a command of the projector.
func (w *world) projector(args ...string) finished {
	w.t.Helper()
	p := w.startCommand(args...)
	return finished{p.Exit(w.t), p.Output()}
}

// startCommand starts a command of the projector.
func (w *world) startCommand(args ...string) *testenv.Program {
	w.t.Helper()
	return testenv.StartCommand(w.t, exec.Command(filepath.Join(bin, "projector"), args...), w.env())
}

// send sends an event.
func (w *world) send(body string) {
	w.t.Helper()
	_, err := w.provider.DeliverUntilAccepted(w.t.Context(), body)
	require.NoError(w.t, err)
}

// awaitApplied waits until the tables have every event.
func (w *world) awaitApplied() {
	w.t.Helper()
	w.await("the events to be applied", func() bool { return strings.Contains(w.projector("status", "--json").Output, `"lag":{"events":0`) })
}

// deliver sends events and waits until the tables have them.
func (w *world) deliver(bodies ...string) {
	w.t.Helper()
	for _, body := range bodies {
		w.send(body)
	}
	w.awaitApplied()
}

// database is a connection of the owner of the tables.
func (w *world) database() *pgx.Conn {
	w.t.Helper()
	dsn, err := os.ReadFile(filepath.Join(w.dir, "postgres.dsn"))
	require.NoError(w.t, err)
	db, err := pgx.Connect(w.t.Context(), strings.TrimSpace(string(dsn)))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// invite records what a projector with a repository would have done, as if GitHub had answered.
func (w *world) invite() {
	w.t.Helper()
	_, err := w.database().Exec(w.t.Context(), `
		insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, reason, invited_at, activated_at, due_at, changed_at)
		select $1, 'acme/tool-' || i, 'pay_licence', $2, status, case when status = 'failed' then 'GitHub does not know this user' end, now(), now(), now(), now()
		from unnest(array['invited', 'pending', 'collaborator', 'failed', 'expired', 'declined', 'withdrawn']) with ordinality as of(status, i)`, developer, people[2])
	require.NoError(w.t, err)
	_, err = w.database().Exec(w.t.Context(), "insert into payfold.invitation_pause values ('acme/tool-1', now() + interval '1 hour', 'limit', 'GitHub wants a pause')")
	require.NoError(w.t, err)
}

func (w *world) await(what string, condition func() bool) {
	w.t.Helper()
	wait.Until(w.t, condition, "waiting for %s", what)
}

// remove removes the folder of the world, and that of its Postgres' socket.
func (w *world) remove() {
	if dsn, err := os.ReadFile(filepath.Join(w.dir, "postgres.dsn")); err == nil {
		if config, err := pgx.ParseConfig(strings.TrimSpace(string(dsn))); err == nil {
			_ = os.RemoveAll(config.Host)
		}
	}
	_ = os.RemoveAll(w.dir)
}
