package eventlog_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// setupStream starts a server with a stream as create-stream creates it, changed by change.
func setupStream(t *testing.T, change func(*jetstream.StreamConfig)) (context.Context, *testenv.NATS, *eventlog.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	t.Cleanup(cancel)
	n := testenv.NewNATS(t)
	const partitions = 4
	config := jetstream.StreamConfig{
		Name: testenv.Stream, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, DenyDelete: true, DenyPurge: true,
		Metadata: map[string]string{"log_id": "a", "partitions": strconv.Itoa(partitions), "format": "2"},
	}
	for p := range partitions {
		config.Subjects = append(config.Subjects, "payments."+strconv.Itoa(p))
	}
	change(&config)
	_, err := n.JetStream.CreateStream(ctx, config)
	require.NoError(t, err)
	return ctx, n, n.Log(t)
}

func TestAStreamThatMayLoseEventsConfirmsNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*jetstream.StreamConfig)
		says   []string
	}{
		"memory, the oldest goes": {
			func(c *jetstream.StreamConfig) {
				c.Storage, c.MaxMsgs, c.Discard = jetstream.MemoryStorage, 1, jetstream.DiscardOld
			},
			[]string{`storage is "memory", must be "file"`, "max_msgs is 1, must be -1", `discard is "old", must be "new"`},
		},
		"memory":      {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, []string{"storage"}},
		"discard old": {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, []string{"discard"}},
		"work queue":  {func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, []string{`retention is "workqueue"`}},
		"interest":    {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, []string{`retention is "interest"`}},
		"messages":    {func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 << 40 }, []string{"max_msgs"}},
		"bytes":       {func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 30 }, []string{"max_bytes"}},
		"age":         {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{"max_age is 1h0m0s, must be 0s"}},
		"size":        {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 20 }, []string{"max_msg_size"}},
		"per subject": {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, []string{"max_msgs_per_subject"}},
		"new per subject": {
			func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 5, true },
			[]string{"discard_new_per_subject is true"},
		},
		"consumers":       {func(c *jetstream.StreamConfig) { c.MaxConsumers = 10 }, []string{"max_consumers"}},
		"consumer limits": {func(c *jetstream.StreamConfig) { c.ConsumerLimits.InactiveThreshold = time.Minute }, []string{"consumer_limits"}},
		"deletions":       {func(c *jetstream.StreamConfig) { c.DenyDelete = false }, []string{"deny_delete is false, must be true"}},
		"purges":          {func(c *jetstream.StreamConfig) { c.DenyPurge = false }, []string{"deny_purge is false"}},
		"roll-ups":        {func(c *jetstream.StreamConfig) { c.DenyPurge, c.AllowRollup = false, true }, []string{"allow_rollup_hdrs is true"}},
		"no answers":      {func(c *jetstream.StreamConfig) { c.NoAck = true }, []string{"no_ack"}},
		"expiry":          {func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true }, []string{"allow_msg_ttl"}},
		"counters": {
			func(c *jetstream.StreamConfig) { c.AllowMsgCounter, c.Discard = true, jetstream.DiscardOld },
			[]string{"allow_msg_counter", "discard"},
		},
		"written later":     {func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode }, []string{"persist_mode"}},
		"a subject more":    {func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "payments.x") }, []string{"subjects are not exactly payments.0 to payments.3"}},
		"a subject less":    {func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[1:] }, []string{"subjects"}},
		"all subjects":      {func(c *jetstream.StreamConfig) { c.Subjects = []string{"payments.*"} }, []string{"subjects"}},
		"another's as well": {func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "OTHER"}} }, []string{"sources"}},
		"a mirror": {
			func(c *jetstream.StreamConfig) { c.Mirror, c.Subjects = &jetstream.StreamSource{Name: "OTHER"}, nil },
			[]string{"mirror", "subjects"},
		},
		"renamed": {
			func(c *jetstream.StreamConfig) {
				c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "payments.1", Destination: "payments.2"}
			},
			[]string{"subject_transform"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, _, l := setupStream(t, test.change)
			appended := func(ctx context.Context) error {
				_, err := l.Append(ctx, delivery(t, body("e1", "c")))
				return err
			}
			created := func(ctx context.Context) error {
				return l.CreateStream(ctx, eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, Partitions: 4, DuplicateWindow: time.Minute}, testenv.Logger(t))
			}
			for _, refuses := range []func(context.Context) error{l.Ready, appended, created} {
				var err error
				var unsafe *eventlog.UnsafeError
				wait.Until(t, func() bool { // on a busy machine the server may not answer in time
					err = refuses(ctx)
					require.Error(t, err)
					return errors.As(err, &unsafe)
				}, "the refusal")
				require.GreaterOrEqual(t, len(unsafe.Settings), len(test.says))
				for _, said := range test.says {
					require.ErrorContains(t, err, said)
				}
			}
			info, err := l.Info(ctx)
			require.NoError(t, err)
			require.Zero(t, info.Last, "nothing is stored")
			require.Error(t, info.Unsafe)
		})
	}
}

