package store

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// checks of each property, by default: each of them folds a log into real tables.
// make test-properties has many more.
const checks = "40"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	connectTimeout = wait.Patience // on a busy machine
	os.Exit(testenv.RunWithPostgres(m))
}

var anyMode = projections.Rules{Mode: projections.ModeAny}

const partitions = 4

func setup(t *testing.T) (context.Context, *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience)
	t.Cleanup(cancel)
	s, err := Open(ctx, Config{DSN: testenv.Database(t), Owner: "test", LeaseTime: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Prepare(ctx, "log-1", partitions, anyMode))
	return ctx, s
}
