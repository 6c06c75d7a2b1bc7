package console

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestASchemaIsNotClosedWhileAPageUsesIt(t *testing.T) {
	t.Parallel()
	live, err := store.Open(t.Context(), store.Config{DSN: "host=" + t.TempDir()}) // nobody answers there
	require.NoError(t, err)
	defer live.Close()
	all := newSchemas(live)
	defer all.close()
	first, err := all.open(t.Context(), "first")
	require.NoError(t, err)
	for i := range maxSchemas {
		other, err := all.open(t.Context(), fmt.Sprint("other", i))
		require.NoError(t, err)
		other.pages.Done()
	}
	open := func() bool { return errors.As(first.Ping(t.Context()), new(*pgconn.ConnectError)) } // it tries to connect
	for range 20 {
		require.True(t, open())
	}
	first.pages.Done()
	wait.Until(t, func() bool { return !open() })
}
