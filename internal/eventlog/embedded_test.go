package eventlog

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// embedded starts a server on dir and makes the stream.
func embedded(t *testing.T, dir string) (*Server, *Log) {
	t.Helper()
	s, l := streamless(t, dir)
	ensure(t, l, ordinary)
	return s, l
}

// inSmallBlocks is embedded with blocks of 32 KB instead of 8 MB. The server chooses small
// blocks when a stream is created with a low limit, and keeps their size until it stops, even
// if the limit is removed.
func inSmallBlocks(t *testing.T, dir string) (*Server, *Log) {
	t.Helper()
	return inSmallBlocksOf(t, dir, ordinary)
}

func inSmallBlocksOf(t *testing.T, dir string, stream StreamConfig) (*Server, *Log) {
	t.Helper()
	s, l := streamless(t, dir)
	config := stream.jetstream()
	config.MaxBytes = 64 << 10
	_, err := l.js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	config.MaxBytes = -1
	_, err = l.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	ensure(t, l, stream)
	return s, l
}

// streamless starts a server on dir and makes no stream.
func streamless(t *testing.T, dir string) (*Server, *Log) {
	t.Helper()
	s, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir, Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	l, err := s.Connect()
	require.NoError(t, err)
	return s, l
}

var ordinary = StreamConfig{Name: "PAYMENTS", Replicas: 1, Partitions: 4, DuplicateWindow: time.Minute}

func ensure(t *testing.T, l *Log, config StreamConfig) {
	t.Helper()
	require.NoError(t, l.EnsureStream(t.Context(), config, slog.New(slog.DiscardHandler)))
}

func stop(t *testing.T, s *Server, l *Log) {
	t.Helper()
	l.Close()
	require.NoError(t, s.Close())
}

func add(t *testing.T, l *Log, id string, size int) {
	t.Helper()
	duplicate, err := l.Append(t.Context(), example(t, id, size))
	require.NoError(t, err)
	require.False(t, duplicate)
}

func example(t *testing.T, id string, size int) events.Delivery {
	t.Helper()
	body := fmt.Appendf(nil, `{"id":%q,"eventType":"t","object":{"pad":"%s"}}`, id, strings.Repeat("x", size))
	event, err := specification.Parse(body)
	require.NoError(t, err)
	return events.Delivery{Event: event, Body: body}
}

func watermark(t *testing.T, dir string) blockstore.Watermark {
	t.Helper()
	w, err := filesIn(dir).Watermark()
	require.NoError(t, err)
	require.NotNil(t, w)
	return *w
}

func TestATakenAddressIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	_, err = StartEmbedded(t.Context(), EmbeddedConfig{DataDir: t.TempDir(), Address: other.Addr().String(), Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "EMBEDDED_NATS_ADDR: listen for readers of the log: listen tcp "+other.Addr().String())
}

func TestAFolderOfTheLogThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(place string) error{
		"a file":                    func(place string) error { return os.WriteFile(place, nil, 0o600) },
		"a link that leads nowhere": func(place string) error { return os.Symlink(filepath.Join(filepath.Dir(place), "gone"), place) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, put(logFolder(dir)))
			for range 2 { // the first gives up the lock
				_, err := tryStart(t, dir, "PAYMENTS")
				require.ErrorContains(t, err, logFolder(dir))
			}
		})
	}
}

func TestTheLogMayFillItsDisk(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	require.EqualValues(t, maxDiskSpace, s.nats.JetStreamConfig().MaxStore)
}

func TestAFlushFollowsTheServerIntoItsNextBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := inSmallBlocks(t, dir)
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, info.LogID, watermark(t, dir).LogID, "before anything can be confirmed")
	add(t, l, "first", 10)
	require.EqualValues(t, 1, watermark(t, dir).Seq)
	for i := range 40 {
		add(t, l, fmt.Sprint("e", i), 2_000)
		require.EqualValues(t, i+2, watermark(t, dir).Seq)
		require.Equal(t, newestBlock(t, dir), watermark(t, dir).Block)
	}
	require.Greater(t, newestBlock(t, dir), 2)
	require.False(t, watermark(t, dir).Closed)
	stop(t, s, l)
	require.True(t, watermark(t, dir).Closed)
}

// A flush makes durable what is in the newest block. So the server must have written a message there, whole, when it
// acknowledges the message. A new version of the server could do otherwise.
func TestTheServerWritesAMessageBeforeItAcknowledgesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := inSmallBlocks(t, dir)
	defer stop(t, s, l)
	const checksumLength = 8
	for i := range 60 {
		body := fmt.Sprintf("message %d %s", i, strings.Repeat("x", i*50))
		_, err := l.js.Publish(t.Context(), wire.Subject(0), []byte(body))
		require.NoError(t, err)
		content, err := os.ReadFile(block(dir, newestBlock(t, dir)))
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(content[:len(content)-checksumLength]), body), "message %d", i)
	}
	require.Greater(t, newestBlock(t, dir), 2)
}

// The server takes the time of no message for one in the year 1754 when it reads the blocks.
func TestAnEmptyLogThatBeginsLateHasNoNewestMessageAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := streamless(t, dir)
	late := ordinary
	late.FirstSeq = 500
	ensure(t, l, late)
	killed := aside(t, dir)
	stop(t, s, l)
	s, l = streamless(t, killed)
	defer stop(t, s, l)
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.StoredAt)
}

func TestClientsThatTheServerRefusesDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	logger := serverLogger{slog.New(slog.NewTextHandler(&lines, nil))}
	logger.Errorf("pipe - cid:%d - authentication error", 1)
	require.Empty(t, lines.String())
	logger.Errorf("JetStream out of resources")
	require.Contains(t, lines.String(), "out of resources", "a line that is not about a client")
}