// A server whose disk is damaged can lose messages and go on.
func TestAServerThatHasLostMessagesConfirmsNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lost   []uint64
		change func(*jetstream.StreamConfig)
		says   string // empty: nothing is wrong
	}{
		"nothing":                 {nil, func(*jetstream.StreamConfig) {}, ""},
		"nothing, begins at 7":    {nil, func(c *jetstream.StreamConfig) { c.FirstSeq = 7 }, ""},
		"in the middle":           {[]uint64{2}, func(*jetstream.StreamConfig) {}, "has lost 1 of 3 messages"},
		"the first":               {[]uint64{1}, func(*jetstream.StreamConfig) {}, "has lost 1 of 3 messages"},
		"the newest":              {[]uint64{3}, func(*jetstream.StreamConfig) {}, "has lost 1 of 3 messages"},
		"all":                     {[]uint64{1, 2, 3}, func(*jetstream.StreamConfig) {}, "has lost 3 of 3 messages"},
		"the first, removed":      {[]uint64{1}, trimmable, ""},
		"the second, not removed": {[]uint64{2}, trimmable, "has lost 1 of 3 messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, n, l := setupStream(t, func(c *jetstream.StreamConfig) { c.DenyDelete = false; test.change(c) })
			stream, err := n.JetStream.Stream(ctx, testenv.Stream)
			require.NoError(t, err)
			for range 3 {
				_, err := n.JetStream.Publish(ctx, "payments.0", nil)
				require.NoError(t, err)
			}
			for _, seq := range test.lost {
				require.NoError(t, stream.DeleteMsg(ctx, seq))
			}
			var unsafe *eventlog.UnsafeError
			wait.Until(t, func() bool { return errors.As(l.Ready(ctx), &unsafe) })
			require.Contains(t, unsafe.Settings[0], "deny_delete is false")
			require.Len(t, unsafe.Settings[1:], min(len(test.says), 1))
			require.Contains(t, unsafe.Settings[len(unsafe.Settings)-1], test.says)
		})
	}
}

// trimmable is a stream that was made with LOG_KEEP.
func trimmable(c *jetstream.StreamConfig) { c.DenyPurge, c.Metadata["trimmable"] = false, "true" }

func TestWhatAnAdministratorMayChooseIsNoFault(t *testing.T) {
	t.Parallel()
	ctx, _, l := setupStream(t, func(c *jetstream.StreamConfig) {
		c.Description, c.Compression, c.Duplicates, c.FirstSeq = "ours", jetstream.S2Compression, time.Hour, 7
		c.AllowDirect, c.AllowAtomicPublish, c.AllowBatchPublish = true, true, true
		c.RePublish = &jetstream.RePublish{Source: ">", Destination: "copies.>"}
	})
	require.NoError(t, l.Ready(ctx))
	store(ctx, t, l, delivery(t, body("e1", "c")))
}

