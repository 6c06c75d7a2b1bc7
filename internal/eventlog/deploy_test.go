package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestTheDeployedClusterSurvivesOneServer(t *testing.T) {
	t.Parallel()
	c, ctx := startCluster(t)
	ingest, projector := c.createStream(ctx, t)
	appendSoon(ctx, t, ingest, "e1")
	info := infoSoon(ctx, t, projector)
	require.NoError(t, info.Unsafe)
	require.Equal(t, 3, info.Replicas)
	require.Equal(t, eventlog.Quorum, info.Durability)
	w := watch(t, ingest)
	w.await(t, "level=INFO", "200 means: acknowledged by a quorum", "replicas=3")
	require.Equal(t, []string{"quorum"}, w.durability(t))
	wait.Until(t, func() bool { return w.metric(t, "payfold_log_replicas_current") == 3 }, "three replicas are not current")
	for _, s := range c.servers {
		require.True(t, s.JetStreamIsClustered())
	}
	stopServer(c.servers[0])
	appendSoon(ctx, t, ingest, "e2")
	requireSoon(ctx, t, func(ctx context.Context) error {
		message, err := projector.Message(ctx, 2)
		if err == nil {
			require.Equal(t, "e2", message.ID)
		}
		return err
	})
	wait.Until(t, func() bool { return w.metric(t, "payfold_log_replicas_current") == 2 }, "nobody misses the third replica")
	require.EqualValues(t, 3, w.metric(t, "payfold_log_replicas"))
}

// A server that is left alone still tells what it has of the stream.
func TestWithoutAQuorumTheLogIsNotReady(t *testing.T) {
	t.Parallel()
	c, ctx := startCluster(t)
	ingest, projector := c.createStream(ctx, t)
	appendSoon(ctx, t, ingest, "e1")
	stopServer(c.servers[0])
	stopServer(c.servers[1])
	for _, log := range []*eventlog.Log{ingest, projector} {
		wait.Until(t, func() bool {
			asking, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			err := log.Ready(asking)
			return err != nil && strings.Contains(err.Error(), "the stream has no leader")
		}, "it is not said that there is no leader")
	}
}

func TestDeployedUsersMayDoTheirWorkAndNothingElse(t *testing.T) {
	t.Parallel()
	c, ctx := startCluster(t)
	ingest, projector := c.createStream(ctx, t)
	appendSoon(ctx, t, ingest, "e1")
	message := collectSoon(ctx, t, projector, 1, 1)[0]
	require.Equal(t, "e1", message.ID)
	requireSoon(ctx, t, func(ctx context.Context) error {
		again, err := projector.Message(ctx, 1)
		if err == nil {
			require.Equal(t, message, again)
		}
		return err
	})
	requireSoon(ctx, t, func(ctx context.Context) error {
		waiting, err := projector.Waiting(ctx, message.Partition, 0)
		if err == nil && waiting.Count == 0 {
			err = errors.New("the consumer's server does not have the message yet")
		}
		if err == nil {
			require.EqualValues(t, 1, waiting.Count)
			require.Equal(t, "e1", waiting.Oldest.ID)
		}
		return err
	})
	own := c.connect(t, "projector", "projector")
	requireSoon(ctx, t, func(ctx context.Context) error {
		_, err := request(ctx, t, own, "$JS.API.CONSUMER.CREATE.PAYMENTS.own", `{"stream_name":"PAYMENTS","config":{"name":"own","mem_storage":true,"num_replicas":1}}`)
		return err
	})
	answer, err := request(ctx, t, own, "$JS.API.CONSUMER.DELETE.PAYMENTS.own", "")
	require.NoError(t, err)
	require.Contains(t, answer, `"success":true`, "a reader may delete its own consumer")
	c.connect(t, "sys", "7f-3 b")

	const api = "$JS.API."
	for _, refused := range []struct{ user, subject, payload string }{
		{"projector", "payments.0", "{}"},
		{"projector", api + "STREAM.CREATE.MORE", `{"name":"MORE","subjects":["more"]}`},
		{"projector", api + "STREAM.UPDATE.PAYMENTS", `{"name":"PAYMENTS","subjects":["payments.0"],"num_replicas":3}`},
		{"projector", api + "STREAM.DELETE.PAYMENTS", ""},
		{"projector", api + "STREAM.PURGE.PAYMENTS", ""},
		{"projector", api + "STREAM.MSG.DELETE.PAYMENTS", `{"seq":1}`},
		{"projector", api + "STREAM.LEADER.STEPDOWN.PAYMENTS", ""},
		{"ingest", api + "STREAM.CREATE.MORE", `{"name":"MORE","subjects":["more"]}`},
		{"ingest", api + "STREAM.UPDATE.PAYMENTS", `{"name":"PAYMENTS","subjects":["payments.0"],"num_replicas":3}`},
		{"ingest", api + "STREAM.DELETE.PAYMENTS", ""},
		{"ingest", api + "STREAM.PURGE.PAYMENTS", ""},
		{"ingest", api + "STREAM.MSG.DELETE.PAYMENTS", `{"seq":1}`},
		{"ingest", api + "STREAM.MSG.GET.PAYMENTS", `{"seq":1}`},
		{"ingest", api + "DIRECT.GET.PAYMENTS", `{"seq":1}`},
		{"ingest", api + "CONSUMER.CREATE.PAYMENTS.mine", `{"stream_name":"PAYMENTS","config":{"name":"mine"}}`},
	} {
		answer, err := request(ctx, t, c.connect(t, refused.user, refused.user), refused.subject, refused.payload)
		want := nats.ErrPermissionViolation
		if refused.user == "projector" && strings.HasPrefix(refused.subject, api) {
			want = nats.ErrNoResponders // its account knows no such request
		}
		require.ErrorIs(t, err, want, "%s to %s: %s", refused.user, refused.subject, answer)
	}
	for _, user := range []string{"ingest", "projector"} {
		for _, subject := range []string{"payments.>", "_INBOX.>", "_INBOX.*", "_INBOX.*.>", "_INBOX.admin.>", "_INBOX.projector.>", "_INBOX.ingest.>"} {
			if subject == "_INBOX."+user+".>" {
				continue
			}
			conn := c.connect(t, user, user)
			_, err := conn.SubscribeSync(subject)
			require.NoError(t, err)
			require.NoError(t, conn.FlushWithContext(ctx))
			require.ErrorIs(t, conn.LastError(), nats.ErrPermissionViolation, "%s listens to %s", user, subject)
		}
	}
	requireLast(ctx, t, ingest, 1)
}

