package eventlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func indexIn(dir string) string {
	return filepath.Join(streamFolder(dir, "PAYMENTS"), "msgs", "index.db")
}

// After a kill the server's index can be old. Without one the server reads all blocks, and has every message.
func TestAfterAKillTheServerReadsAllBlocks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		partitions    int
		first         uint64
		trimmed, torn bool
	}{
		{name: "one subject", partitions: 1},
		{name: "many subjects", partitions: 64},
		{name: "a late begin", partitions: 1, first: 500},
		{name: "trimmed", partitions: 1, trimmed: true},
		{name: "trimmed, many subjects", partitions: 64, trimmed: true},
		{name: "torn by a power cut", partitions: 1, torn: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, config := t.TempDir(), trimmable
			config.Partitions, config.FirstSeq = row.partitions, row.first
			s, l := inSmallBlocksOf(t, dir, config)
			const messages = 200
			for i := range messages {
				add(t, l, fmt.Sprint("e", i), 500)
			}
			first, last := max(row.first, 1), max(row.first, 1)+messages-1
			if row.trimmed {
				var err error
				first, err = l.Trim(t.Context(), last/2)
				require.NoError(t, err)
				require.Greater(t, first, uint64(1))
			}
			want, subjects := fromServer(t, l, first, last), subjectsOf(t, l)
			killed := aside(t, dir)
			stop(t, s, l)
			if row.torn {
				edit(t, block(killed, newestBlock(t, killed)), func(b []byte) []byte { return append(b, "torn"...) })
			}

			_, err := filesIn(killed).Recover(t.Context(), nil)
			require.NoError(t, err)
			require.NoFileExists(t, indexIn(killed))

			var warnings bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))
			s, err = StartEmbedded(t.Context(), EmbeddedConfig{DataDir: killed, Stream: "PAYMENTS", Logger: logger})
			require.NoError(t, err)
			l = must(s.Connect())
			require.Empty(t, warnings.String())
			require.Equal(t, want, fromServer(t, l, first, last))
			require.Equal(t, subjects, subjectsOf(t, l))
			ensure(t, l, config)
			add(t, l, "after it", 10)
			require.Equal(t, last+1, must(l.Info(t.Context())).Last)
			stop(t, s, l)
		})
	}
}

// subjectsOf returns how many messages each subject has.
func subjectsOf(t *testing.T, l *Log) map[string]uint64 {
	t.Helper()
	stream, err := l.js.Stream(t.Context(), l.name)
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	return info.State.Subjects
}
