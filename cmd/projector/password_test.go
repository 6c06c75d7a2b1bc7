package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// A process has one environment: this test cannot be parallel.
func TestAPasswordInTheEnvironmentIsText(t *testing.T) {
	const rule = "PGPASSWORD: a secret is one line of printable characters; this "
	for bad, says := range map[string]string{"a\x01b": "has a control character", "a\nb": "has more than one line", "\ufeffa": "has a byte order mark"} {
		t.Setenv("PGPASSWORD", bad)
		_, err := cli.Parse(&grammar{}, "projector", "", []string{"status"}, io.Discard, io.Discard)
		require.EqualError(t, err, rule+says)
	}
}
