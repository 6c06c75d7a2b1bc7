package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/telemetry"
)

var levels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func TestALoggerWritesItsLevelAndAbove(t *testing.T) {
	t.Parallel()
	for least, name := range []string{"debug", "info", "warn", "error"} {
		var out bytes.Buffer
		logger, err := telemetry.NewLogger(&out, name, "text")
		require.NoError(t, err)
		for _, level := range levels {
			logger.Log(context.Background(), level, "said", "n", 1)
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, got, len(levels)-least)
		for i, line := range got {
			require.Contains(t, line, "level="+levels[least+i].String()+" msg=said n=1")
		}
	}
}

func TestALoggerWritesJSONWhereTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger, err := telemetry.NewLogger(&out, "warn", "json")
	require.NoError(t, err)
	logger.Info("not said")
	logger.Warn("said", "n", 1)
	var record map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &record), out.String())
	require.Equal(t, "said", record["msg"])
	require.Equal(t, "WARN", record["level"])
	require.EqualValues(t, 1, record["n"])
}

func TestEverythingWrongWithALoggerIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	logger, err := telemetry.NewLogger(io.Discard, "loud", "xml")
	require.Nil(t, logger)
	require.EqualError(t, err, `LOG_LEVEL is "loud", must be debug, info, warn or error`+"\n"+
		`LOG_FORMAT is "xml", must be text or json`)
	_, err = telemetry.NewLogger(io.Discard, "INFO", "text")
	require.ErrorContains(t, err, "LOG_LEVEL")
	_, err = telemetry.NewLogger(io.Discard, "", "text")
	require.ErrorContains(t, err, "LOG_LEVEL")
	_, err = telemetry.NewLogger(io.Discard, "info", "")
	require.ErrorContains(t, err, "LOG_FORMAT")
}
