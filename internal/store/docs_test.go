package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestPostgresTakesTheSQLOfTheDocuments(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	blocks := repository.Blocks("sql")
	require.NotEmpty(t, blocks)
	for where, statements := range blocks {
		_, err := s.pool.Exec(ctx, statements)
		require.NoError(t, err, where)
	}
}
