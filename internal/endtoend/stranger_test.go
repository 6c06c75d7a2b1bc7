package endtoend

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// startLimited starts ingest with a limit of open files.
func startLimited(t testing.TB, files int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), listen: "127.0.0.1:0", provider: newProvider(t)}
	limited := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, files), testenv.Binary(t, "ingest"))
	w.ingest = testenv.StartCommand(t, limited, append(w.env(), "LISTEN_ADDR="+w.listen, "PROVIDER_WEBHOOK_SECRET="+secret))
	w.listen = attribute(w.ingest.WaitFor(t, `msg="receiving deliveries"`), "listen_addr")
	w.provider.URL = "http://" + w.listen + "/api/payments/provider/webhook"
	return w
}

func buildCommand(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	command := exec.Command("go", "build", "-trimpath", "-o", file, "github.com/payfold/payfold/internal/testenv/"+name)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return file
}

// attack starts the command stranger and waits until it has opened all its connections.
func (w *world) attack(t testing.TB, stranger, attack string, connections, rate int) *testenv.Program {
	t.Helper()
	program := testenv.StartCommand(t, exec.Command(stranger, "-address", w.listen, "-attack", attack,
		"-connections", strconv.Itoa(connections), "-rate", strconv.Itoa(rate)), nil)
	program.WaitFor(t, "msg=attacking")
	return program
}

// sized returns an event of about that many bytes.
func sized(id string, size int) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"x":"%s"}}`, id, strings.Repeat("x", size))
}

// deliveryTimeout is for one delivery with its repetitions. It is less than the two minutes
// for which a connection may idle.
const deliveryTimeout = wait.Timeout / 2

// It runs alone in its package: five attackers and ingest take both cores of a small machine.
func TestUnauthenticatedSendersNeitherExhaustFilesNorBlockDeliveries(t *testing.T) {
	const files = 256
	w := startLimited(t, files)
	w.deliver(t, sized("before", 100)) // opens the kept connection
	stranger := buildCommand(t, "stranger")
	for _, attack := range []string{"refused", "silent", "slow header", "held-back body", "slow body"} {
		w.attack(t, stranger, attack, 200, 50)
	}
	newConnections := &testenv.Provider{URL: w.provider.URL, Secret: secret, Client: &http.Client{
		Timeout: deliveryTimeout, Transport: &http.Transport{DisableKeepAlives: true},
	}}
	for i := range 5 {
		for kind, provider := range map[string]*testenv.Provider{"kept": w.provider, "new": newConnections} {
			for _, size := range []int{1500, 50_000, 500_000} {
				ctx, cancel := context.WithTimeout(t.Context(), deliveryTimeout)
				_, err := provider.DeliverUntilAccepted(ctx, sized(fmt.Sprintf("%s_%d_%d", kind, i, size), size))
				cancel()
				require.NoError(t, err)
			}
		}
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.ingest.Pid()))
		require.NoError(t, err)
		require.Less(t, len(open), files*3/4, "the log needs the other files")
	}
}
