package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnOutageOfTheLogIsOneLineAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	var w warning
	noon := time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)
	for second := range 61 {
		w.log(t.Context(), logger, noon.Add(time.Duration(second)*time.Second), "an event could not be stored",
			"event_id", fmt.Sprintf("evt_%d", second), "error", errors.New("not connected to the log"))
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `event_id=evt_0 error="not connected to the log" others_since_last_line=0`)
	require.Contains(t, lines[1], `event_id=evt_60 error="not connected to the log" others_since_last_line=59`)
}
