package minutes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

func TestTheLastHourIsKept(t *testing.T) {
	t.Parallel()
	var r Ring[int]
	for minute := range 2 * Kept {
		*r.At(noon.Add(time.Duration(minute)*time.Minute + 59*time.Second)) += minute
	}
	*r.At(noon.Add((2*Kept - 1) * time.Minute)) += 1000
	now := noon.Add((2*Kept-1)*time.Minute + 30*time.Second)
	got := r.Last(now)
	require.Len(t, got, Kept)
	require.Equal(t, Minute[int]{noon.Add(Kept * time.Minute), Kept}, got[0])
	require.Equal(t, Minute[int]{noon.Add((2*Kept - 1) * time.Minute), 2*Kept - 1 + 1000}, got[Kept-1])

	require.Equal(t, got[10:], r.Last(now.Add(10*time.Minute)), "what is older is not told")
	require.Empty(t, r.Last(now.Add(Kept*time.Minute)))
}

func TestMinutesOfAClockThatWasSetBackAreNotTold(t *testing.T) {
	t.Parallel()
	var r Ring[int]
	*r.At(noon.Add(10 * time.Minute)) = 7
	require.Empty(t, r.Last(noon))
	*r.At(noon) = 1
	require.Equal(t, []Minute[int]{{noon, 1}}, r.Last(noon))
	require.Zero(t, *r.At(noon.Add(-Kept * time.Minute)), "the same slot, another minute")
}
