package endtoend

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Every secret and every body of these tests contains the mark. No output may contain it.
const (
	mark         = "MARKEDSECRET"
	markedSecret = "whsec_" + mark + "_0123456789"
)

func requireUnmarked(t *testing.T, p *testenv.Program) {
	t.Helper()
	require.NotContains(t, strings.ToUpper(p.Output()), mark)
}

// markedFile makes a file with these contents.
func markedFile(t *testing.T, contents string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(contents), 0o600))
	return name
}

func TestAFailedCommandPrintsNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, err := url.Parse(testenv.Database(t))
	require.NoError(t, err)
	real.User = url.UserPassword(real.User.Username(), mark)
	databases := map[string]string{
		"nobody listens": "DATABASE_URL=postgres://payfold:" + mark + "@127.0.0.1:1/payfold",
		"not its port":   "DATABASE_URL=postgres://payfold:" + mark + "@127.0.0.1:port/payfold",
		"no such option": "DATABASE_URL=postgres://payfold:" + mark + "@127.0.0.1/payfold?sslmode=never",
		"not a URL":      "DATABASE_URL=postgres://payfold:" + mark + "%@127.0.0.1/payfold",
		"a bare slash":   "DATABASE_URL=postgres://payfold:" + mark + "/x@127.0.0.1/payfold",
		"not a pair":     "DATABASE_URL=host=127.0.0.1 password='" + mark,
		"wrong password": "DATABASE_URL=" + real.String(),
	}
	clusters := map[string]string{
		"nobody listens": "NATS_URL=nats://payfold:" + mark + "@127.0.0.1:1",
		"not its port":   "NATS_URL=nats://payfold:" + mark + "@127.0.0.1:port",
		"not a URL":      "NATS_URL=nats://payfold:" + mark + "%@127.0.0.1",
		"a bare slash":   "NATS_URL=nats://payfold:" + mark + "/x@127.0.0.1:4222",
		"credentials":    "NATS_URL=nats://127.0.0.1:1 NATS_CREDS=" + markedFile(t, mark),
	}
	type run struct {
		program string
		env     []string
		args    []string
	}
	runs := map[string]run{
		"key of checkpoints": {"ingest", []string{"CHECKPOINT_KEY_FILE=" + markedFile(t, mark)}, []string{"checkpoint"}},
		"a sender":           {"ingest", []string{"PROVIDER_WEBHOOK_SECRET=" + markedSecret}, []string{"send", "--url", "http://127.0.0.1:1", markedFile(t, mark)}},
		"two secrets":        {"ingest", []string{"PROVIDER_WEBHOOK_SECRET=" + markedSecret, "PROVIDER_WEBHOOK_SECRET_FILE=" + markedFile(t, markedSecret)}, nil},
		"GitHub's token":     {"projector", []string{"INVITE_REPOSITORY=a/b", "INVITE_GITHUB_TOKEN=" + mark + "\x01"}, nil},
		"GitHub's key": {
			"projector", []string{"INVITE_REPOSITORY=a/b", "INVITE_GITHUB_APP_ID=1", "INVITE_GITHUB_APP_INSTALLATION_ID=1", "INVITE_GITHUB_APP_KEY_FILE=" + markedFile(t, mark)}, nil,
		},
		"GitHub's address": {"projector", []string{"INVITE_REPOSITORY=a/b", "INVITE_GITHUB_API_URL=https://user:" + mark + "@127.0.0.1"}, nil},
		"an object store":  {"ingest", []string{"ARCHIVE_URL=s3://bucket", "ARCHIVE_S3_ENDPOINT=https://key:" + mark + "@127.0.0.1"}, []string{"archive"}},
		"a proof":          {"ingest", []string{"CHECKPOINT_VERIFIER_KEY=x"}, []string{"check-proof", markedFile(t, mark)}},
	}
	for name, database := range databases {
		runs["the database, "+name] = run{"projector", []string{database}, []string{"status"}}
	}
	for name, cluster := range clusters {
		runs["the cluster, "+name] = run{"ingest", append(strings.Fields(cluster), "ARCHIVE_URL="+dir), []string{"archive", "--heal"}}
	}
	for name, c := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"DATA_DIR=" + dir, "ADMIN_ADDR=127.0.0.1:0", "LISTEN_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"}, c.env...)
			p := testenv.Start(t, c.program, env, c.args...)
			require.NotZero(t, p.Exit(t), p.Output())
			require.NotEmpty(t, p.Output())
			requireUnmarked(t, p)
		})
	}
}

