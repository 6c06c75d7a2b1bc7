package eventlog_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// scrub runs a scrubber of the ingest user again and again.
func scrub(t *testing.T, l *eventlog.Log) *watched {
	t.Helper()
	w := &watched{registry: prometheus.NewRegistry()}
	scrubber := eventlog.NewScrubber(eventlog.ScrubConfig{
		Log: l, Interval: 2 * time.Second, Rate: 1 << 40, Logger: slog.New(slog.NewTextHandler(&w.text, nil)), Registerer: w.registry,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- scrubber.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return w
}

// awaitDamage waits until a scrub has ended with that result.
func (w *watched) awaitDamage(t *testing.T, server string, damage float64) {
	t.Helper()
	wait.Until(t, func() bool {
		value, known := metrics.Values(t, w.registry)["payfold_log_scrub_damage "+server]
		return known && value == damage
	}, "%s: damage %v is not found", server, damage)
}

// recordOf returns the block in a folder that has a message, and where its record begins.
func recordOf(t *testing.T, folder string, seq uint64) (path string, block []byte, at int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.blk"))
	require.NoError(t, err)
	for _, path := range paths {
		block, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := 0; at < len(block); at += int(binary.LittleEndian.Uint32(block[at:]) &^ (1 << 31)) {
			if binary.LittleEndian.Uint64(block[at+4:]) == seq {
				return path, block, at
			}
		}
	}
	require.Fail(t, "no block has the message")
	return "", nil, 0
}

// Nobody else reads the old messages of a server without need, and what the scrubber finds is repaired as
// docs/cluster.md says.
func TestADamagedCopyInAClusterIsNamedAndReplaced(t *testing.T) {
	t.Parallel()
	c, ctx := startClusterOf(t, withRights(t))
	// With a long window, a start would read the messages again.
	ingest, _ := c.createStreamOf(ctx, t, eventlog.StreamConfig{Name: testenv.Stream, Replicas: 3, Partitions: 8, DuplicateWindow: time.Second})
	const messages = 25 // of 0.4 MB: two blocks
	for i := range messages {
		d := delivery(t, strings.TrimSuffix(body(fmt.Sprint("e", i), "customer"), "}")+`,"pad":"`+strings.Repeat("x", 400_000)+`"}`)
		requireSoon(ctx, t, func(ctx context.Context) error {
			_, err := ingest.Append(ctx, d)
			return err
		})
	}
	stored := infoSoon(ctx, t, ingest).Last // a message whose answer was late may be there twice
	w := scrub(t, ingest)
	for _, s := range c.servers {
		w.awaitDamage(t, s.Name(), 0)
	}
	admin := c.connect(t, "admin", "admin")
	for _, damaged := range []struct {
		name string
		harm func(block []byte, record int) []byte // the record of seq 8
		lead bool
	}{
		{"a body, of a server that follows", func(b []byte, record int) []byte { b[record+100_000] ^= 4; return b }, false},
		{"a length, of the leader", func(b []byte, record int) []byte { b[record+1] ^= 4; return b }, true},
		{"the end of an old block, of a server that follows", func(b []byte, record int) []byte { return b[:record+100_000] }, false},
	} {
		t.Log(damaged.name)
		requireSoon(ctx, t, func(ctx context.Context) error { return c.current(ctx, ingest) })
		victim := c.server(infoSoon(ctx, t, ingest).Servers[len(c.servers)-1])
		options := c.options[victim]
		stopServer(victim)
		path, content, record := recordOf(t, filepath.Join(options.StoreDir, "jetstream/PAYFOLD/streams/PAYMENTS/msgs"), 8)
		require.NoError(t, os.WriteFile(path, damaged.harm(content, record), 0o600))
		victim = c.start(t, options)
		if damaged.lead {
			requireSoon(ctx, t, func(ctx context.Context) error {
				if info, err := ingest.Info(ctx); err != nil || info.Servers[0] == victim.Name() {
					return err
				}
				_, err := request(ctx, t, admin, "$JS.API.STREAM.LEADER.STEPDOWN.PAYMENTS", fmt.Sprintf(`{"placement":{"preferred":%q}}`, victim.Name()))
				return cmp.Or(err, errors.New("another server leads"))
			})
		}
		w.awaitDamage(t, victim.Name(), 1)
		w.await(t, "level=ERROR", "a server's copy of the log is damaged", "server="+victim.Name(), "seq=8")

		if damaged.lead {
			requireSoon(ctx, t, func(ctx context.Context) error {
				if info, err := ingest.Info(ctx); err != nil || info.Servers[0] != victim.Name() {
					return err
				}
				_, err := request(ctx, t, admin, "$JS.API.STREAM.LEADER.STEPDOWN.PAYMENTS", "")
				return cmp.Or(err, errors.New("the damaged server leads"))
			})
		}
		stopServer(victim)
		require.NoError(t, os.RemoveAll(options.StoreDir))
		victim = c.start(t, options)
		requireSoon(ctx, t, func(ctx context.Context) error { return c.current(ctx, ingest) })
		w.awaitDamage(t, victim.Name(), 0) // each message was read
		requireLast(ctx, t, ingest, stored)
	}
}

// While messages come and go, servers restart and others lead, no copy looks damaged.
func TestAWholeCopyInAClusterIsNeverCalledDamaged(t *testing.T) {
	t.Parallel()
	c, ctx := startClusterOf(t, withRights(t))
	ingest, _ := c.createStreamOf(ctx, t, eventlog.StreamConfig{
		Name: testenv.Stream, Replicas: 3, Partitions: 8, DuplicateWindow: time.Minute, Trimmable: true,
	})
	w, last := scrub(t, ingest), uint64(0)
	w.awaitDamage(t, c.servers[0].Name(), 0)
	comeAndGo := func() {
		for range 60 {
			last++
			appendSoon(ctx, t, ingest, fmt.Sprint("e", last))
			if last%20 == 0 {
				requireSoon(ctx, t, func(ctx context.Context) error {
					_, err := ingest.Trim(ctx, last-10)
					return err
				})
			}
		}
	}
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		s := c.server(name)
		comeAndGo()
		stopServer(s)
		comeAndGo()
		c.start(t, c.options[s])
		comeAndGo()
		requireSoon(ctx, t, func(ctx context.Context) error { return c.current(ctx, ingest) })
	}
	before := metrics.Values(t, w.registry)
	for name := range before {
		if strings.HasPrefix(name, "payfold_log_scrub_timestamp_seconds ") {
			wait.Until(t, func() bool { return metrics.Value(t, w.registry, name) > before[name] }, name)
		}
	}
	for _, s := range c.servers {
		require.Zero(t, metrics.Value(t, w.registry, "payfold_log_scrub_damage "+s.Name()))
	}
	require.NotContains(t, w.text.String(), "damaged")
}

func TestAServerThatIsNoClusterIsScrubbed(t *testing.T) {
	t.Parallel()
	ctx, _, l := setupNATS(t)
	scrub(t, l).awaitDamage(t, infoSoon(ctx, t, l).Servers[0], 0)
}

// A user that may not read cannot tell what the servers have.
func TestWithoutTheRightToReadNothingIsCalledDamaged(t *testing.T) {
	t.Parallel()
	c, ctx := startCluster(t)
	ingest, _ := c.createStreamOf(ctx, t, eventlog.StreamConfig{Name: testenv.Stream, Replicas: 3, Partitions: 8, DuplicateWindow: time.Minute})
	appendSoon(ctx, t, ingest, "e1")
	requireSoon(ctx, t, func(ctx context.Context) error { return c.current(ctx, ingest) })
	w := scrub(t, ingest)
	w.await(t, "server=", "create a reader")
	require.NotContains(t, w.text.String(), "damaged")
}
