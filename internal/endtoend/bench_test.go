//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv"
)

const connections = 64 // each with one delivery at a time

// bodySize is about the size of the provider's events.
const bodySize = 1500

// realSized returns a purchase of a pack by one of a thousand customers, padded to bodySize.
func realSized(i int) string {
	body := pack(eventID(i), fmt.Sprintf("pay_%d", i), fmt.Sprintf("u_%d", i%1000), 10)
	return body[:len(body)-2] + `,"customer":{"id":"cust_` + strconv.Itoa(i%1000) + `","object":"customer","address":"` +
		strings.Repeat("x", bodySize-len(body)) + `"}}}`
}

func eventID(i int) string { return fmt.Sprintf("evt_%d", i) }

// BenchmarkDeliveries measures how fast ingest answers 200. Each answer comes after an
// fsync. The bodies are of bodySize, or Stripe's invoices of 5.5 KB.
func BenchmarkDeliveries(b *testing.B) {
	invoice, err := os.ReadFile("../../examples/stripe/invoice.paid.json")
	require.NoError(b, err)
	for _, name := range []string{"provider", "stripe"} {
		b.Run(name, func(b *testing.B) {
			w := setup(b, "STRIPE_WEBHOOK_SECRET="+secretOf("stripe"))
			deliver := w.deliverRealSized
			if name == "stripe" {
				deliver = w.sendInvoices(b, string(invoice))
			}
			before := cpuTime(b, w.ingest.Pid(), 0)
			latencies := deliverMany(b, b.N, deliver)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(float64((cpuTime(b, w.ingest.Pid(), 0)-before).Microseconds())/float64(b.N), "ingest-CPU-us/delivery")
			reportLatencies(b, "", latencies)
			b.ReportMetric(residentMB(b, w.ingest), "ingest-MB")
		})
	}
}

// delivery makes the delivery of that number.
type delivery func(ctx context.Context, i int) (status int, answer string, err error)

func (w *world) deliverRealSized(ctx context.Context, i int) (status int, answer string, err error) {
	return w.provider.Deliver(ctx, realSized(i))
}

// sendInvoices returns deliveries of Stripe: that invoice, with other ids each time.
func (w *world) sendInvoices(b *testing.B, invoice string) delivery {
	stripe := providers.Named("stripe")
	key, err := stripe.NewSecret(secretOf("stripe"))
	require.NoError(b, err)
	return func(ctx context.Context, i int) (status int, answer string, err error) {
		ids := strings.NewReplacer("evt_1Tfirstpaym", eventID(i), "in_1TFirst1first", fmt.Sprint("in_", i), "cus_T7G4VJt5crsibQ", fmt.Sprint("cus_", i%1000))
		body := []byte(ids.Replace(invoice))
		return w.provider.Post(ctx, w.pathOf(stripe), stripe.Sign(key, "", body, time.Now()), body)
	}
}

// deliverMany makes count deliveries over many connections and returns how long each took.
func deliverMany(b *testing.B, count int, deliver delivery) []time.Duration {
	latencies := make([]time.Duration, count)
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range connections {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				began := time.Now()
				status, answer, err := deliver(b.Context(), i)
				if err != nil || status != 200 {
					b.Errorf("delivery %d: %d %s %v", i, status, answer, err)
					return
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	group.Wait()
	b.StopTimer()
	return latencies
}

// BenchmarkProjection measures how fast a projector folds an existing log.
func BenchmarkProjection(b *testing.B) {
	w := setup(b)
	deliverMany(b, b.N, w.deliverRealSized)
	head := w.head(b)
	b.ResetTimer() // the timer is stopped
	projector := w.startProjector(b)
	projector.WaitFor(b, "msg=projecting")
	b.StartTimer()
	w.awaitPosition(b, head)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(residentMB(b, projector), "projector-MB")
}

// awaitPosition waits until a single projector has applied the message at seq. It uses one
// connection: a new one for each query would cost a tenth of the measured work.
func (w *world) awaitPosition(b *testing.B, seq uint64) {
	b.Helper()
	connection, err := pgx.Connect(b.Context(), w.database)
	require.NoError(b, err)
	defer connection.Close(b.Context())
	for applied := uint64(0); applied < seq; time.Sleep(10 * time.Millisecond) {
		require.NoError(b, connection.QueryRow(b.Context(), "select max(position) from portal.checkpoint").Scan(&applied))
	}
}

// BenchmarkVisible measures the time from a delivery until another connection reads its row,
// at 200 deliveries a second behind a log of EVENTS: alone, and while the log is rebuilt again
// and again. The commits of PostgreSQL are durable, on the same disk as the log. In turn it
// measures the bare path (startBare), which shows what the machine allows.
func BenchmarkVisible(b *testing.B) {
	const perSecond, turn = 200, 200
	history := testenv.Number(b, "EVENTS", 200_000)
	server := startBenchServer(b)
	for name, rebuilds := range map[string]bool{"alone": false, "beside a rebuild": true} {
		b.Run(name, func(b *testing.B) {
			w := startFilled(b, history)
			w.database = server.dsn(server.create(b, ""))
			w.mustRun(b, "rebuild", "--promote")
			w.startProjector(b).WaitFor(b, "msg=projecting")
			paths := []visiblePath{w.payfold(), startBare(b, w.database)}
			next, latencies := []int{history, 0}, make([][]time.Duration, len(paths))
			var rebuild *testenv.Program
			begun := 0
			keepRebuilding := func() {
				if !rebuilds || rebuild != nil && !rebuild.HasExited() {
					return
				}
				if rebuild != nil {
					require.Zero(b, rebuild.Exit(b), rebuild.Output())
				}
				rebuild = w.command(b, "rebuild", "--schema", fmt.Sprintf("again_%d", begun))
				begun++
			}
			keepRebuilding()
			b.ResetTimer()
			for len(latencies[len(paths)-1]) < b.N {
				for p, path := range paths {
					load := startVisible(b, path, next[p], perSecond)
					for enough := len(latencies[p]) + turn; len(latencies[p]) < enough; keepRebuilding() {
						latencies[p] = append(latencies[p], load.take(b, 20)...)
					}
					require.NoError(b, load.stop())
					latencies[p], next[p] = append(latencies[p], load.seen...), load.next
				}
			}
			b.StopTimer()
			reportLatencies(b, "", latencies[0])
			reportLatencies(b, "bare-", latencies[1])
		})
	}
}

func reportLatencies(b *testing.B, of string, latencies []time.Duration) {
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return float64(latencies[int(share*float64(len(latencies)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), of+"p50-ms")
	b.ReportMetric(at(0.99), of+"p99-ms")
}

// residentMB returns the peak memory of a program; 0 where /proc does not exist.
func residentMB(b *testing.B, program *testenv.Program) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", program.Pid()))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	require.NoError(b, err)
	return kilobytes / 1024
}
