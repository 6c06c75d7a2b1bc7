package catalogue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func summaryOf(t *testing.T, text string) Summary {
	t.Helper()
	c, err := Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, c.ID, c.Summary().ID())
	return c.Summary()
}

const oneProduct = "version: 1\nproducts:\n  pack: {kind: one_time, credits: 25}\n"

func TestACatalogueExtendsOneThatSellsLess(t *testing.T) {
	t.Parallel()
	one := summaryOf(t, oneProduct)
	for name, c := range map[string]struct {
		text    string
		added   []string
		extends bool
	}{
		"the same":              {oneProduct, nil, false},
		"a later version":       {strings.Replace(oneProduct, "version: 1", "version: 2", 1), nil, true},
		"another product":       {oneProduct + "  b: {kind: pro}\n  a: {kind: none}\n", []string{"a", "b"}, true},
		"other credits":         {strings.Replace(oneProduct, "25", "26", 1), nil, false},
		"a later offer":         {"version: 2\nproducts:\n  pack: [{kind: one_time, credits: 25}, {from: 2027-01-01, kind: one_time, credits: 30}]\n", nil, false},
		"another instead of it": {"version: 2\nproducts:\n  other: {kind: one_time, credits: 25}\n", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := summaryOf(t, c.text)
			added, extends := other.Extends(one)
			require.Equal(t, c.extends, extends)
			if extends {
				require.Equal(t, c.added, added)
			}
			_, back := one.Extends(other)
			require.False(t, extends && back, "at most one extends the other")
		})
	}
}

func TestWhatNoRuleReadsDoesNotChangeTheID(t *testing.T) {
	t.Parallel()
	commented := "# a comment\n" + strings.Replace(oneProduct, "credits: 25", "credits: 25, name: Pack, prices: [{amount: 5, currency: EUR}]", 1)
	require.Equal(t, summaryOf(t, oneProduct).ID(), summaryOf(t, commented).ID())
	require.NotEqual(t, summaryOf(t, oneProduct).ID(), summaryOf(t, strings.Replace(oneProduct, "25", "26", 1)).ID())
	require.NotEqual(t, summaryOf(t, oneProduct).ID(), summaryOf(t, strings.Replace(oneProduct, "version: 1", "version: 2", 1)).ID())
}
