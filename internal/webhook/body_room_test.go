package webhook

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Nobody knows yet whose bodies they are.
func TestLargeBodiesShareTheirRoom(t *testing.T) {
	t.Parallel()
	all := newRoom(20_000, prometheus.NewCounter(prometheus.CounterOpts{}))
	read := func(size int, announced int64) (share, error) {
		one := share{of: all}
		body, err := readAll(strings.NewReader(strings.Repeat("x", size)), announced, &one)
		if err == nil {
			require.Len(t, body, size)
		}
		return one, err
	}
	for _, announced := range []int64{3000, -1} {
		small, err := read(3000, announced)
		require.NoError(t, err)
		require.Zero(t, small.taken)
	}
	for _, announced := range []int64{10_000, -1, 1} {
		one, err := read(10_000, announced)
		require.NoError(t, err)
		require.Positive(t, one.taken)
		_, err = read(10_000, announced)
		if err == nil {
			_, err = read(10_000, announced)
		}
		require.ErrorIs(t, err, errNoRoom)
		all = newRoom(20_000, prometheus.NewCounter(prometheus.CounterOpts{}))
	}
	one, err := read(10_000, -1)
	require.NoError(t, err)
	one.giveBack()
	require.EqualValues(t, 20_000, all.free, "all of it is given back")
}
