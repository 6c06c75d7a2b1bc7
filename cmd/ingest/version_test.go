package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// The environment is a process's own: this test cannot be parallel.
func TestTheVersionNeedsNoConfiguration(t *testing.T) {
	t.Setenv("MAX_BODY_BYTES", "many")
	t.Setenv("PROVIDER_WEBHOOK_SECRET_FILE", "/nowhere/secret")
	for _, args := range [][]string{{"--version"}, {"serve", "--version"}, {"send", "--version"}} {
		var stdout, stderr bytes.Buffer
		status := cli.Main(t.Context(), &grammar{}, "ingest", "", args, cli.Streams{Out: &stdout, Err: &stderr})
		require.Zero(t, status)
		require.Empty(t, stderr.String())
		require.Regexp(t, `^ingest \S+, commit [^,]+, go1\S+, nats-server v\d+\.\d+\.\d+\n$`, stdout.String())
	}
}
