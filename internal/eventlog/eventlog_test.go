package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func body(id, customer string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"customer":%q,"metadata":{"kind":"pro"}}}`, id, customer)
}

func setup(t *testing.T) (context.Context, *testenv.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Timeout)
	t.Cleanup(cancel)
	return ctx, testenv.NewLog(t, 8)
}

func delivery(t *testing.T, raw string) events.Delivery {
	t.Helper()
	event, err := specification.Parse([]byte(raw))
	require.NoError(t, err)
	return events.Delivery{
		Event: event, Body: []byte(raw), Provider: "polar", Signed: "msg_1.1767323045", Signature: "ab12", KeyFingerprint: "cd34",
		ReceivedAt: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), TraceParent: "00-x-y-01",
	}
}

// store appends a delivery, which the log must confirm.
func store(ctx context.Context, t *testing.T, l *eventlog.Log, d events.Delivery) {
	t.Helper()
	require.NoError(t, testenv.Append(ctx, l, d))
}

var errEnough = errors.New("enough")

// collect reads n messages from a sequence on.
func collect(ctx context.Context, t *testing.T, l *eventlog.Log, from uint64, n int) []events.Message {
	t.Helper()
	out, err := read(ctx, l, from, n)
	require.NoError(t, err)
	return out
}

func read(ctx context.Context, l *eventlog.Log, from uint64, n int) (out []events.Message, err error) {
	err = l.Read(ctx, from, func(m events.Message, _ string) error {
		m.Body = bytes.Clone(m.Body)
		out = append(out, m)
		if len(out) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("%d messages, and then: %v", len(out), err)
	}
	return out, nil
}

func TestAMessageIsTheBodyByteForByte(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	raw := " {\"id\" : \"e1\",\n\"eventType\":\"checkout.completed\",\"object\":{\"customer\":\"cust_1\",\"metadata\":{\"kind\":\"pro\"}}}\n"
	duplicate, err := l.Append(ctx, delivery(t, raw))
	require.NoError(t, err)
	require.False(t, duplicate)

	message := collect(ctx, t, l.Reader(t), 1, 1)[0]
	require.Equal(t, events.Message{
		Seq: 1, Partition: 2, ID: "e1", Body: []byte(raw), ReceivedAt: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
		StoredAt: message.StoredAt, Provider: "polar", Signed: "msg_1.1767323045", Signature: "ab12", KeyFingerprint: "cd34",
	}, message)
	require.WithinDuration(t, time.Now(), message.StoredAt, time.Minute)
	again, err := l.Reader(t).Message(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, message, again)
}

func TestTheHeadersLetTheLogBeVerifiedAgain(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	store(ctx, t, l.Log, delivery(t, body("e1", "cust_1")))
	js, err := readerConn(t, l).JetStream()
	require.NoError(t, err)
	raw, err := js.GetMsg(testenv.Stream, 1, nats.Context(ctx))
	require.NoError(t, err)
	require.Equal(t, "payments.2", raw.Subject)
	require.Equal(t, nats.Header{
		"Nats-Msg-Id": {"e1"}, "Payfold-Provider": {"polar"}, "Payfold-Signed": {"msg_1.1767323045"}, "Payfold-Signature": {"ab12"}, "Payfold-Key": {"cd34"},
		"Payfold-Received-At": {"2026-01-02T03:04:05.678901Z"}, "Payfold-Kind": {"pro"},
		"Payfold-Event-Type": {"checkout.completed"}, "traceparent": {"00-x-y-01"},
		"Nats-Expected-Stream": {"PAYMENTS"},
	}, canonical(raw.Header))
}

// canonical leaves out what the server adds to an answer.
func canonical(header nats.Header) nats.Header {
	for _, added := range []string{"Nats-Sequence", "Nats-Stream", "Nats-Subject", "Nats-Time-Stamp"} {
		delete(header, added)
	}
	return header
}

// readerConn is a plain NATS connection with the readers' token.
func readerConn(t *testing.T, l *testenv.Log) *nats.Conn {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(l.Dir, "nats.token"))
	require.NoError(t, err)
	conn, err := nats.Connect("nats://embedded.invalid", nats.SkipHostLookup(), nats.Timeout(wait.Timeout),
		nats.SetCustomDialer(access.NewDialer(l.Dir, wait.Timeout)), nats.Token(string(token[:len(token)-1])))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func readStream(ctx context.Context, t *testing.T, l *testenv.Log) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(readerConn(t, l))
	require.NoError(t, err)
	stream, err := js.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	return stream
}

// The server sends its answer to any subject that a request names. It does not check whether
// the sender of the request may publish there.
func TestAReaderCannotMakeTheServerWrite(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	store(ctx, t, l.Log, delivery(t, body("e1", "c")))
	conn := readerConn(t, l)
	config := `{"stream_name":"PAYMENTS","config":{"name":"mine","deliver_policy":"new","mem_storage":true,"inactive_threshold":60000000000}}`
	_, err := conn.RequestWithContext(ctx, "$JS.API.CONSUMER.CREATE.PAYMENTS.mine", []byte(config))
	require.NoError(t, err)
	// With nothing to deliver the answer has no body, and a request to delete a stream has none.
	const next, nothing = "$JS.API.CONSUMER.MSG.NEXT.PAYMENTS.mine", `{"batch":1,"no_wait":true}`
	for _, trick := range []struct{ subject, reply, payload string }{
		{"$JS.API.STREAM.INFO.PAYMENTS", "payments.0", ""},
		{"$JS.API.STREAM.MSG.GET.PAYMENTS", "payments.0", `{"seq":1}`},
		{next, "payments.0", nothing},
		{next, "$JS.API.STREAM.DELETE.PAYMENTS", nothing},
		{next, "log.STREAM.DELETE.PAYMENTS", nothing},
	} {
		require.NoError(t, conn.PublishRequest(trick.subject, trick.reply, []byte(trick.payload)))
		_, err := conn.RequestWithContext(ctx, trick.subject, []byte(trick.payload)) // its answer comes after the other one
		require.NoError(t, err, trick.subject)
		info, err := l.Info(ctx)
		require.NoError(t, err, trick.reply)
		require.EqualValues(t, 1, info.Last, trick.reply)
	}
}

func TestTheStreamKeepsEverything(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	config := readStream(ctx, t, l).CachedInfo().Config
	require.True(t, config.DenyDelete && config.DenyPurge && config.AllowDirect)
	require.Equal(t, jetstream.FileStorage, config.Storage)
	require.Equal(t, jetstream.DiscardNew, config.Discard)
	require.Equal(t, jetstream.LimitsPolicy, config.Retention)
	require.EqualValues(t, []int64{-1, -1, -1, 0}, []int64{config.MaxMsgs, config.MaxBytes, config.MaxMsgsPerSubject, int64(config.MaxAge)})
	require.Len(t, config.Subjects, 8)
	require.Equal(t, "8", config.Metadata["partitions"])
	require.Regexp(t, "^[0-9a-f]{32}$", config.Metadata["log_id"])
}

func TestAReaderMayOnlyRead(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	reader := l.Reader(t)
	wait.Until(t, func() bool { return reader.Ready(ctx) == nil })
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err := reader.Append(short, delivery(t, body("e1", "c")))
	require.Error(t, err)
	info, err := l.Info(ctx)
	require.NoError(t, err)
	require.Zero(t, info.Last)
	for what, try := range map[string]func(conn *nats.Conn) error{
		"appends": func(conn *nats.Conn) error { return conn.Publish("payments.0", nil) },
		"hears what others ask": func(conn *nats.Conn) error {
			_, err := conn.SubscribeSync(accounts.DurableQuestion)
			return err
		},
		"says that a message is durable": func(conn *nats.Conn) error { return conn.Publish("_INBOX.another.1", []byte("1000")) },
	} {
		conn := readerConn(t, l)
		require.NoError(t, try(conn))
		require.NoError(t, conn.FlushWithContext(ctx))
		require.ErrorIs(t, conn.LastError(), nats.ErrPermissionViolation, "a reader %s", what)
	}
}

func TestASecondMessageWithTheSameIDIsADuplicate(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	for i, want := range []bool{false, true, true} {
		duplicate, err := l.Append(ctx, delivery(t, body("e1", fmt.Sprint("cust_", i))))
		require.NoError(t, err)
		require.Equal(t, want, duplicate)
	}
	info, err := l.Info(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.Last)
}

func TestTheLogSurvivesItsServer(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	reader := l.Reader(t)
	l.Deliver(t, body("e1", "a"), body("e2", "b"))
	require.Len(t, collect(ctx, t, reader, 1, 2), 2)
	before, err := l.Info(ctx)
	require.NoError(t, err)

	broken := make(chan error, 1)
	reading := make(chan struct{})
	go func() {
		broken <- reader.Read(ctx, 2, func(_ events.Message, _ string) error { close(reading); return nil })
	}()
	<-reading
	l.Stop(t)
	require.ErrorIs(t, <-broken, eventlog.ErrDisconnected, "a reader ends with its connection, because the log must be checked again")

	l.Start(t, 16) // with another configuration
	after, err := l.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, before, after, "an existing stream is never changed")
	duplicate, err := l.Append(ctx, delivery(t, body("e1", "a")))
	require.NoError(t, err)
	require.True(t, duplicate)
	wait.Until(t, func() bool { return reader.Ready(ctx) == nil })
	require.Equal(t, "e2", collect(ctx, t, reader, 2, 1)[0].ID)
}

func TestOneDataDirectoryHasOneLog(t *testing.T) {
	t.Parallel()
	_, l := setup(t)
	_, err := eventlog.StartEmbedded(t.Context(), eventlog.EmbeddedConfig{
		DataDir: l.Dir, Stream: testenv.Stream, Logger: testenv.Logger(t),
	})
	require.ErrorIs(t, err, eventlog.ErrLocked)
	require.ErrorContains(t, err, "DATA_DIR "+l.Dir)
}

// EnsureStream waits for a server that starts or answers late.
func TestAStreamIsCreatedWhenTheServerStartsLate(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	addr := ports.Free(t)
	log, err := eventlog.Connect(eventlog.Config{URL: "nats://" + addr, Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer log.Close()
	config := eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, Partitions: 2, DuplicateWindow: time.Minute}
	soon, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	require.ErrorIs(t, log.EnsureStream(soon, config, testenv.Logger(t)), eventlog.ErrDisconnected)
	_, err = log.AwaitInfo(ctx, 10*time.Millisecond)
	require.ErrorIs(t, err, eventlog.ErrDisconnected)
	_, err = log.AwaitInfo(soon, wait.Timeout)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the caller's own end")
	made := make(chan error, 1)
	go func() { made <- log.EnsureStream(ctx, config, testenv.Logger(t)) }()
	testenv.NewNATSAt(t, addr)
	require.NoError(t, <-made)
	info, err := log.AwaitInfo(ctx, wait.Timeout)
	require.NoError(t, err)
	require.Equal(t, 2, info.Partitions)
}

func TestAppendFailsWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	away, err := eventlog.Connect(eventlog.Config{DataDir: t.TempDir(), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer away.Close()
	_, err = away.Append(ctx, delivery(t, body("e1", "a")))
	require.Error(t, err)
	require.ErrorIs(t, away.Read(ctx, 1, nil), eventlog.ErrDisconnected)
}

func TestARestoreDoesNotWaitForALogThatIsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	away, err := eventlog.Connect(eventlog.Config{URL: "nats://" + ports.Free(t), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer away.Close()
	_, err = away.Restore(ctx, eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, Partitions: 2, LogID: "log-1"})
	require.ErrorIs(t, err, eventlog.ErrDisconnected)
	require.NoError(t, ctx.Err())
}

func TestReadersAreToldTheTraceOfADelivery(t *testing.T) {
	t.Parallel()
	ctx, l := setup(t)
	traced, other := delivery(t, body("e1", "cust_1")), delivery(t, body("e2", "cust_1"))
	other.TraceParent = ""
	store(ctx, t, l.Log, traced)
	store(ctx, t, l.Log, other)
	again := traced
	again.TraceParent = "00-z-z-01"
	store(ctx, t, l.Log, again) // a duplicate: the first one counts
	reader := l.Reader(t)
	var read []string
	err := reader.Read(ctx, 1, func(_ events.Message, traceParent string) error {
		if read = append(read, traceParent); len(read) == 2 {
			return errEnough
		}
		return nil
	})
	require.ErrorIs(t, err, errEnough)
	require.Equal(t, []string{"00-x-y-01", ""}, read)
	for i, want := range read {
		got, err := reader.TraceParent(ctx, uint64(i+1))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = reader.TraceParent(ctx, 3)
	require.ErrorIs(t, err, nats.ErrMsgNotFound)
}
