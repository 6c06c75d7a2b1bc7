package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// MakeIndexes waits for locks in many short tries.
func TestASessionThatHoldsALockIsNamed(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	other := fixture.Connect(ctx, t, s, "application_name", "psql")
	defer other.Close(ctx)
	holding, err := other.Begin(ctx)
	require.NoError(t, err)
	_, err = holding.Exec(ctx, "lock table portal_next.payment in row exclusive mode")
	require.NoError(t, err)

	var log testenv.Buffer
	stop := s.LogBlocking(ctx, slog.New(slog.NewTextHandler(&log, nil)))
	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	made := make(chan error, 1)
	go func() { made <- store.MakeIndexes(ctx, s.Schema(), tables.Complete, connection) }()
	named := fmt.Sprintf("pid %d (psql) of ", other.PgConn().PID())
	wait.Until(t, func() bool { return strings.Contains(log.String(), named) })
	require.NoError(t, holding.Rollback(context.Background()))
	require.NoError(t, <-made)
	stop()
}
