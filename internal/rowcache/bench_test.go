package rowcache

import (
	"fmt"
	"testing"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv"
)

// BenchmarkFold folds logs of 200,000 events in memory. What an event takes must not depend on
// how many events its customer has.
func BenchmarkFold(b *testing.B) {
	const length, batchSize = 200_000, 200
	for _, each := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d events a customer", each), func(b *testing.B) {
			customers := testenv.Customers(length / each)
			for range b.N {
				cache, state := New(length, nil), projections.NewState()
				for at := 0; at < length; at += batchSize {
					b.StopTimer()
					batch := make([]events.Event, batchSize)
					for i := range batch {
						batch[i] = providers.Decode(events.Message{
							Seq: uint64(at + i + 1), Body: []byte(customers.Event(at + i)), ReceivedAt: time.Unix(1767348000, 0),
						})
					}
					b.StartTimer()
					if err := cache.Fold(b.Context(), projections.Rules{Mode: projections.ModeAny}, state, batch, <-cache.Seen([][]events.Event{batch})); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/length, "ns/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}
