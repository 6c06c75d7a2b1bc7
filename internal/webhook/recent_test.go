package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheAnswersOfTheLastHourAreCounted(t *testing.T) {
	t.Parallel()
	var r recent
	noon := time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		r.count("accepted", noon)
	}
	r.count("accepted", noon.Add(59*time.Minute))
	r.count("unauthorized", noon.Add(59*time.Minute))
	got := r.last(noon.Add(59*time.Minute + 30*time.Second))
	require.Equal(t, []Minute{
		{noon, map[string]uint64{"accepted": 3}},
		{noon.Add(59 * time.Minute), map[string]uint64{"accepted": 1, "unauthorized": 1}},
	}, got)

	later := r.last(noon.Add(70 * time.Minute))
	require.Equal(t, got[1:], later, "what is older is forgotten")
	r.count("accepted", noon.Add(59*time.Minute))
	require.Equal(t, got[1:], later, "an answer is a copy")
	require.NotNil(t, r.last(noon.Add(3*time.Hour)), "an empty list in JSON")
}
