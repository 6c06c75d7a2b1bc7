package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However ids were added, the set has them and no others.
func TestEventIDsHasWhatWasAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var set EventIDs
		added := map[string]bool{}
		id := rapid.StringMatching("[a-d]{1,3}")
		for _, part := range rapid.SliceOf(rapid.SliceOf(id)).Draw(r, "parts") {
			var ids []EventID
			for _, one := range part {
				ids, added[one] = append(ids, EventIDOf(one)), true
			}
			set.Add(ids)
		}
		one := id.Draw(r, "asked for")
		require.Equal(r, added[one], set.Has(EventIDOf(one)))
	})
}
