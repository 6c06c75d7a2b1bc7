package endtoend

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// beginning is the start of a program, which a test stops at many moments.
type beginning struct {
	name  string
	start func() *testenv.Program
	began func(*testenv.Program) bool // main has run: a signal before it ends the process as any other
	ready string                      // in the output: the start is over
}

// A supervisor may change its mind while a program starts.
func TestAStopAtAnyMomentOfAStartIsAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	w := setupPrivate(t)
	projecting := setup(t)
	said := func(p *testenv.Program) bool { return p.Output() != "" }
	listen, console := ports.Free(t), ports.Free(t)
	ingest := func(dir, cluster string) func() *testenv.Program {
		return func() *testenv.Program {
			return testenv.Start(t, "ingest", []string{
				"DATA_DIR=" + dir, "NATS_URL=" + cluster, "ADMIN_ADDR=127.0.0.1:0", "LISTEN_ADDR=" + listen,
				"PROVIDER_WEBHOOK_SECRET=" + secret, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1",
			})
		}
	}
	for _, b := range []beginning{
		{"ingest", ingest(t.TempDir(), ""), said, `msg="receiving deliveries"`},
		{"ingest of a cluster", ingest(t.TempDir(), "nats://127.0.0.1:1"), said, `msg="receiving deliveries"`},
		{"projector", func() *testenv.Program {
			return projecting.startProjector(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
		}, said, "msg=projecting"},
		{"projector with its Postgres", func() *testenv.Program { return testenv.Start(t, "projector", w.env()) }, said, "msg=projecting"},
		{"console", func() *testenv.Program { // of the tables that the last one has made
			return testenv.Start(t, "projector", append(w.env(), "CONSOLE_ADDR="+console), "console")
		}, listens(console), "console: http"},
	} {
		t.Run(b.name, b.stopEverywhere)
	}
}

// listens reports whether somebody listens on the address.
func listens(address string) func(*testenv.Program) bool {
	return func(*testenv.Program) bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
}

// stopEverywhere stops the program right after main has run, then when it is ready, and then at moments between. A
// moment is a number of reads and writes: it does not depend on how quick the machine is.
func (b beginning) stopEverywhere(t *testing.T) {
	const moments = 4
	b.stopAt(t, 0)
	from, to := b.stopAt(t, 1<<62)
	for i := range moments {
		b.stopAt(t, from+(to-from)*i/moments)
	}
}

// stopAt stops the program after that many reads and writes, or when it is ready. It returns how many the program had
// made when main had run, and when it was stopped.
func (b beginning) stopAt(t *testing.T, calls int) (began, stopped int) {
	t.Helper()
	p := b.start()
	await := func(condition func() bool) int {
		for !condition() && !p.HasExited() {
			time.Sleep(100 * time.Microsecond)
		}
		return callsOf(p)
	}
	began = await(func() bool { return b.began(p) })
	stopped = await(func() bool { return callsOf(p) >= calls || strings.Contains(p.Output(), b.ready) })
	require.False(t, p.HasExited(), "it ended by itself: %s", p.Output())
	p.Signal(syscall.SIGTERM)
	require.Zero(t, p.Exit(t), "stopped after %d reads and writes: %s", stopped, p.Output())
	return began, stopped
}

// callsOf returns how often a process has read and written; 0 where the system does not count that.
func callsOf(p *testenv.Program) int {
	var rchar, wchar, reads, writes int
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Pid()))
	_, _ = fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d", &rchar, &wchar, &reads, &writes)
	return reads + writes
}
