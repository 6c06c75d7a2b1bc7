package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// progressOf returns the output of a rebuild of 30 seconds.
func progressOf(t *testing.T, asJSON bool) (out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		at := Progress(&stdout, &stderr, "rebuild portal_next", asJSON)
		for position := range uint64(31) {
			at(1000*position, 60_000)
			time.Sleep(time.Second)
		}
	})
	return stdout.String(), stderr.String()
}

func TestProgressIsLines(t *testing.T) {
	t.Parallel()
	out, err := progressOf(t, false)
	require.Empty(t, out)
	require.Equal(t, `rebuild portal_next: seq 5000 of 60000, 1000 events/s, 55 s left
rebuild portal_next: seq 10000 of 60000, 1000 events/s, 50 s left
rebuild portal_next: seq 15000 of 60000, 1000 events/s, 45 s left
rebuild portal_next: seq 20000 of 60000, 1000 events/s, 40 s left
rebuild portal_next: seq 25000 of 60000, 1000 events/s, 35 s left
rebuild portal_next: seq 30000 of 60000, 1000 events/s, 30 s left
`, err)
}

func TestProgressAsJSONIsOneObjectALine(t *testing.T) {
	t.Parallel()
	out, err := progressOf(t, true)
	require.Empty(t, err)
	lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
	require.Len(t, lines, 6)
	for i, line := range lines {
		var got map[string]int64
		require.NoError(t, json.Unmarshal(line, &got))
		require.Equal(t, map[string]int64{
			"position": int64(5000 * (i + 1)), "until": 60_000, "events_per_second": 1000, "seconds_left": int64(55 - 5*i),
		}, got)
	}
}
