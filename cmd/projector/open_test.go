package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/testenv"
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

// A rebuild that is interrupted saves what it has folded.
func TestThePrivatePostgresStaysUntilTheWorkEnds(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755)) // where root runs the tests, Postgres runs as another user
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(t.Context())
	var sockets string
	flags := sourceFlags{Common: cli.Common{DataDir: dir}}
	require.NoError(t, flags.withPostgres(ctx, testenv.Logger(t), func(ctx context.Context, dsn string) error {
		db, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		sockets = db.Config().Host
		stop()
		saving := context.WithoutCancel(ctx)
		defer db.Close(saving)
		_, err = db.Exec(saving, "select pg_sleep(0.3)") // longer than a server takes to end its sessions
		return err
	}))
	require.NoError(t, os.RemoveAll(sockets))
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
