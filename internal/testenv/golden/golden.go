// Package golden compares what a test gets with a file.
package golden

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Require fails the test if the file has another content than got. With the flag -update, it
// writes the file first.
func Require(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), file)
}

// RequireText is Require for output that a terminal may get: got must have nothing that a terminal acts on.
func RequireText(t *testing.T, file string, got []byte) {
	t.Helper()
	Require(t, file, got)
	RequireNoTerminalCommands(t, got)
}

// RequireNoTerminalCommands fails the test if got has something that a terminal acts on, but line breaks.
func RequireNoTerminalCommands(t *testing.T, got []byte) {
	t.Helper()
	for _, r := range string(bytes.ReplaceAll(got, []byte("\n"), nil)) {
		require.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e, "%q in %s", r, got)
	}
}
