package archive_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/testenv"
)

// storedWith is a log whose server had another time when it stored its messages.
func storedWith(log *testenv.Log, ahead time.Duration) archive.Source {
	return changed{log, func(r *archive.Record) { r.StoredAt = r.StoredAt.Add(ahead) }}
}

func TestAClockThatWasAheadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 3)
	require.NoError(t, w.archiverOf(w.place(t), storedWith(w.Log, 24*time.Hour), 0).Step(t.Context()))
	require.EqualValues(t, 3, w.open(t, w.place(t)).Last())
}

// Nobody archives any more, or in another place.
func TestACheckNamesWhatShouldHaveBeenArchivedLongAgo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.fill(t, 1, 3)
	for age, faults := range map[time.Duration][]string{time.Hour: nil, 25 * time.Hour: {"it lacks seq 1 to 3"}} {
		checked, err := archive.CheckAgainst(t.Context(), w.place(t), w.id(t), storedWith(w.Log, -age), true)
		require.NoError(t, err)
		require.Len(t, checked.Faults, len(faults))
		for i, fault := range faults {
			require.Contains(t, checked.Faults[i], fault)
		}
	}
}

// The clock of the log's server was ahead for some messages. What is behind them shows how old they are.
func TestMessagesOfTheFutureHoldUpNoTrim(t *testing.T) {
	t.Parallel()
	w := setupArchived(t, 100)
	segments := w.open(t, w.place(t)).Segments()
	require.Greater(t, len(segments), 4)
	for name, test := range map[string]struct{ first, last, stays uint64 }{
		"one at the end of a segment": {segments[1].Last, segments[1].Last, 100},
		"three segments":              {segments[1].First, segments[3].Last, 100},
		"the newest two":              {segments[len(segments)-2].First, 100, segments[len(segments)-2].First},
	} {
		log := &trimmable{Log: w.Log, file: 1, record: func(r *archive.Record) {
			r.StoredAt = r.StoredAt.Add(-48 * time.Hour)
			if r.Seq >= test.first && r.Seq <= test.last {
				r.StoredAt = r.StoredAt.AddDate(10, 0, 0)
			}
		}}
		w.path = filepath.Join(t.TempDir(), "archive")
		require.NoError(t, w.archiverOf(w.place(t), log, 0).Step(t.Context()))
		require.NoError(t, w.trimmer(t, log, archive.Keep{Age: 24 * time.Hour}).Step(t.Context()), name)
		require.Equal(t, test.stays, log.first.Load(), name)
	}
}
