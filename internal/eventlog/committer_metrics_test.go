package eventlog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func values(t *testing.T, h prometheus.Histogram) (count uint64, sum float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(h)
	families, err := registry.Gather()
	require.NoError(t, err)
	histogram := families[0].GetMetric()[0].GetHistogram()
	return histogram.GetSampleCount(), histogram.GetSampleSum()
}

func TestAnAppendLastsUntilItsFlushHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{flushed: make(chan error)}
		c := newCommitter(s, s.flush)
		defer c.close()
		for range 3 {
			go func() { _, _ = c.append(t.Context(), &nats.Msg{}) }()
			synctest.Wait()
		}
		s.answers[0].stored(1, false)
		synctest.Wait() // the first flush is for this one alone
		s.answers[1].stored(2, false)
		s.answers[2].stored(2, true)
		time.Sleep(time.Second)
		s.flushed <- nil
		synctest.Wait()
		time.Sleep(2 * time.Second)
		s.flushed <- nil
		synctest.Wait()

		count, sum := values(t, c.groupSize)
		require.EqualValues(t, 2, count)
		require.InDelta(t, 1+2, sum, 0)
		count, sum = values(t, c.flushDuration)
		require.EqualValues(t, 2, count)
		require.InDelta(t, 1+2, sum, 1e-9)
		count, sum = values(t, c.appendDuration)
		require.EqualValues(t, 3, count)
		require.InDelta(t, 1+3+3, sum, 1e-9)
	})
}

func TestAFlushThatOnlyAReaderAskedForHasNoGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{flushed: make(chan error)}
		c := newCommitter(s, s.flush)
		defer c.close()
		go func() { _, _ = c.confirm(t.Context(), 1) }()
		synctest.Wait()
		s.flushed <- nil
		synctest.Wait()
		groups, _ := values(t, c.groupSize)
		require.Zero(t, groups)
		flushes, _ := values(t, c.flushDuration)
		require.EqualValues(t, 1, flushes)

		s.refuse = errSend
		_, err := c.append(t.Context(), &nats.Msg{})
		require.ErrorIs(t, err, errSend)
		appends, _ := values(t, c.appendDuration)
		require.Zero(t, appends, "nothing was stored")
	})
}
