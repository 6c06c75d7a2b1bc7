package eventlog

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// BenchmarkStart measures a start on a log of EVENTS (200000) events of 1.5 KB: the check
// before the log is opened, and the time that the server takes to open it with an index, as
// it always has one, and without, when it reads the whole log. Files are in memory. The
// stream has forgotten its event ids; those of the duplicate window would be read, too.
func BenchmarkStart(b *testing.B) {
	count, err := strconv.Atoi(os.Getenv("EVENTS"))
	if err != nil {
		count = 200_000
	}
	dir := b.TempDir()
	config := EmbeddedConfig{DataDir: dir, Address: "127.0.0.1:0", Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)}
	fill(b, config, count)
	measured := map[string]time.Duration{}
	measure := func(name string, do func() error) {
		began := time.Now()
		require.NoError(b, do())
		measured[name] += time.Since(began)
	}
	for b.Loop() {
		measure("check", func() error {
			report, err := filesIn(dir).Check(b.Context(), false, nil)
			if err == nil && report.Events != uint64(count) {
				err = fmt.Errorf("%d events", report.Events)
			}
			return err
		})
		for _, name := range []string{"server_with_index", "server_without_index"} {
			s := &Server{config: config, store: filesIn(dir), writerToken: access.NewToken()}
			if name == "server_without_index" {
				require.NoError(b, os.Remove(indexIn(dir)))
			}
			measure(name, s.run)
			s.stop()
		}
	}
	for name, took := range measured {
		b.ReportMetric(took.Seconds()/float64(b.N)*1e6/float64(count), name+"_s/million")
	}
	b.ReportMetric(0, "ns/op")
}

// fill appends count events.
func fill(b *testing.B, config EmbeddedConfig, count int) {
	s, err := StartEmbedded(b.Context(), config)
	require.NoError(b, err)
	l, err := s.Connect()
	require.NoError(b, err)
	stream := ordinary
	stream.DuplicateWindow = 100 * time.Millisecond
	require.NoError(b, l.EnsureStream(b.Context(), stream, config.Logger))
	const appenders = 64
	var group errgroup.Group
	for n := range appenders {
		group.Go(func() error {
			for i := n; i < count; i += appenders {
				body := fmt.Appendf(nil, `{"id":"e%d","eventType":"t","object":{"pad":%q}}`, i, strings.Repeat("x", 1450))
				event, err := specification.Parse(body)
				if err == nil {
					_, err = l.Append(b.Context(), events.Delivery{Event: event, Body: body})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	l.Close()
	require.NoError(b, s.Close())
}
