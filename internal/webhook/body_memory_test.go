package webhook

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
)

// Their signatures are not verified yet.
func TestLargeBodiesShareBoundedMemory(t *testing.T) {
	t.Parallel()
	all := newBodyMemory(20_000, prometheus.NewCounter(prometheus.CounterOpts{}))
	read := func(size int, announced int64) (reservation, error) {
		one := reservation{memory: all}
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
		require.ErrorIs(t, err, errNoMemory)
		all = newBodyMemory(20_000, prometheus.NewCounter(prometheus.CounterOpts{}))
	}
	one, err := read(10_000, -1)
	require.NoError(t, err)
	one.release()
	require.EqualValues(t, 20_000, all.free, "everything is released")
}

func TestTheMemoryOfALargeBodyIsReleasedWithItsAnswer(t *testing.T) {
	t.Parallel()
	h := New(Config{Secrets: specification.Secrets("whsec_1"), MaxBodyBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}, nil)
	r := httptest.NewRequest(http.MethodPost, specification.Path, strings.NewReader(strings.Repeat("x", 100_000)))
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	require.Equal(t, http.StatusUnauthorized, answer.Code)
	require.EqualValues(t, maxBodyMemory, h.bodyMemory.free)
}
