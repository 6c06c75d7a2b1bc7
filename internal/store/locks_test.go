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

// The standby does not exist.
func TestAStandbyThatConfirmsNoCommitIsNamed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := store.Open(ctx, store.Config{DSN: testenv.PrimaryPostgres(t), Owner: "waiting"})
	require.NoError(t, err)
	defer s.Close()
	admin := fixture.Connect(ctx, t, s, "synchronous_commit", "off")
	alter := func(statement string) {
		_, err := admin.Exec(ctx, statement)
		require.NoError(t, err)
		_, err = admin.Exec(ctx, "select pg_reload_conf()")
		require.NoError(t, err)
	}
	alter("alter system set synchronous_standby_names = 'elsewhere'")

	var log wait.Buffer
	stop := s.LogBlocking(ctx, slog.New(slog.NewTextHandler(&log, nil)))
	defer stop()
	committed := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && !strings.Contains(log.String(), "(elsewhere)"); i++ { // commits wait when the server has read the setting
			_, err = s.Pool().Exec(ctx, fmt.Sprintf("create table public.note_%d ()", i))
		}
		committed <- err
	}()
	wait.Until(t, func() bool {
		return strings.Contains(log.String(), "start the one of synchronous_standby_names (elsewhere)")
	})
	alter("alter system reset synchronous_standby_names")
	require.NoError(t, <-committed)
}

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

	var log wait.Buffer
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
