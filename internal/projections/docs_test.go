package projections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheCataloguesInTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	blocks := repository.Blocks("yaml")
	require.NotEmpty(t, blocks)
	for where, catalogue := range blocks {
		_, err := ParseCatalogue([]byte(catalogue))
		require.NoError(t, err, where)
	}
}
