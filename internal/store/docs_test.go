package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestPostgresExecutesTheSQLOfTheDocuments(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	blocks := repository.Blocks("sql")
	require.NotEmpty(t, blocks)
	_, err = s.Pool().Exec(ctx, "create schema shop") // docs/app.md: an administrator makes it for the app's tables
	require.NoError(t, err)
	for where, statements := range blocks {
		_, err := s.Pool().Exec(ctx, statements)
		require.NoError(t, err, where)
	}
}