// The server sends its answer to any subject that a request names. It does not check whether the sender of the request
// may publish there, but it refuses a request whose answer would be one to its own API.
func TestADeployedReaderCannotMakeTheServerWrite(t *testing.T) {
	t.Parallel()
	c, ctx := startCluster(t)
	ingest, _ := c.createStream(ctx, t)
	appendSoon(ctx, t, ingest, "e1")
	config := `{"stream_name":"PAYMENTS","config":{"name":"mine","deliver_policy":"new","mem_storage":true,"num_replicas":1,"inactive_threshold":60000000000}}`
	requireSoon(ctx, t, func(ctx context.Context) error {
		_, err := request(ctx, t, c.connect(t, "projector", "projector"), "$JS.API.CONSUMER.CREATE.PAYMENTS.mine", config)
		return err
	})
	// With nothing to deliver the answer has no body, and a request to delete a stream has none.
	const next, nothing = "$JS.API.CONSUMER.MSG.NEXT.PAYMENTS.mine", `{"batch":1,"no_wait":true}`
	for _, trick := range []struct{ subject, reply, payload string }{
		{"$JS.API.STREAM.INFO.PAYMENTS", "payments.0", ""},
		{"$JS.API.STREAM.MSG.GET.PAYMENTS", "payments.0", `{"seq":1}`},
		{next, "payments.0", nothing},
		{next, "$JS.API.STREAM.DELETE.PAYMENTS", nothing},
		{next, "log.STREAM.DELETE.PAYMENTS", nothing},
	} {
		requireSoon(ctx, t, func(ctx context.Context) error {
			conn := c.connect(t, "projector", "projector") // a connection keeps its last error
			require.NoError(t, conn.PublishRequest(trick.subject, trick.reply, []byte(trick.payload)))
			// The answer to this one comes after the answer to the other.
			if _, err := request(ctx, t, conn, trick.subject, trick.payload); !errors.Is(err, nats.ErrPermissionViolation) {
				return err
			}
			return nil
		})
		requireLast(ctx, t, ingest, 1)
	}
}

// The rights of the lines that an operator enables are enough for the archive and for LOG_KEEP. The
// stream's own settings decide whether anything can be removed.
func TestADeployedIngestArchivesAndTrims(t *testing.T) {
	t.Parallel()
	c, ctx := startClusterOf(t, withRights(t))
	config := eventlog.StreamConfig{Name: testenv.Stream, Replicas: 3, Partitions: 8, DuplicateWindow: time.Minute, Trimmable: true}
	ingest, _ := c.createStreamOf(ctx, t, config)
	const messages = 50
	for i := range messages {
		appendSoon(ctx, t, ingest, fmt.Sprint("e", i))
	}
	place := &storage.Folder{Root: t.TempDir()}
	reader, err := eventlog.Connect(eventlog.Config{URL: c.url("projector"), Stream: testenv.Stream, Archive: place, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer reader.Close()
	want := collectSoon(ctx, t, reader, 1, messages)

	working, stop := context.WithCancel(ctx)
	var group errgroup.Group
	archiver := archive.NewArchiver(archive.Config{
		Place: place, Source: ingest, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(),
		SegmentBytes: 2 << 10, FrameBytes: 1 << 10, PollInterval: time.Millisecond, MinWait: time.Millisecond,
	})
	trimmer := archive.NewTrimmer(archive.TrimConfig{
		Place: place, Log: ingest, Keep: archive.Keep{Messages: 20}, Interval: time.Millisecond,
		Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(),
	})
	group.Go(func() error { return archiver.Run(working) })
	group.Go(func() error { return trimmer.Run(working) })
	wait.Until(t, func() bool {
		info, err := ingest.Info(ctx)
		return err == nil && info.ServerFirst > 20
	}, "the stream is trimmed")
	stop()
	require.NoError(t, group.Wait())
	info := infoSoon(ctx, t, ingest)
	require.LessOrEqual(t, info.ServerFirst, uint64(messages-20+1))
	require.NoError(t, info.Unsafe)
	require.Equal(t, want, collectSoon(ctx, t, reader, 1, messages), "from the archive and from the stream")

	_, err = request(ctx, t, c.connect(t, "projector", "projector"), "$JS.API.STREAM.PURGE.PAYMENTS", "")
	require.ErrorIs(t, err, nats.ErrNoResponders, "nobody else may trim")
}
