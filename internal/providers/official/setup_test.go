package official

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

var (
	ingest   string // the program
	official *packages
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "payfold-bin-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ingest = filepath.Join(dir, "ingest")
	build := exec.Command("go", "build", "-trimpath", "-o", ingest, "./cmd/ingest")
	build.Dir = "../../.."
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build ingest: %w\n%s", err, output)
	}
	var stop func()
	if official, stop, err = startPackages(); err != nil {
		return 1, err
	}
	defer stop()
	return m.Run(), nil
}

// world is an ingest with its log.
type world struct {
	dir, listen string
	client      *http.Client
	ingest      *testenv.Program
}

// setup starts ingest with the secrets of before the rotation.
func setup(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), client: &http.Client{Timeout: 30 * time.Second}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.start(t, older)
	return w
}

// start starts ingest with one of the secrets of each provider, and with previous ones.
func (w *world) start(t *testing.T, current int, previous ...int) {
	t.Helper()
	env := []string{"DATA_DIR=" + w.dir, "EMBEDDED_NATS_ADDR=", "ADMIN_ADDR=127.0.0.1:0", "LISTEN_ADDR=" + w.listen}
	for _, name := range providers.Names() {
		variable := strings.ToUpper(name) + "_WEBHOOK_SECRET"
		if name == "payfold" {
			variable = "PAYFOLD_EVENT_SECRET"
		}
		env = append(env, variable+"="+secrets[name][current])
		for _, one := range previous {
			env = append(env, variable+"_PREVIOUS="+secrets[name][one])
		}
	}
	w.ingest = testenv.StartCommand(t, exec.Command(ingest), env)
	w.ingest.WaitFor(t, `msg="receiving deliveries"`)
}

// restart is start after the end of the ingest that runs.
func (w *world) restart(t *testing.T, current int, previous ...int) {
	t.Helper()
	w.client.CloseIdleConnections()
	w.ingest.Signal(syscall.SIGTERM)
	require.Zero(t, w.ingest.Exit(t))
	w.start(t, current, previous...)
}

// answer is the answer to a delivery: the status of an event that is stored, or the detail of a problem.
type answer struct {
	code int
	text string
}

// The answers that do not depend on the provider.
var (
	accepted  = answer{http.StatusOK, "accepted"}
	duplicate = answer{http.StatusOK, "duplicate"}
	wrongTime = answer{http.StatusUnauthorized, "the signed time is more than five minutes from this server's"}
)

// deliver sends a delivery to the path of the sender's provider.
func (w *world) deliver(t *testing.T, s sender, body string, header http.Header) answer {
	t.Helper()
	url := "http://" + w.listen + s.of().Path()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	var fields map[string]any
	require.NoError(t, json.NewDecoder(response.Body).Decode(&fields))
	name := "status"
	if response.StatusCode != http.StatusOK {
		name = "detail"
	}
	return answer{response.StatusCode, fmt.Sprint(fields[name])}
}

// forged is the answer to a signature that is not valid.
func forged(s sender) answer {
	const rest = " is that of the raw body under this endpoint's secret"
	return answer{http.StatusUnauthorized, "no signature in " + expected(s) + rest}
}

// unsigned is the answer to a delivery without the expected header.
func unsigned(s sender) answer {
	return answer{http.StatusUnauthorized, "this path expects " + expected(s)}
}

func expected(s sender) string { return strings.ToLower(s.of().SignatureHeader()) }

// reads reports whether the sender's provider reads signatures in that header.
func reads(s sender, header string) bool {
	return slices.ContainsFunc(senders, func(o sender) bool { return o.provider == s.provider && o.header == header })
}
