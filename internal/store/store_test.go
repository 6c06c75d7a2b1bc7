package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Modes that answer in the text format would be read wrongly.
func TestAQueryModeWithoutTheBinaryFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), Config{DSN: "host=127.0.0.1 default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "default_query_exec_mode")
	}
}