func TestTheLogsOfTheProgramsHaveNeitherSecretsNorBodies(t *testing.T) {
	t.Parallel()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(store.Close)
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := &world{dir: t.TempDir(), database: testenv.Database(t), provider: newProvider(t)}
			w.provider.Secret = markedSecret
			logged := []string{
				"LOG_LEVEL=debug", "LOG_FORMAT=" + format,
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + store.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + mark,
			}
			w.ingest = testenv.Start(t, "ingest", append(append(w.env(), logged...), "LISTEN_ADDR=127.0.0.1:0",
				"PROVIDER_WEBHOOK_SECRET="+markedSecret, "PROVIDER_WEBHOOK_SECRET_PREVIOUS="+markedSecret+"2",
				"ARCHIVE_URL=s3://bucket", "ARCHIVE_S3_ENDPOINT="+store.URL, "AWS_ACCESS_KEY_ID="+mark, "AWS_SECRET_ACCESS_KEY="+mark, "AWS_REGION=us-east-1", "ARCHIVE_INTERVAL=100ms"))
			w.provider.URL = "http://" + field(t, w.ingest, "receiving deliveries", "listen_addr") + "/api/payments/provider/webhook"
			admin := field(t, w.ingest, "health and metrics are served", "admin_addr")
			projector := testenv.Start(t, "projector", append(append(w.env(), logged...), "DATABASE_URL="+w.database,
				"ARCHIVE_URL=none", "INVITE_REPOSITORY=a/b", "INVITE_GITHUB_TOKEN="+mark, "INVITE_GITHUB_API_URL="+store.URL))

			customer := fmt.Sprintf(`"customer":{"email":"%s@example.com","name":"%s"}`, mark, mark)
			good := func(id, rest string) string {
				return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{%s,"provider_payment_id":"pay_%s","metadata":{"user_id":"u_1","note":"%s",%s}}}`, id, customer, id, mark, rest)
			}
			w.deliver(t, good("evt_1", `"kind":"one_time","credits":5`), good("evt_1", `"kind":"one_time","credits":5`),
				good("evt_2", `"kind":"one_time","credits":"`+mark+`"`), good("evt_3", `"kind":"`+mark+`"`), good("evt_4", `"kind":"pro","github_username":"octocat"`))
			for _, body := range []string{`{"id":"evt_5","` + mark, mark, `{"id":"evt_6","eventType":7,"object":"` + mark + `"}`} {
				status, answer, err := w.provider.Deliver(t.Context(), body)
				require.NoError(t, err)
				require.Equal(t, http.StatusBadRequest, status, answer)
			}
			stranger := testenv.Provider{URL: w.provider.URL, Secret: mark, Client: w.provider.Client}
			status, answer, err := stranger.Deliver(t.Context(), good("evt_7", `"kind":"one_time","credits":5`))
			require.NoError(t, err)
			require.Equal(t, http.StatusUnauthorized, status, answer)

			w.awaitProjected(t)
			for _, p := range []*testenv.Program{w.ingest, projector} {
				wait.Until(t, func() bool {
					return strings.Contains(p.Output(), "the archive cannot be written now") || strings.Contains(p.Output(), "GitHub refuses the credentials")
				}, "the refusal of the store, and of GitHub")
			}
			for _, path := range []string{"/readyz", "/status", "/metrics", "/debug/pprof/goroutine?debug=2"} {
				_, text := answerOf(t, "http://"+admin+path)
				require.NotContains(t, text, mark, path)
			}
			stop(t, projector)
			stop(t, w.ingest)
			require.Contains(t, w.ingest.Output(), "a delivery was refused")
			requireUnmarked(t, projector)
			requireUnmarked(t, w.ingest)
		})
	}
}

// field returns an attribute of a line of the log, in either format.
func field(t *testing.T, p *testenv.Program, message, name string) string {
	t.Helper()
	line := p.WaitFor(t, message)
	for _, begin := range []string{name + "=", `"` + name + `":"`} {
		if _, after, found := strings.Cut(line, begin); found {
			value, _, _ := strings.Cut(strings.TrimSuffix(after, "}"), " ")
			value, _, _ = strings.Cut(value, `"`)
			return value
		}
	}
	require.Fail(t, "no such attribute", "%s in %q", name, line)
	return ""
}
