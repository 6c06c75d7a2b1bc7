//go:build linux

package endtoend

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
)

// benchmarkAttacks lists the attacks. Each has the number of connections that hurts most.
var benchmarkAttacks = []struct {
	attack      string
	connections int
	rate        int // new connections a second
}{
	{"", 0, 0},
	{"silent", 1000, 4000},
	{"refused", 1000, 4000},
	{"unsigned", 64, 4000},
	{"slow header", 1000, 4000},
	{"held-back body", 200, 100},
	{"slow body", 400, 100},
	{"large bodies", 64, 200}, // 100 MB a second
}

// signedLoad is a kind of delivery whose latency is measured under attack.
type signedLoad struct {
	name string
	size int
	new  bool // a new connection for each delivery
}

var signedLoads = []signedLoad{
	{"1.5 KB, kept connection", 1500, false},
	{"1.5 KB, new connection", 1500, true},
	{"400 KB, kept connection", 400 << 10, false},
	{"400 KB, new connection", 400 << 10, true},
}

const (
	fileLimit     = 1024 // open files of ingest
	signedPerLoad = 300
	signedTimeout = 15 * time.Second
)

// BenchmarkStrangers measures how long signed deliveries take during attacks without a
// secret. The attacks run on the same cores.
func BenchmarkStrangers(b *testing.B) {
	stranger := buildCommand(b, "stranger")
	fmt.Printf("\n%-16s", "attack")
	for _, load := range signedLoads {
		fmt.Printf(" | %-32s", load.name)
	}
	fmt.Printf("\n%-16s", "")
	for range signedLoads {
		fmt.Printf(" | %8s %8s %8s %5s", "p50 ms", "p99 ms", "max ms", "lost")
	}
	fmt.Println(" | ingest MB")
	for _, s := range benchmarkAttacks {
		w := startLimited(b, fileLimit)
		fmt.Printf("%-16s", cmp.Or(s.attack, "none"))
		end := func() {}
		if s.attack != "" {
			end = w.attack(b, stranger, s.attack, s.connections, s.rate).Kill
		}
		measureSigned(b, w.listen)
		end()
		fmt.Printf(" | %6.0f\n", residentMB(b, w.ingest))
		w.ingest.Kill()
	}
}

func measureSigned(b *testing.B, address string) {
	var group sync.WaitGroup
	results := make([]string, len(signedLoads))
	for i, load := range signedLoads {
		group.Go(func() { results[i] = load.measure(b, address, i) })
	}
	group.Wait()
	for _, result := range results {
		fmt.Print(result)
	}
}

func (l signedLoad) measure(b *testing.B, address string, lane int) string {
	transport := &http.Transport{DisableKeepAlives: l.new}
	client := &http.Client{Transport: transport, Timeout: signedTimeout}
	defer client.CloseIdleConnections()
	signer := specification.NewSecret(secret)
	var latencies []time.Duration
	var lost atomic.Int64
	until := time.Now().Add(3 * signedTimeout)
	for i := 0; i < signedPerLoad && time.Now().Before(until); i++ {
		body := sized(fmt.Sprintf("evt_%d_%d", lane, i), l.size)
		request, err := http.NewRequest(http.MethodPost, "http://"+address+specification.Path, bytes.NewReader([]byte(body)))
		require.NoError(b, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(specification.SignatureHeader, specification.Sign(signer, []byte(body)))
		began := time.Now()
		response, err := client.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			lost.Add(1)
		}
		if err == nil {
			_ = response.Body.Close()
		}
		latencies = append(latencies, time.Since(began))
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return float64(latencies[int(share*float64(len(latencies)-1))].Microseconds()) / 1000
	}
	return fmt.Sprintf(" | %8.2f %8.2f %8.2f %5d", at(0.5), at(0.99), at(1), lost.Load())
}
