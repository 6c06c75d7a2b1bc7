package endtoend

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestIngestIsNotReadyUntilTheStreamIsCreated(t *testing.T) {
	t.Parallel()
	nats := testenv.NewNATS(t)
	w := &world{dir: t.TempDir(), database: testenv.Database(t)}
	env := []string{"NATS_URL=" + nats.URL, "ADMIN_ADDR=127.0.0.1:0", "DATA_DIR=" + w.dir}
	ingest := testenv.Start(t, "ingest", append(env, "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret))
	line := ingest.WaitFor(t, `msg="receiving deliveries"`)
	projector := testenv.Start(t, "projector", append(env, "DATABASE_URL="+w.database))
	w.provider = &testenv.Provider{
		URL: "http://" + attribute(line, "listen_addr") + "/api/payments/provider/webhook", Secret: secret, Client: http.DefaultClient,
	}
	body := pack("evt_1", "pay_1", "u_1", 4)

	status, answer, err := w.provider.Deliver(t.Context(), body)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, answer)
	ready := "http://" + attribute(ingest.WaitFor(t, adminLine), "admin_addr") + "/readyz"
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, ready))

	threeReplicas := testenv.Start(t, "ingest", append(env, "STREAM_PARTITIONS=8"), "create-stream")
	require.Equal(t, 1, threeReplicas.Exit(t), "there is no cluster")
	require.Contains(t, threeReplicas.Output(), "a single server cannot hold 3 replicas")
	env = append(env, "STREAM_REPLICAS=1")
	create := testenv.Start(t, "ingest", append(env, "STREAM_PARTITIONS=8"), "create-stream")
	require.Zero(t, create.Exit(t), create.Output())
	require.Contains(t, create.Output(), "a power cut of its server may lose events that were answered 200")
	again := testenv.Start(t, "ingest", append(env, "STREAM_PARTITIONS=16"), "create-stream")
	require.Zero(t, again.Exit(t), "the existing stream is not changed")
	require.Contains(t, again.Output(), "differs")

	wait.Until(t, func() bool { return statusOf(t, ready) == http.StatusOK })
	_, err = w.provider.DeliverUntilAccepted(t.Context(), body)
	require.NoError(t, err)
	wait.Until(t, func() bool {
		balance, err := query[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'")
		return err == nil && balance == 4
	})
	require.EqualValues(t, 8, mustQuery[int64](t, w.database, "select count(*) from portal.checkpoint"))
	ingest.WaitFor(t, `level=WARN msg="200 means: acknowledged by one server`)
	require.NotContains(t, ingest.Output(), "quorum")
	stop(t, projector)
	stop(t, ingest)
}

func TestNoStreamIsMadeWhileTheArchiveHasALog(t *testing.T) {
	t.Parallel()
	archive := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(archive, "log_1"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(archive, "log_1", "00000000000000000001.seg"), nil, 0o600))
	create := testenv.Start(t, "ingest", []string{"NATS_URL=" + testenv.NewNATS(t).URL, "STREAM_REPLICAS=1", "ARCHIVE_URL=" + archive}, "create-stream")
	require.Equal(t, 1, create.Exit(t))
	require.Contains(t, create.Output(), "there is no log, and the archive "+archive+" has log log_1: restore it")
}

// A log that is lost may be in an archive that is away. A place that does not exist yet has none.
func TestNoStreamIsMadeWhileTheArchiveCannotBeRead(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "archive")
	require.NoError(t, os.WriteFile(archive, nil, 0o600)) // no folder can be there
	env := []string{"NATS_URL=" + testenv.NewNATS(t).URL, "STREAM_REPLICAS=1", "ARCHIVE_URL=" + archive}
	create := testenv.Start(t, "ingest", env, "create-stream")
	require.Equal(t, 1, create.Exit(t), create.Output())
	require.Contains(t, create.Output(), "there is no log, and the archive cannot be read: "+archive+": open "+archive+": not a directory; ")
	require.Contains(t, create.Output(), "run the command again when it can be read")

	require.NoError(t, os.Remove(archive))
	create = testenv.Start(t, "ingest", env, "create-stream")
	require.Zero(t, create.Exit(t), create.Output())

	require.NoError(t, os.WriteFile(archive, nil, 0o600))
	create = testenv.Start(t, "ingest", env, "create-stream")
	require.Zero(t, create.Exit(t), "the stream exists: %s", create.Output())
}

func TestAnUnreachableClusterIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	create := testenv.Start(t, "ingest", []string{"DATA_DIR=" + t.TempDir(), "NATS_URL=nats://ingest:" + mark + "@127.0.0.1:1"}, "create-stream")
	require.Equal(t, 1, create.Exit(t), create.Output())
	require.Contains(t, create.Output(), "is the server of NATS_URL running at nats://127.0.0.1:1, ")
	requireUnmarked(t, create)
}

// With MaxMsgs each event deletes the last.
func TestIngestConfirmsNothingWithAStreamThatDeletesEvents(t *testing.T) {
	t.Parallel()
	nats := testenv.NewNATS(t)
	_, err := nats.JetStream.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: testenv.Stream, Subjects: []string{"payments.0"}, Storage: jetstream.MemoryStorage, MaxMsgs: 1, Discard: jetstream.DiscardOld,
		Metadata: map[string]string{"log_id": "a", "partitions": "1", "format": "2"},
	})
	require.NoError(t, err)
	env := []string{"NATS_URL=" + nats.URL, "ADMIN_ADDR=127.0.0.1:0", "DATA_DIR=" + t.TempDir()}
	ingest := testenv.Start(t, "ingest", append(env, "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret))
	line := ingest.WaitFor(t, `msg="receiving deliveries"`)
	provider := &testenv.Provider{
		URL: "http://" + attribute(line, "listen_addr") + "/api/payments/provider/webhook", Secret: secret, Client: http.DefaultClient,
	}
	const reason = "max_msgs is 1, must be -1"
	for _, id := range []string{"evt_1", "evt_2"} {
		status, answer, err := provider.Deliver(t.Context(), pack(id, "pay_"+id, "u_1", 4))
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, status, answer)
	}
	response, err := http.Get("http://" + attribute(ingest.WaitFor(t, adminLine), "admin_addr") + "/readyz")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Contains(t, string(text), reason)
	require.Contains(t, ingest.WaitFor(t, `level=ERROR msg="no delivery is confirmed"`), reason)

	create := testenv.Start(t, "ingest", append(env, "STREAM_REPLICAS=1"), "create-stream")
	require.Equal(t, 1, create.Exit(t), "the existing stream is unsafe")
	require.Contains(t, create.Output(), reason)
	stop(t, ingest)
}

func TestAKilledProjectorLeavesNoReaderBehind(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	nats := testenv.NewNATS(t)
	nats.CreateStream(ctx, t, 8)
	projector := testenv.Start(t, "projector", []string{
		"NATS_URL=" + nats.URL, "ADMIN_ADDR=127.0.0.1:0", "DATA_DIR=" + t.TempDir(), "DATABASE_URL=" + testenv.Database(t),
	})
	wait.Until(t, func() bool { return nats.Consumers(ctx, t) == 1 })
	projector.Kill()
	wait.Until(t, func() bool { return nats.Consumers(ctx, t) == 0 })
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	return response.StatusCode
}
