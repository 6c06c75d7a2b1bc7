package report

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/golden"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

var anyMode = projections.Rules{Mode: projections.ModeAny}

const partitions = 4

// shop is a log and the tables folded from it.
type shop struct {
	log      *testenv.Log
	logID    string
	database *store.Store
}

// received is when ingest received the first event of a log. The others follow every minute.
var received = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

// unbounded is a limit that is higher than the length of any list here, and a number of
// events that is higher than that of any log here.
const unbounded = 100

// setup makes a log of these bodies, and tables of the first of them, at most folded.
func setup(t *testing.T, folded int, bodies ...string) (context.Context, shop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Timeout)
	t.Cleanup(cancel)
	s := shop{log: testenv.NewLog(t, partitions)}
	seen := map[string]bool{}
	for i, body := range bodies {
		event, err := events.Parse([]byte(body))
		require.NoError(t, err, body)
		for seen[event.ID] { // so that the log takes a duplicate, as it does after its window
			event.ID += "#"
		}
		seen[event.ID] = true
		at := received.Add(time.Duration(i) * time.Minute)
		duplicate, err := s.log.Append(ctx, events.Delivery{Event: event, Body: []byte(body), ReceivedAt: at})
		require.NoError(t, err)
		require.False(t, duplicate)
	}
	var err error
	s.database, err = store.Open(ctx, store.Config{DSN: testenv.Database(t), Owner: "test", LeaseTime: time.Minute, ConnectTimeout: wait.Timeout})
	require.NoError(t, err)
	t.Cleanup(s.database.Close)
	info, err := s.log.Info(ctx)
	require.NoError(t, err)
	s.logID = info.LogID
	require.NoError(t, s.database.Prepare(ctx, s.logID, partitions, anyMode))
	if folded = min(folded, len(bodies)); folded > 0 {
		s.apply(ctx, t, s.read(ctx, t, folded), 0, 1, 2, 3)
	}
	return ctx, s
}

var errEnough = errors.New("enough")

// read returns the first count events of the log.
func (s shop) read(ctx context.Context, t *testing.T, count int) (batch []events.Event) {
	t.Helper()
	err := s.log.Read(ctx, 1, func(m events.Message, _ string) error {
		batch = append(batch, events.Decode(m))
		if len(batch) == count {
			return errEnough
		}
		return nil
	})
	require.ErrorIs(t, err, errEnough)
	return batch
}

// apply folds events into the tables, which have no events of these partitions yet.
func (s shop) apply(ctx context.Context, t *testing.T, batch []events.Event, partitions ...int) {
	t.Helper()
	from := map[int]uint64{}
	for _, p := range partitions {
		from[p] = 0
	}
	_, err := live.Apply(ctx, s.database, anyMode, batch, store.Advance{LogID: s.logID, From: from, To: batch[len(batch)-1].Seq, Digest: []byte("digest")})
	require.NoError(t, err)
}

// month returns the bodies of testdata/month.jsonl.
func month(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "month.jsonl"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// requireGolden compares with a file in testdata/explain.
func requireGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	golden.Require(t, filepath.Join("testdata", "explain", file), got)
	requireNoTerminalCommands(t, got)
}

// requireNoTerminalCommands: out has nothing that a terminal acts on.
func requireNoTerminalCommands(t *testing.T, out []byte) {
	t.Helper()
	for _, r := range string(bytes.ReplaceAll(out, []byte("\n"), nil)) {
		require.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e, "%q in %s", r, out)
	}
}
