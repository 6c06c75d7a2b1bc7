package pull_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

// BenchmarkDeliveriesBesideAPull pulls 100,000 missed events, and measures appends of deliveries: some while the pull waits
// for each page, and all while it appends the page. So what else the machine does is in both. p99 is in milliseconds;
// heap_mb is the largest heap.
func BenchmarkDeliveriesBesideAPull(b *testing.B) {
	const missed, alone = 100_000, 10
	for range b.N {
		log, api := testenv.NewLog(b, 64), payapi.New(b, "paddle")
		asked, answer := make(chan struct{}), make(chan struct{})
		api.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			asked <- struct{}{}
			<-answer
			page(w, r, missed)
			return true
		}
		key, err := providerapi.NewKey(payapi.Key)
		require.NoError(b, err)
		client, err := providerapi.New(providerapi.Config{Provider: "paddle", URL: api.URL, Key: key})
		require.NoError(b, err)
		puller := pull.New(pull.Config{API: client, MaxBodyBytes: 1 << 19, AppendTimeout: time.Minute, Logger: testenv.Logger(b)}, log)

		result, ended := pull.Result{}, make(chan error, 1)
		go func() {
			var err error
			result, err = puller.Pull(context.Background(), time.Now().Add(-2*missed*time.Second), nil)
			ended <- err
		}()
		w := &world{provider: "stripe"}
		sent, heap, pulling, memory := 2_000_000, uint64(0), time.Duration(0), runtime.MemStats{}
		deliver := func() time.Duration {
			sent++
			began := time.Now()
			d := w.deliveryOf(b, payapi.NewEvent("stripe", sent, began))
			began = time.Now()
			_, err := log.Append(context.Background(), d)
			require.NoError(b, err)
			return time.Since(began)
		}
		var without, beside []time.Duration
		for running := true; running; {
			select {
			case <-asked:
				for range alone {
					without = append(without, deliver())
				}
				runtime.ReadMemStats(&memory)
				heap = max(heap, memory.HeapInuse)
				answer <- struct{}{}
			case err := <-ended:
				require.NoError(b, err)
				running = false
			default:
				took := deliver()
				beside, pulling = append(beside, took), pulling+took
			}
		}
		require.EqualValues(b, missed, result.Appended)
		client.Close()
		b.ReportMetric(missed/pulling.Seconds(), "pulled/s")
		b.ReportMetric(percentile(without, 50), "p50_ms")
		b.ReportMetric(percentile(beside, 50), "p50_beside_ms")
		b.ReportMetric(percentile(without, 99), "p99_ms")
		b.ReportMetric(percentile(beside, 99), "p99_beside_ms")
		b.ReportMetric(percentile(beside, 99)/percentile(without, 99), "p99_ratio")
		b.ReportMetric(float64(len(beside)), "deliveries_beside")
		b.ReportMetric(float64(heap)/1e6, "heap_mb")
	}
}

// page answers with the page of events after the one that the request names, newest first. It costs less than payapi's
// own: the API of a provider runs on another machine.
func page(w http.ResponseWriter, r *http.Request, missed int) {
	before, size := missed, 200
	if _, err := fmt.Sscanf(r.FormValue("after"), "evt_%d", &before); err != nil {
		before = missed
	}
	list := make([]string, min(size, before))
	for i := range list {
		n := before - 1 - i
		list[i] = payapi.NewEvent("paddle", n, time.Now().Add(time.Duration(n-missed)*time.Second)).Body
	}
	fmt.Fprintf(w, `{"data":[%s],"meta":{"pagination":{"has_more":%t,"next":"https://api.paddle.example/events?after=evt_%08d"}}}`,
		strings.Join(list, ","), before > size, before-len(list))
}

// percentile returns that percentile of the times, in milliseconds.
func percentile(took []time.Duration, percent int) float64 {
	slices.Sort(took)
	return float64(took[len(took)*percent/100].Microseconds()) / 1000
}
