package archive_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
)

// storedWith is a log whose server had another time when it stored its messages.
type storedWith struct {
	source
	ahead time.Duration
}

func (s storedWith) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return s.source.ReadRecords(ctx, from, until, func(r archive.Record) error {
		r.StoredAt = r.StoredAt.Add(s.ahead)
		return deliver(r)
	})
}

func TestAClockThatWasAheadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 3)
	require.NoError(t, w.archiverOf(w.place(t), storedWith{w.source, 24 * time.Hour}, 0).Step(t.Context()))
	require.EqualValues(t, 3, w.open(t, w.place(t)).Last())
}

// Nobody archives any more, or in another place.
func TestACheckNamesWhatShouldHaveBeenArchivedLongAgo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 3)
	for age, faults := range map[time.Duration][]string{time.Hour: nil, 25 * time.Hour: {"it lacks seq 1 to 3"}} {
		checked, err := archive.CheckAgainst(t.Context(), w.place(t), w.id(t), storedWith{w.source, -age}, true)
		require.NoError(t, err)
		require.Len(t, checked.Faults, len(faults))
		for i, fault := range faults {
			require.Contains(t, checked.Faults[i], fault)
		}
	}
}
