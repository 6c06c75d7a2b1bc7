//go:build linux

package endtoend

import (
	"fmt"
	"testing"

	"github.com/payfold/payfold/internal/testenv"
)

// BenchmarkArchive compares ingest with and without an archive in one run. The load fills two
// segments.
func BenchmarkArchive(b *testing.B) {
	const deliveries = 80_000
	ingest := func(archive ...string) func(b *testing.B) *testenv.Program {
		return func(b *testing.B) *testenv.Program {
			return testenv.Start(b, "ingest", append([]string{
				"DATA_DIR=" + b.TempDir(), "LISTEN_ADDR=127.0.0.1:0",
				"ADMIN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET=" + secret,
				"PUBLISH_TIMEOUT=4500ms", // a busy machine may stall for seconds
			}, archive...))
		}
	}
	off := &contender{name: "without an archive", connections: connections, deliveries: deliveries, start: ingest("ARCHIVE_URL=none")}
	on := &contender{name: "with an archive", connections: connections, deliveries: deliveries, start: ingest()}
	prepared := prepared(deliveries + deliveries/20)
	for round := range rounds {
		first, second := off, on
		if round%2 == 1 {
			first, second = on, off
		}
		first.measure(b, prepared)
		second.measure(b, prepared)
	}
	fmt.Printf("\n%-20s %12s %9s %9s %16s %10s\n", "", "deliveries/s", "p50 ms", "p99 ms", "CPU µs/delivery", "memory MB")
	for _, c := range []*contender{off, on} {
		fmt.Printf("%-20s %12.0f %9.2f %9.2f %16.1f %10.0f\n", c.name, c.median(rate), c.median(p50), c.median(p99), c.median(cpu), c.median(megabytes))
	}
	ratio := make([]float64, rounds)
	for i := range ratio {
		ratio[i] = on.results[i].rate / off.results[i].rate
	}
	fmt.Printf("rate: with / without %.2f\n\n", median(ratio))
}
