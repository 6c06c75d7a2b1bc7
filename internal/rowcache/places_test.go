package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/tables"
)

// However places were added, those of a name are found, and no others.
func TestPlacesHaveWhatWasAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var all Places
		added, size := map[string][]tables.Place{}, 0
		name := rapid.StringMatching("[a-d]{1,2}")
		place := rapid.Custom(func(r *rapid.T) tables.Place {
			return tables.Place{Page: rapid.Uint32().Draw(r, "page"), Item: rapid.Uint16().Draw(r, "item")}
		})
		for _, part := range rapid.SliceOf(rapid.SliceOf(name)).Draw(r, "parts") {
			placed := make([]Placed, 0, len(part))
			for _, one := range part {
				at := place.Draw(r, "place")
				placed, added[one] = append(placed, PlacedAt(at, one)), append(added[one], at)
				size += PlaceSize
			}
			all.Add(placed)
		}
		one := name.Draw(r, "asked for")
		require.ElementsMatch(r, added[one], all.Of(one, nil))
		require.Equal(r, size, all.Size())
	})
}