// A stream from create-stream has the required settings on both kinds of server.
func TestANewStreamKeepsItsPromises(t *testing.T) {
	t.Parallel()
	ctx, _, l := setupNATS(t)
	require.NoError(t, l.Ready(ctx))
	info, err := l.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, info.Unsafe)
	require.Equal(t, eventlog.OneServer, info.Durability)
	require.Equal(t, 1, info.Replicas)

	embedded := testenv.NewLog(t, 8)
	for _, l := range []*eventlog.Log{embedded.Log, embedded.Reader(t)} {
		wait.Until(t, func() bool { info, err = l.Info(ctx); return err == nil })
		require.NoError(t, info.Unsafe)
		require.Equal(t, eventlog.Fsynced, info.Durability)
	}
}

// watched is a watch that runs, what it logs and what it measures.
type watched struct {
	text     wait.Buffer
	registry *prometheus.Registry
}

func watch(t *testing.T, l *eventlog.Log) *watched {
	t.Helper()
	w := &watched{registry: prometheus.NewRegistry()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	watch := eventlog.NewWatch(l, slog.New(slog.NewTextHandler(&w.text, nil)), w.registry)
	go func() { ended <- watch.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return w
}

func (w *watched) await(t *testing.T, words ...string) {
	t.Helper()
	wait.Until(t, func() bool {
		for _, line := range strings.Split(w.text.String(), "\n") {
			found := 0
			for _, word := range words {
				if strings.Contains(line, word) {
					found++
				}
			}
			if found == len(words) {
				return true
			}
		}
		return false
	}, words)
}

// metric returns the value of a gauge, or the number of values of a histogram.
func (w *watched) metric(t *testing.T, name string) float64 {
	t.Helper()
	return metrics.Value(t, w.registry, name)
}

// durability returns the kinds whose value is 1.
func (w *watched) durability(t *testing.T) (kinds []string) {
	t.Helper()
	for name, value := range metrics.Values(t, w.registry) {
		if kind, is := strings.CutPrefix(name, "payfold_log_durability "); is && value == 1 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestOneReplicaElsewhereIsAWarningAndAMetric(t *testing.T) {
	t.Parallel()
	_, _, l := setupNATS(t)
	w := watch(t, l)
	w.await(t, "level=WARN", "one server", "power cut")
	require.Equal(t, []string{"one_server"}, w.durability(t))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_replicas"))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_replicas_current"))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_messages"))
	require.Positive(t, w.metric(t, "payfold_log_bytes"))
	require.Zero(t, w.metric(t, "payfold_log_unsafe_settings"))

	embedded := watch(t, testenv.NewLog(t, 4).Log)
	embedded.await(t, "level=INFO", "fsynced")
	require.Equal(t, []string{"fsynced"}, embedded.durability(t))
}

func TestAppendsAndFlushesAreMeasured(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	w := watch(t, l.Log)
	require.Zero(t, w.metric(t, "payfold_log_append_duration_seconds"))
	store(ctx, t, l.Log, delivery(t, body("e1", "c")))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_append_duration_seconds"))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_flush_duration_seconds"))
	require.EqualValues(t, 1, w.metric(t, "payfold_log_group_size"))
	require.Positive(t, w.metric(t, "payfold_log_disk_free_bytes"))
	require.Greater(t, w.metric(t, "payfold_log_disk_size_bytes"), w.metric(t, "payfold_log_disk_free_bytes"))

	ctx, _, cluster := setupNATS(t)
	w = watch(t, cluster)
	store(ctx, t, cluster, delivery(t, body("e2", "c")))
	require.Positive(t, w.metric(t, "payfold_log_append_duration_seconds"))
	names, err := testutil.GatherAndCount(w.registry, "payfold_log_flush_duration_seconds", "payfold_log_group_size", "payfold_log_disk_free_bytes")
	require.NoError(t, err)
	require.Zero(t, names, "what a cluster's servers do is not known")
}

