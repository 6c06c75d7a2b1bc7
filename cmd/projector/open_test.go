package main

import (
	"bytes"
	"strings"
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

func TestTheDatabasesAddressIsNamedWhereItCannotBeRead(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Status struct{ sourceFlags } `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	_, err := cli.Parse(&grammar, "projector", "", []string{"--database-url=nonsense", "--log-level=loud"}, &out, &out)
	require.ErrorContains(t, err, "DATABASE_URL: read the connection string")
	require.ErrorContains(t, err, "LOG_LEVEL")
}

func TestEachFaultOfACatalogueNamesItsFile(t *testing.T) {
	t.Parallel()
	var grammar struct {
		Rules struct{ rulesFlags } `cmd:"" default:"withargs"`
	}
	var out bytes.Buffer
	path := file(t, "version: 0\nproducts: {a: {kind: gift}}\n")
	_, err := cli.Parse(&grammar, "projector", "", []string{"--catalogue-file=" + path}, &out, &out)
	require.Error(t, err)
	faults := strings.Split(err.Error(), "\n")
	require.Len(t, faults, 2)
	for _, fault := range faults {
		require.Contains(t, fault, "CATALOGUE_FILE "+path+": ")
	}
}
