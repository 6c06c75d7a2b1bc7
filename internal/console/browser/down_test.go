package browser

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// overview returns the overview as JSON.
func (w *world) overview() (status int, text string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.console.url+"/", nil)
	require.NoError(w.t, err)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Bearer "+w.console.token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err)
	return answer.StatusCode, string(body)
}

// awaitOverview waits until the overview has all texts.
func (w *world) awaitOverview(texts ...string) {
	w.t.Helper()
	w.await("the overview to say "+strings.Join(texts, " and "), func() bool {
		_, text := w.overview()
		for _, want := range texts {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return true
	})
}

func TestTheOverviewSaysWhatIsDownAndWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.deliver(pack("evt_1", buyer, 5))
	status, text := w.overview()
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"concerns":[]`)
	require.Contains(t, text, `"credits_granted":5`)

	w.tables.Kill()
	w.tables.Exit(t)
	w.awaitOverview("No projector works on the tables")
	_, text = w.overview()
	require.NotContains(t, text, "Ingest does not answer")

	w.log.Kill()
	w.log.Exit(t)
	w.awaitOverview("Ingest does not answer, so whether deliveries are stored", "The log: ")
	_, text = w.overview()
	require.NotContains(t, text, "Events are stored")

	pid, err := os.ReadFile(filepath.Join(w.dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	number, err := strconv.Atoi(strings.SplitN(string(pid), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(number, syscall.SIGQUIT))
	w.awaitOverview("The tables cannot be read", "Ingest does not answer either, so whether deliveries are stored is not known.")
	w.log = w.start("ingest", w.ingest...)
	w.log.WaitFor(t, `msg="receiving deliveries"`)
	w.awaitOverview("Ingest stores deliveries, so none is lost")
}

func TestAnEmptyInstallationSaysHowTheFirstEventComes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	tab := w.console.newTab(t)
	tab.open("/")
	require.Contains(t, tab.main(), "/api/payments/provider/webhook")
	require.Contains(t, tab.main(), "PROVIDER_WEBHOOK_SECRET")
	require.Contains(t, tab.main(), "bin/ingest send examples/first-event.json")
}
