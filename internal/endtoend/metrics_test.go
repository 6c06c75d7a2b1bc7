package endtoend

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func scrape(t *testing.T, p *testenv.Program) string {
	t.Helper()
	status, text := answerOf(t, "http://"+adminOf(t, p)+"/metrics")
	require.Equal(t, http.StatusOK, status)
	return text + "\n"
}

var (
	metricHelp  = regexp.MustCompile(`(?m)^# HELP (payfold_\w+) (.*)$`)
	metricLabel = regexp.MustCompile(`(?m)^payfold_\w+\{(.*)\}`)
)

// After work of every kind, with ids to look for.
func TestRealProgramsServeTheDocumentedMetrics(t *testing.T) {
	t.Parallel()
	w, _, url := setupArchive(t)
	projector := w.startProjector(t)
	w.deliver(t, licence("evt_lint_1", "pay_lint_1", "user_lint_1", "github_lint_1"), refund("evt_lint_2", "pay_lint_1"),
		`{"id":"evt_lint_3","eventType":"checkout.completed","object":{"provider_payment_id":"pay_lint_3","metadata":{"kind":"one_time","user_id":"user_lint_3"}}}`)
	forged, err := http.Post(w.provider.URL, "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	require.NoError(t, forged.Body.Close())
	require.Equal(t, http.StatusUnauthorized, forged.StatusCode)
	w.awaitProjected(t)
	w.awaitArchived(t, url)
	rebuilt := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database), "rebuild", "--schema", "portal_next")
	require.Zero(t, rebuilt.Exit(t), rebuilt.Output())
	wait.Until(t, func() bool {
		text := scrape(t, projector)
		return strings.Contains(text, "\npayfold_projector_lag_messages 0\n") && strings.Contains(text, "\npayfold_rebuild_position{schema=\"portal_next\"} 3\n")
	}, "the projector has measured")

	documented, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	for heading, p := range map[string]*testenv.Program{"ingest": w.ingest, "projector": projector} {
		text := scrape(t, p)
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		require.NoError(t, err)
		require.Empty(t, problems)

		_, section, _ := strings.Cut(string(documented), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		found := metricHelp.FindAllStringSubmatch(text, -1)
		require.Greater(t, len(found), 15)
		for _, metric := range found {
			require.Regexp(t, regexp.MustCompile("(?m)^\\| `"+metric[1]+"` \\|.*\\| "+regexp.QuoteMeta(metric[2])+" \\|"), section)
		}
		for _, labels := range metricLabel.FindAllStringSubmatch(text, -1) {
			require.NotContains(t, labels[1], "lint", "no label has an id")
		}
	}
}

func TestALaterIngestKnowsWhenADeliveryWasLastAccepted(t *testing.T) {
	t.Parallel()
	const accepted = "\npayfold_webhook_last_accepted_timestamp_seconds "
	w := setup(t)
	require.NotContains(t, scrape(t, w.ingest), accepted)
	w.deliver(t, licence("e1", "p1", "u1", "g1"))
	require.Contains(t, scrape(t, w.ingest), accepted)
	w.ingest.Kill()
	w.startIngest(t)
	wait.Until(t, func() bool { return strings.Contains(scrape(t, w.ingest), accepted) }, "it has asked the log")
}
