package report

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(testenv.QuickLogins(m))) }

var update = flag.Bool("update", false, "write the golden files anew")

var anyMode = projections.Rules{Mode: projections.ModeAny}

const partitions = 4

// shop is a log and the tables folded from it.
type shop struct {
	log   *testenv.Log
	dsn   string
	store *store.Store
}

// received is when ingest had the first event of a log; each comes a minute later.
var received = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

// setup has these bodies in its log, of which the first folded ones are in the tables.
func setup(t *testing.T, folded int, bodies ...string) (context.Context, shop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience)
	t.Cleanup(cancel)
	s := shop{log: testenv.NewLog(t, partitions), dsn: testenv.Database(t)}
	seen := map[string]bool{}
	for i, body := range bodies {
		event, err := events.Parse([]byte(body))
		require.NoError(t, err, body)
		for seen[event.ID] { // as after the broker's window
			event.ID += "#"
		}
		seen[event.ID] = true
		at := received.Add(time.Duration(i) * time.Minute)
		duplicate, err := s.log.Append(ctx, events.Delivery{Event: event, Body: []byte(body), ReceivedAt: at})
		require.NoError(t, err)
		require.False(t, duplicate)
	}
	var err error
	s.store, err = store.Open(ctx, store.Config{DSN: s.dsn, Owner: "test", LeaseTime: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.store.Close)
	info, err := s.log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, s.store.Prepare(ctx, info.LogID, partitions, anyMode))
	s.fold(ctx, t, folded)
	return ctx, s
}

var errEnough = errors.New("enough")

func (s shop) fold(ctx context.Context, t *testing.T, until int) {
	t.Helper()
	if until == 0 {
		return
	}
	var batch []events.Event
	err := s.log.Read(ctx, 1, func(m events.Message) error {
		batch = append(batch, events.Decode(m))
		if len(batch) == until {
			return errEnough
		}
		return nil
	})
	require.ErrorIs(t, err, errEnough)
	from := map[int]uint64{}
	for p := range partitions {
		from[p] = 0
	}
	info, err := s.log.Info(ctx)
	require.NoError(t, err)
	_, err = s.store.Apply(ctx, anyMode, batch, store.Advance{LogID: info.LogID, From: from, To: uint64(until), Digest: []byte("digest")})
	require.NoError(t, err)
}

// month is a shop's month: testdata/month.jsonl.
func month(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "month.jsonl"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// requireGolden compares with a file of testdata/explain.
func requireGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "explain", file)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), file)
	requireHarmless(t, got)
}

// requireHarmless: nothing in it is a terminal's command.
func requireHarmless(t *testing.T, out []byte) {
	t.Helper()
	for _, r := range string(bytes.ReplaceAll(out, []byte("\n"), nil)) {
		require.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e, "%q in %s", r, out)
	}
}
