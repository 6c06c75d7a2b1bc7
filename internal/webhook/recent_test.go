package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheAnswersOfTheLastMinutesAreCounted(t *testing.T) {
	t.Parallel()
	var r recent
	noon := time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)
	for minute := range 20 {
		for range minute + 1 {
			r.count("accepted", noon.Add(time.Duration(minute)*time.Minute+59*time.Second))
		}
	}
	r.count("unauthorized", noon.Add(19*time.Minute))
	got := r.since(noon.Add(19*time.Minute + 30*time.Second))
	require.Len(t, got, recentMinutes)
	require.Equal(t, Minute{noon.Add(5 * time.Minute), map[string]uint64{"accepted": 6}}, got[0])
	require.Equal(t, Minute{noon.Add(19 * time.Minute), map[string]uint64{"accepted": 20, "unauthorized": 1}}, got[14])

	later := r.since(noon.Add(33 * time.Minute))
	require.Equal(t, got[14:], later, "what is older is forgotten")
	r.count("accepted", noon.Add(33*time.Minute))
	require.Equal(t, map[string]uint64{"accepted": 20, "unauthorized": 1}, later[0].Answers, "an answer is a copy")
	require.Empty(t, r.since(noon.Add(time.Hour)))
}
