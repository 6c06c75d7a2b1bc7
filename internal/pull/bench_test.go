package pull_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

// BenchmarkDeliveriesBesideAPull pulls 100,000 missed events, and measures appends of deliveries without and beside that.
// p99 is of both, in milliseconds; heap_mb is the largest heap.
func BenchmarkDeliveriesBesideAPull(b *testing.B) {
	const missed = 100_000
	for range b.N {
		log, api := testenv.NewLog(b, 64), payapi.New(b, "paddle")
		for i := range missed {
			api.Add(payapi.NewEvent("paddle", i, time.Now().Add(time.Duration(i-missed)*time.Second)))
		}
		key, err := providerapi.NewKey(payapi.Key)
		require.NoError(b, err)
		client, err := providerapi.New(providerapi.Config{Provider: "paddle", URL: api.URL, Key: key})
		require.NoError(b, err)
		puller := pull.New(pull.Config{API: client, MaxBodyBytes: 1 << 19, AppendTimeout: time.Minute, Logger: testenv.Logger(b)}, log)

		before := deliver(b, log, 2_000_000, func(n int) bool { return n < 3000 })
		began, ended, result := time.Now(), make(chan error, 1), pull.Result{}
		go func() {
			var err error
			result, err = puller.Pull(context.Background(), time.Now().Add(-2*missed*time.Second), nil)
			ended <- err
		}()
		heap, memory := uint64(0), runtime.MemStats{}
		beside := deliver(b, log, 3_000_000, func(n int) bool {
			if n%500 == 0 {
				runtime.ReadMemStats(&memory)
				heap = max(heap, memory.HeapInuse)
			}
			return len(ended) == 0
		})
		require.NoError(b, <-ended)
		require.EqualValues(b, missed, result.Appended)
		client.Close()
		b.ReportMetric(float64(missed)/time.Since(began).Seconds(), "pulled/s")
		b.ReportMetric(before, "p99_ms")
		b.ReportMetric(beside, "p99_beside_ms")
		b.ReportMetric(float64(heap)/1e6, "heap_mb")
	}
}

// deliver appends deliveries one after the other while more is true, and returns the 99th percentile of the times.
func deliver(b *testing.B, log *testenv.Log, from int, more func(n int) bool) (milliseconds float64) {
	b.Helper()
	var took []time.Duration
	w := &world{provider: "stripe"}
	for n := 0; more(n); n++ {
		began := time.Now()
		_, err := log.Append(context.Background(), w.deliveryOf(b, payapi.NewEvent("stripe", from+n, began)))
		require.NoError(b, err)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
