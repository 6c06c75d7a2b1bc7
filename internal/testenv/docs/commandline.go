package docs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireCommandLine compares the command line of program with the documents. grammar returns an
// empty command line struct. The test must be in a folder such as cmd/ingest, and it must not be
// parallel, because CommandFaults sets variables.
func RequireCommandLine(t *testing.T, program string, grammar func() any) {
	t.Helper()
	repository, err := Open("../..")
	require.NoError(t, err)
	faults, err := repository.CommandFaults(program, grammar)
	require.NoError(t, err)
	require.Empty(t, faults)
}
