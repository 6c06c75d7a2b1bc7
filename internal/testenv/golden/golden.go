// Package golden compares what a test gets with a file, or with the printed part of a document.
package golden

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files and the printed parts of documents anew")

// Updating says whether the flag -update is given.
func Updating() bool { return *update }

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

// RequirePrinted is Require for a part of a document: what is between <!-- printed: NAME --> and the next
// <!-- end -->. Tests that call it with one file must not run at the same time.
func RequirePrinted(t *testing.T, file, name, got string) {
	t.Helper()
	document, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- printed: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(document), begin)
	require.True(t, found, "%s lacks %s", file, begin)
	printed, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s lacks the end of %s", file, begin)
	got = "\n" + got + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+got+end+after), 0o644))
		return
	}
	require.Equal(t, printed, got, "%s, %s: make docs prints it anew", file, name)
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
