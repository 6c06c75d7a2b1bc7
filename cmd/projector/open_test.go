package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

func TestTheDatabasesAddressMayBeInAFile(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Status struct{ sourceFlags } `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	const url = "postgres://payfold_projector:pw@host/payfold"
	_, err := cli.Parse(&grammar, "projector", "", []string{"--database-url-file=" + file(t, url+"\n")}, &out, &out)
	require.NoError(t, err)
	require.Equal(t, url, grammar.Status.DatabaseURL)
	_, err = cli.Parse(&grammar, "projector", "", []string{"--database-url-file=" + file(t, "")}, &out, &out)
	require.EqualError(t, err, "DATABASE_URL_FILE is empty")
}
