//go:build cluster

package endtoend

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/cluster"
)

// BenchmarkCluster compares the logs that ingest can have in one run: its own, one NATS server, and
// three with three replicas. All sync before they answer. The streams are new in each round.
func BenchmarkCluster(b *testing.B) {
	c := cluster.New(b)
	for _, server := range c.NATS {
		server.Start(b)
	}
	c.StartAlone(b)
	ingest := func(b *testing.B, env ...string) *testenv.Program {
		env = append(env, "DATA_DIR="+b.TempDir(), "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "ARCHIVE_URL=none",
			"PROVIDER_WEBHOOK_SECRET="+secret, "PUBLISH_TIMEOUT=4500ms", "SSL_CERT_DIR="+os.Getenv("SSL_CERT_DIR"))
		return testenv.StartCommand(b, exec.Command(c.Binary("ingest")), env)
	}
	inFrontOf := func(url func(t testing.TB, user string) string, replicas string) func(b *testing.B) *testenv.Program {
		return func(b *testing.B) *testenv.Program {
			c.DeleteStream(b, url(b, "admin"))
			c.CreateStream(b, url(b, "admin"), "STREAM_REPLICAS="+replicas)
			program := ingest(b, "NATS_URL="+url(b, "ingest"))
			program.WaitFor(b, `msg="200 means`)
			return program
		}
	}
	embedded := func(b *testing.B) *testenv.Program { return ingest(b) }
	var contenders []*contender
	for _, n := range []int{connections, 1} {
		deliveries := map[int]int{connections: 4000, 1: 400}[n]
		contenders = append(contenders,
			&contender{name: fmt.Sprintf("embedded, %d", n), connections: n, deliveries: deliveries, start: embedded},
			&contender{name: fmt.Sprintf("one server, %d", n), connections: n, deliveries: deliveries, start: inFrontOf(c.AloneURL, "1")},
			&contender{name: fmt.Sprintf("three servers, %d", n), connections: n, deliveries: deliveries, start: inFrontOf(c.URL, "3")})
	}
	bodies := prepared(4300)
	for range rounds {
		for _, contender := range contenders {
			contender.measure(b, bodies)
		}
	}
	reportCluster(contenders)
}

func reportCluster(contenders []*contender) {
	fmt.Printf("\nbodies of %d bytes, sync always, medians of %d rounds, all on one machine; CPU is ingest's alone\n\n", bodySize, rounds)
	fmt.Printf("%-32s %12s %9s %9s %16s %10s\n", "log, connections", "deliveries/s", "p50 ms", "p99 ms", "CPU µs/delivery", "of embedded")
	for i, c := range contenders {
		first := contenders[i/3*3]
		ratios := make([]float64, rounds)
		for round := range ratios {
			ratios[round] = rate(c.results[round]) / rate(first.results[round])
		}
		fmt.Printf("%-32s %12.0f %9.2f %9.2f %16.1f %10.2f\n", c.name, c.median(rate), c.median(p50), c.median(p99), c.median(cpu), median(ratios))
	}
	fmt.Println()
}
