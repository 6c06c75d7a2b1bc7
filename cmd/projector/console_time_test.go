package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

func TestATimeZoneThatDoesNotExistIsAFault(t *testing.T) {
	t.Parallel()
	for zone, known := range map[string]bool{"Europe/Berlin": true, "UTC": true, "Mars/Base": false, "Local": false, "../../etc/passwd": false} {
		var grammar struct {
			Console consoleCommand `cmd:"" default:"withargs"`
		}
		_, err := cli.Parse(&grammar, "projector", "", []string{"--console-time-zone", zone, "--data-dir", t.TempDir()}, io.Discard, io.Discard)
		if known {
			require.NoError(t, err, zone)
			require.Equal(t, zone, grammar.Console.zone.String())
			continue
		}
		require.ErrorContains(t, err, "CONSOLE_TIME_ZONE is", zone)
	}
}
