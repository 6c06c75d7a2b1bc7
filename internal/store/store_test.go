package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// These modes answer in the text format, which scanRow cannot read.
func TestAQueryModeWithoutTheBinaryFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), Config{DSN: "host=127.0.0.1 default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "default_query_exec_mode")
	}
}
