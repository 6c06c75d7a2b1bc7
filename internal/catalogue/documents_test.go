package catalogue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheCataloguesInTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	blocks := repository.Blocks("yaml")
	catalogues := 0
	for where, text := range blocks {
		if strings.HasPrefix(where, "docs/kubernetes.md:") { // values of the chart, which its tests read
			continue
		}
		catalogues++
		_, err := catalogue.Parse([]byte(text))
		require.NoError(t, err, where)
	}
	require.Positive(t, catalogues)
}
