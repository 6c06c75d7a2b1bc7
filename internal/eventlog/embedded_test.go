package eventlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

// embedded starts a server on dir and makes the stream.
func embedded(t *testing.T, dir string) (*Server, *Log) {
	t.Helper()
	s, l := streamless(t, dir)
	ensure(t, l, ordinary)
	return s, l
}

// streamless starts a server on dir and makes no stream.
func streamless(t *testing.T, dir string) (*Server, *Log) {
	t.Helper()
	s, err := StartEmbedded(EmbeddedConfig{DataDir: dir, Address: "127.0.0.1:0", Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
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
	body := fmt.Appendf(nil, `{"id":%q,"eventType":"t","object":{"pad":%q}}`, id, strings.Repeat("x", size))
	event, err := events.Parse(body)
	require.NoError(t, err)
	duplicate, err := l.Append(t.Context(), events.Delivery{Event: event, Body: body})
	require.NoError(t, err)
	require.False(t, duplicate)
}

func marked(t *testing.T, dir string) string {
	t.Helper()
	return readTrimmed(markFile(dir))
}

func markFile(dir string) string { return filepath.Join(dir, "log", "flushed") }

func TestAnAddressThatIsTakenIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	_, err = StartEmbedded(EmbeddedConfig{DataDir: t.TempDir(), Address: other.Addr().String(), Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "embedded NATS address: listen tcp "+other.Addr().String())
}

func TestTheLogMayFillItsDisk(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	require.EqualValues(t, wholeDisk, s.nats.JetStreamConfig().MaxStore)
}

// The server begins a new block every 8 MB.
func TestAFlushFollowsTheServerIntoItsNextBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	require.False(t, s.synced)
	add(t, l, "first", 10)
	require.Equal(t, "1", marked(t, dir))
	for i := range 40 {
		add(t, l, fmt.Sprint("e", i), 500_000)
	}
	require.Greater(t, newestBlock(t, dir), 2)
	require.Equal(t, fmt.Sprint(newestBlock(t, dir)), marked(t, dir))
	stop(t, s, l)
	require.Equal(t, "all", marked(t, dir))
}

func TestBlocksThatNoFlushHasCoveredAreSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	for i := range 40 {
		add(t, l, fmt.Sprint("e", i), 500_000)
	}
	stop(t, s, l)
	for _, row := range []struct {
		mark  string
		aside bool
	}{{"all", false}, {"synced", false}, {"", false}, {"1", true}} {
		require.NoError(t, os.WriteFile(markFile(dir), []byte(row.mark), 0o600))
		again, l := embedded(t, dir)
		aside, err := filepath.Glob(filepath.Join(dir, "log", "unconfirmed-*"))
		require.NoError(t, err)
		require.Equal(t, row.aside, len(aside) > 0, row.mark)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, row.aside, info.Last < 40, row.mark)
		next := info.Last + 1
		add(t, l, "after "+row.mark, 10)
		info, err = l.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, next, info.Last)
		stop(t, again, l)
		if !row.aside { // the next row begins with the same
			require.NoError(t, os.WriteFile(markFile(dir), []byte("all"), 0o600))
		}
	}
}

func TestAStoreThatIsNotAsExpectedIsSyncedByTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	stop(t, s, l)

	s.store = blockstore.New(logFolder(dir), "ELSEWHERE", "PAYMENTS")
	require.NoError(t, s.run(false))
	require.NoError(t, s.decide())
	require.True(t, s.synced)
	l, err := s.Connect()
	require.NoError(t, err)
	ensure(t, l, ordinary)
	add(t, l, "e1", 10)
	require.Equal(t, "synced", marked(t, dir))
	l.Close()
	s.stop()
	s, l = embedded(t, dir)
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, info.Last, "every block counts, whatever an older mark says")
	stop(t, s, l)
}

func TestTheShortReadingOfAnAnswerIsTheLongOne(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 7, readStored([]byte(`{"stream":"PAYMENTS","seq":7}`)), "as the server writes it")
	texts := rapid.OneOf(rapid.Just(`{"stream":"P","seq":12}`), rapid.StringMatching(`\{"stream":"[A-Z"\\]{0,3}","seq": ?[0-9]{0,21}(,"duplicate": ?true)?\}?`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "answer")
		var answer struct {
			Stream    string
			Seq       uint64
			Duplicate bool
			Error     any
		}
		seq := readStored([]byte(text))
		if seq == 0 {
			return
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Equal(t, seq, answer.Seq)
		require.NotEmpty(t, answer.Stream)
		require.False(t, answer.Duplicate)
		require.Nil(t, answer.Error)
		got, duplicate, err := readAnswer(&nats.Msg{Data: []byte(text)})
		require.NoError(t, err)
		require.False(t, duplicate)
		require.Equal(t, seq, got)
	})
}
