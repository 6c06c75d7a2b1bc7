//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/testenv"
)

// rounds is how often each contender is measured. A round measures all of them. Ratios are
// of one round, because machines are noisy; the median of the ratios is reported.
const rounds = 9

// contender is a server that receives deliveries.
type contender struct {
	name        string
	connections int
	deliveries  int
	start       func(b *testing.B) *testenv.Program
	parent      int // the parent of other processes that do the work; 0: none
	results     []result
}

type result struct{ rate, p50, p99, cpu, megabytes float64 }

// BenchmarkIngest compares ingest with other receivers in one run. Figures of different runs
// cannot be compared.
func BenchmarkIngest(b *testing.B) {
	peer := buildCommand(b, "peer")
	database, postmaster := durablePostgres(b)
	serve := func(arguments ...string) func(b *testing.B) *testenv.Program {
		return func(b *testing.B) *testenv.Program {
			return testenv.StartCommand(b, exec.Command(peer, append(arguments, "-secret", secret)...), nil)
		}
	}
	ingest := func(b *testing.B) *testenv.Program {
		return testenv.Start(b, "ingest", []string{
			"DATA_DIR=" + b.TempDir(), "LISTEN_ADDR=127.0.0.1:0",
			"ADMIN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET=" + secret,
			"PUBLISH_TIMEOUT=4500ms", // a busy machine may stall for seconds
		})
	}
	// withLog starts peer with a log, with the runtime settings of ingest.
	withLog := func(arguments ...string) func(b *testing.B) *testenv.Program {
		return func(b *testing.B) *testenv.Program {
			command := exec.Command(peer, append(arguments, "-log", b.TempDir(), "-secret", secret)...)
			return testenv.StartCommand(b, command, []string{"GOGC=200", "GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0)+1)})
		}
	}
	const always, slow = "-sync=always", "-slower=1ms"
	contenders := []*contender{
		{name: "nothing stored", connections: connections, deliveries: 8000, start: serve()},
		{name: "Postgres handler", connections: connections, deliveries: 3000, start: serve("-database", database), parent: postmaster},
		{
			name: "Postgres handler, tuned", connections: connections, deliveries: 5000, parent: postmaster,
			start: serve("-database", fmt.Sprintf("%s&pool_max_conns=%d", database, connections)), // the fastest pool size
		},
		{name: "one by one", connections: connections, deliveries: 4000, start: withLog(always)},
		{name: "ingest", connections: connections, deliveries: 8000, start: ingest},
		{name: "one by one, flush 1 ms slower", connections: connections, deliveries: 600, start: withLog(always, slow)},
		{name: "ingest, flush 1 ms slower", connections: connections, deliveries: 4000, start: withLog(slow)},
		{name: "one by one, one connection", connections: 1, deliveries: 500, start: withLog(always)},
		{name: "ingest, one connection", connections: 1, deliveries: 500, start: ingest},
	}
	deliveries := prepared(9000)
	for range rounds {
		for _, c := range contenders {
			c.measure(b, deliveries)
		}
	}
	report(contenders)
}

func (c *contender) measure(b *testing.B, deliveries [][]byte) {
	program := c.start(b)
	address := attribute(program.WaitFor(b, `msg="receiving deliveries"`), "listen_addr")
	warm := c.deliveries / 20
	sendAll(b, address, deliveries[:warm], c.connections)
	before := cpuTime(b, program.Pid(), c.parent)
	latencies, all := sendAll(b, address, deliveries[warm:warm+c.deliveries], c.connections)
	at := func(share float64) float64 {
		return float64(latencies[int(share*float64(len(latencies)-1))].Microseconds()) / 1000
	}
	c.results = append(c.results, result{
		rate: float64(c.deliveries) / all.Seconds(), p50: at(0.5), p99: at(0.99),
		cpu:       float64((cpuTime(b, program.Pid(), c.parent) - before).Microseconds()) / float64(c.deliveries),
		megabytes: residentMB(b, program),
	})
	program.Kill()
}

// median returns the median of a figure over the rounds.
func (c *contender) median(figure func(result) float64) float64 {
	all := make([]float64, rounds)
	for i, r := range c.results {
		all[i] = figure(r)
	}
	return median(all)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

func report(contenders []*contender) {
	fmt.Printf("\n%d connections, bodies of %d bytes, medians of %d rounds; CPU includes the processes of Postgres, memory does not\n\n",
		connections, bodySize, rounds)
	fmt.Printf("%-32s %12s %9s %9s %16s %10s\n", "", "deliveries/s", "p50 ms", "p99 ms", "CPU µs/delivery", "memory MB")
	named := map[string]*contender{}
	for _, c := range contenders {
		named[c.name] = c
		fmt.Printf("%-32s %12.0f %9.2f %9.2f %16.1f %10.0f\n", c.name, c.median(rate), c.median(p50), c.median(p99),
			c.median(cpu), c.median(megabytes))
	}
	ratio := func(text, of, to string, figure func(result) float64) {
		all := make([]float64, rounds)
		for i := range all {
			all[i] = figure(named[of].results[i]) / figure(named[to].results[i])
		}
		fmt.Printf("%-60s %6.2f\n", text, median(all))
	}
	fmt.Println()
	for _, handler := range []string{"Postgres handler", "Postgres handler, tuned"} {
		ratio("rate: ingest / "+handler, "ingest", handler, rate)
		ratio("p99: ingest / "+handler, "ingest", handler, p99)
		ratio("CPU: ingest / "+handler+", with its Postgres", "ingest", handler, cpu)
	}
	ratio("rate: ingest / nothing stored", "ingest", "nothing stored", rate)
	ratio("rate: ingest / one by one", "ingest", "one by one", rate)
	ratio("rate: ingest / one by one, both with flushes 1 ms slower", "ingest, flush 1 ms slower", "one by one, flush 1 ms slower", rate)
	ratio("p50 of one connection: ingest / one by one", "ingest, one connection", "one by one, one connection", p50)
	fmt.Println()
}

func rate(r result) float64 { return r.rate }
func p50(r result) float64  { return r.p50 }
func p99(r result) float64  { return r.p99 }
func cpu(r result) float64  { return r.cpu }

func megabytes(r result) float64 { return r.megabytes }

// durablePostgres starts a private server with fsync on, and returns its process id.
func durablePostgres(b *testing.B) (dsn string, postmaster int) {
	b.Helper()
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(b, err)
	require.NoError(b, os.Chmod(dir, 0o755))
	ctx, cancel := context.WithCancel(context.Background())
	server := localpg.New(localpg.Config{Dir: dir, Durable: true})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-ended)
		removePrivate(b, dir)
	})
	dsn, err = server.Ready(ctx)
	require.NoError(b, err)
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(b, err)
	postmaster, err = strconv.Atoi(strings.Fields(string(text))[0])
	require.NoError(b, err)
	return dsn, postmaster
}

// cpuTime returns the CPU time of a process and of the children of parent, also of those
// that have ended.
func cpuTime(b *testing.B, pid, parent int) (total time.Duration) {
	b.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		// The fields after the name in brackets: state, parent; utime and stime are the 12th
		// and 13th. Those of its children that have ended follow.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		var counts []string
		if file == fmt.Sprintf("/proc/%d/stat", pid) || parent != 0 && fields[1] == strconv.Itoa(parent) {
			counts = append(counts, fields[11:13]...)
		}
		if file == fmt.Sprintf("/proc/%d/stat", parent) {
			counts = append(counts, fields[13:15]...)
		}
		for _, field := range counts {
			ticks, err := strconv.Atoi(field)
			require.NoError(b, err)
			total += time.Duration(ticks) * tick
		}
	}
	return total
}

// tick is the time unit of /proc/PID/stat on Linux.
const tick = 10 * time.Millisecond
