package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// These modes answer in the text format, which scanRow cannot read.
func TestAQueryModeWithoutTheBinaryFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), Config{DSN: "host=127.0.0.1 default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "default_query_exec_mode")
	}
}

func TestTheConnectionsOfAProgramAreBounded(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]int32{"": 8, " pool_max_conns=3": 8, " pool_max_conns=20": 20} {
		s, err := Open(t.Context(), Config{DSN: "host=127.0.0.1" + asked})
		require.NoError(t, err)
		require.Equal(t, want, s.Pool().Config().MaxConns, asked)
		s.Close()
	}
}

// To close a pool waits for a ping under way, which a silent network does not answer.
func TestAPingOfAnIdleConnectionIsBounded(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]time.Duration{"": CleanUpTimeout, " pool_ping_timeout=1s": time.Second} {
		s, err := Open(t.Context(), Config{DSN: "host=127.0.0.1" + asked})
		require.NoError(t, err)
		require.Equal(t, want, s.Pool().Config().PingTimeout, asked)
		s.Close()
	}
}

func TestNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{DSN: testenv.Database(t) + " jit=on"})
	require.NoError(t, err)
	defer s.Close()
	var jit string
	require.NoError(t, s.Pool().QueryRow(t.Context(), "show jit").Scan(&jit))
	require.Equal(t, "off", jit)
}
