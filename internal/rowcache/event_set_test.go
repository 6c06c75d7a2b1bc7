package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAnEventSetHasWhatWasAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		set, want := newEventSet(0), map[EventID]bool{}
		// The halves of few values make many ids want the same slot.
		half := rapid.Uint64Range(0, 3)
		for range rapid.IntRange(0, 50).Draw(r, "events") {
			id := EventID{half.Draw(r, "first"), 1 + half.Draw(r, "second")}
			require.Equal(r, want[id], set.has(id))
			set.add(id)
			want[id] = true
			require.True(r, set.has(id))
		}
		requireEvents(r, set, want)
	})
}

func TestAnEventSetGrows(t *testing.T) {
	t.Parallel()
	set, want := newEventSet(0), map[EventID]bool{}
	before := set.size()
	for i := range 5000 {
		id := EventIDOf(string(rune(i)))
		set.add(id)
		want[id] = true
	}
	requireEvents(t, set, want)
	require.Greater(t, set.size(), before)
	require.LessOrEqual(t, 3*set.length, 2*len(set.slots))
}

func requireEvents(t require.TestingT, set eventSet, want map[EventID]bool) {
	ids := set.list()
	require.Len(t, ids, len(want))
	for _, id := range ids {
		require.True(t, want[id])
	}
}
