package catalogue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestAllFaultsOfACatalogueAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`
version: 0
products:
  a: {kind: gift}
  b: {kind: one_time}
  c: {kind: pro, credits: 5}
  d: {kind: subscription, credits: 0}
  e: {kind: subscription, credits: 5, drip: weekly, months: 2}
  f: {kind: subscription, credits: 5, months: 2}
  g: {kind: subscription, credits: 5, drip: monthly}
  h: {kind: subscription, credits: 5, valid_months: 100000}
  i: [{kind: subscription, from: yesterday}]
  j: [{kind: subscription}, {kind: pro}]
  k: []
`))
	require.Error(t, err)
	for _, fault := range []string{
		"version", "product a, offer 1: kind", "product b, offer 1: a one_time", "product c, offer 1: a pro", "product d, offer 1: credits",
		"product e, offer 1: drip", "product f, offer 1: months", "product g, offer 1: a drip", "product h, offer 1: valid_months",
		"product i, offer 1: from", "product j has two offers", "product k has no offer",
	} {
		require.ErrorContains(t, err, fault)
	}
	for _, text := range []string{"", "products: {a: {kind: pro}}", "version: 1\nproduct: {}", "version: [", "version: 1\nproducts: {a: {kind: pro, colour: red}}"} {
		_, err := Parse([]byte(text))
		require.Error(t, err, text)
	}
}

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
		_, err := Parse([]byte(text))
		require.NoError(t, err, where)
	}
	require.Positive(t, catalogues)
}
