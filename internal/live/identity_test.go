package live_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func appendTo(ctx context.Context, t *testing.T, log *eventlog.Log, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		event, err := specification.Parse([]byte(body))
		require.NoError(t, err)
		_, err = log.Append(ctx, events.Delivery{Event: event, Body: []byte(body), Provider: event.Provider, ReceivedAt: time.Now()})
		require.NoError(t, err)
	}
}

// snapshot is a backup as the nats command line takes it.
type snapshot struct {
	Config, State json.RawMessage
	chunks        [][]byte
}

func takeSnapshot(ctx context.Context, t *testing.T, admin *nats.Conn) snapshot {
	t.Helper()
	inbox := nats.NewInbox()
	chunks, err := admin.SubscribeSync(inbox)
	require.NoError(t, err)
	answer, err := admin.RequestWithContext(ctx, "$JS.API.STREAM.SNAPSHOT."+testenv.Stream,
		[]byte(`{"deliver_subject":"`+inbox+`","no_consumers":true}`))
	require.NoError(t, err)
	var s snapshot
	require.NoError(t, json.Unmarshal(answer.Data, &s))
	require.NotEmpty(t, s.State, string(answer.Data))
	for {
		chunk, err := chunks.NextMsgWithContext(ctx)
		require.NoError(t, err)
		if len(chunk.Data) == 0 {
			return s
		}
		s.chunks = append(s.chunks, chunk.Data)
		if chunk.Reply != "" {
			require.NoError(t, chunk.Respond(nil))
		}
	}
}

func restoreSnapshot(ctx context.Context, t *testing.T, admin *nats.Conn, s snapshot) {
	t.Helper()
	question, err := json.Marshal(map[string]json.RawMessage{"config": s.Config, "state": s.State})
	require.NoError(t, err)
	answer, err := admin.RequestWithContext(ctx, "$JS.API.STREAM.RESTORE."+testenv.Stream, question)
	require.NoError(t, err)
	var to struct {
		Subject string `json:"deliver_subject"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &to))
	require.NotEmpty(t, to.Subject, string(answer.Data))
	for _, chunk := range append(s.chunks, nil) {
		answer, err = admin.RequestWithContext(ctx, to.Subject, chunk)
		require.NoError(t, err)
	}
	require.NotContains(t, string(answer.Data), `"error"`)
}

// runOn runs a projector on another log than the world's.
func runOn(ctx context.Context, w *world.World, t *testing.T, log *eventlog.Log) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- waitRun(ctx, w, t, log) }()
	return func() error { cancel(); return <-ended }
}

func awaitProcessed(ctx context.Context, w *world.World, t *testing.T, want int) {
	t.Helper()
	wait.Until(t, func() bool {
		var have int
		err := w.DB.QueryRow(ctx, "select count(*) from portal.processed_event").Scan(&have)
		return err == nil && have == want
	})
}

func TestALogRestoredFromASnapshotIsTakenUp(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	server := testenv.NewNATS(t)
	log := server.Log(t)
	server.CreateStream(ctx, t, 8)
	appendTo(ctx, t, log, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1))
	stop := runOn(ctx, w, t, log)
	awaitProcessed(ctx, w, t, 2)
	early := takeSnapshot(ctx, t, server.Admin)
	appendTo(ctx, t, log, fixture.Pack("e3", "p3", "u3", 1))
	awaitProcessed(ctx, w, t, 3)
	late := takeSnapshot(ctx, t, server.Admin)
	require.NoError(t, stop())

	server = testenv.NewNATS(t)
	log = server.Log(t)
	restoreSnapshot(ctx, t, server.Admin, late)
	stop = runOn(ctx, w, t, log)
	appendTo(ctx, t, log, fixture.Pack("e4", "p4", "u1", 1))
	awaitProcessed(ctx, w, t, 4)
	require.NoError(t, stop())

	server = testenv.NewNATS(t)
	log = server.Log(t)
	restoreSnapshot(ctx, t, server.Admin, early)
	err := waitRun(ctx, w, t, log)
	require.ErrorIs(t, err, identity.ErrLogLost)
	require.ErrorContains(t, err, "it ends at seq 2")
	require.ErrorContains(t, err, "restore the log", "it says what to do")

	appendTo(ctx, t, log, fixture.Pack("x3", "x3", "u3", 1), fixture.Pack("x4", "x4", "u1", 1), fixture.Pack("x5", "x5", "u1", 1))
	err = waitRun(ctx, w, t, log)
	require.ErrorIs(t, err, identity.ErrLogLost)
	require.ErrorContains(t, err, "is not the one that was applied")
	require.EqualValues(t, 4, w.Number(ctx, t, "select count(*) from portal.processed_event"))
}

// The stream is deleted and created again while a reader's connection stays open.
func TestALogThatIsReplacedUnderAReaderIsNoticed(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	server := testenv.NewNATS(t)
	log := server.Log(t)
	// The server answers, and then removes the folder of all streams where it is empty,
	// also from under a stream that is just being made. It never is beside this one.
	_, err := server.JetStream.CreateStream(ctx, jetstream.StreamConfig{Name: "NEIGHBOUR"})
	require.NoError(t, err)
	server.CreateStream(ctx, t, 8)
	appendTo(ctx, t, log, fixture.Pack("e1", "p1", "u1", 1))
	ended := make(chan error, 1)
	go func() { ended <- waitRun(ctx, w, t, log) }()
	awaitProcessed(ctx, w, t, 1)
	require.NoError(t, server.JetStream.DeleteStream(ctx, testenv.Stream))
	server.CreateStream(ctx, t, 8)
	appendTo(ctx, t, log, fixture.Pack("x1", "x1", "u1", 1), fixture.Pack("x2", "x2", "u1", 1))
	require.ErrorIs(t, <-ended, store.ErrOtherLog)
	require.EqualValues(t, 1, w.Number(context.Background(), t, "select count(*) from portal.processed_event"))
}

// waitRun runs a projector until ctx ends or Run returns an error.
func waitRun(ctx context.Context, w *world.World, t *testing.T, log *eventlog.Log) error {
	t.Helper()
	database := w.OpenAs(ctx, t, "on-another-log")
	defer database.Close()
	config := w.Config(t, database, fixture.AnyMode)
	config.Log = log
	return live.New(config).Run(ctx)
}