// The connection does not break, and nothing calls Ready.
func TestAStreamThatIsChangedUnderIngestConfirmsNothingAnyMore(t *testing.T) {
	t.Parallel()
	ctx, n, l := setupNATS(t)
	w := watch(t, l)
	w.await(t, "200 means")
	stream, err := n.JetStream.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	good := stream.CachedInfo().Config
	bad := good
	bad.MaxMsgs = 1000
	_, err = n.JetStream.UpdateStream(ctx, bad)
	require.NoError(t, err)
	var unsafe *eventlog.UnsafeError
	wait.Until(t, func() bool {
		_, err := l.Append(ctx, delivery(t, body("e1", "c"))) // a duplicate
		return errors.As(err, &unsafe)
	})
	w.await(t, "level=ERROR", "no delivery is confirmed", "max_msgs is 1000, must be -1")
	require.EqualValues(t, 1, w.metric(t, "payfold_log_unsafe_settings"))

	_, err = n.JetStream.UpdateStream(ctx, good)
	require.NoError(t, err)
	require.NoError(t, l.Ready(ctx))
	_, err = l.Append(ctx, delivery(t, body("e2", "c")))
	require.NoError(t, err, "appends use the answer to Ready")
	wait.Until(t, func() bool { return w.metric(t, "payfold_log_unsafe_settings") == 0 })
}

func TestAfterEachReconnectTheStreamIsCheckedFirst(t *testing.T) {
	t.Parallel()
	ctx, n, l := setupNATS(t)
	stream, err := n.JetStream.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	bad := stream.CachedInfo().Config
	bad.MaxAge = time.Hour
	_, err = n.JetStream.UpdateStream(ctx, bad)
	require.NoError(t, err)
	_, err = l.Append(ctx, delivery(t, body("e2", "c")))
	require.NoError(t, err, "it does not know the new settings yet, because no Watch runs")
	n.Disconnect(t)
	var unsafe *eventlog.UnsafeError
	wait.Until(t, func() bool { // the old connection may still accept a delivery; this one is a duplicate
		_, err := l.Append(ctx, delivery(t, body("e2", "c")))
		return errors.As(err, &unsafe)
	})
	_, err = l.Append(ctx, delivery(t, body("e3", "c")))
	require.ErrorAs(t, err, &unsafe)
	info, err := l.Info(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Last)
}

// A stream that was deleted can come back with other settings.
func TestAStreamThatComesBackIsCheckedFirst(t *testing.T) {
	t.Parallel()
	for name, noticed := range map[string]func(ctx context.Context, l *eventlog.Log) bool{
		"by an append": func(ctx context.Context, l *eventlog.Log) bool {
			_, err := l.Append(ctx, delivery(t, body("e2", "c")))
			return errors.Is(err, jetstream.ErrNoStreamResponse)
		},
		"by Watch": func(ctx context.Context, l *eventlog.Log) bool { return errors.Is(l.Ready(ctx), eventlog.ErrNoStream) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, n, l := setupNATS(t)
			stream, err := n.JetStream.Stream(ctx, testenv.Stream)
			require.NoError(t, err)
			bad := stream.CachedInfo().Config
			bad.MaxAge = time.Hour
			require.NoError(t, n.JetStream.DeleteStream(ctx, testenv.Stream))
			wait.Until(t, func() bool { return noticed(ctx, l) })
			_, err = n.JetStream.CreateStream(ctx, bad)
			require.NoError(t, err)
			var unsafe *eventlog.UnsafeError
			wait.Until(t, func() bool { // on a busy machine the server may not answer in time
				_, err := l.Append(ctx, delivery(t, body("e3", "c")))
				require.Error(t, err)
				return errors.As(err, &unsafe)
			})
		})
	}
}

func TestAStreamThatThisBuildDidNotMakeIsNotUsed(t *testing.T) {
	t.Parallel()
	for key, row := range map[string]struct{ value, says string }{
		"format":     {"1", `has format "1", this build reads format 2`},
		"partitions": {"0", "was not made by payfold"},
		"log_id":     {"", "was not made by payfold"},
	} {
		ctx, _, l := setupStream(t, func(c *jetstream.StreamConfig) { c.Metadata[key] = row.value })
		_, err := l.AwaitInfo(ctx, wait.Timeout)
		require.ErrorContains(t, err, row.says)
	}
}
