//go:build cluster

package endtoend

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/cluster"
	"github.com/payfold/payfold/internal/testenv/history"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// fire is a cluster under load, whose parts fail.
type fire struct {
	*world
	*cluster.Cluster
	load    *load
	random  *rand.Rand
	answers *answers
	refused []string                     // bodies that are to be delivered again
	buyers  int                          // of licences
	digests map[uint64][sha256.Size]byte // of the messages, by sequence, as a server has told them
}

// clusterPace is the pause of a customer between deliveries: about a hundred deliveries a second.
const clusterPace = 50 * time.Millisecond

// TestNoFaultOfTheClusterMakesAWrongRow injects faults into a cluster under load, one a round. After
// each round the tables must have every acknowledged event, once, all sums must be exact, and the
// tables must be those of one fold of the log.
//
// CLUSTER_ROUNDS is the number of rounds; by default each fault is injected once. CLUSTER_SEED is the
// seed; by default the time. CLUSTER_ONLY chooses faults whose name contains it.
func TestNoFaultOfTheClusterMakesAWrongRow(t *testing.T) {
	f := startFire(t, cluster.Start)
	f.rounds(t, f.faults())
}

// rounds injects one fault a round, each as often as the others, in another order each time.
func (f *fire) rounds(t *testing.T, all []fault) {
	t.Helper()
	var faults []fault
	for _, fault := range all {
		if strings.Contains(fault.name, os.Getenv("CLUSTER_ONLY")) {
			faults = append(faults, fault)
		}
	}
	endHistory := history.Follow(t, "an app", f.database)
	rounds := testenv.Number(t, "CLUSTER_ROUNDS", len(faults))
	for round := range rounds {
		if round%len(faults) == 0 {
			f.random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		}
		f.round(t, fmt.Sprintf("round %d of %d", round+1, rounds), faults[round%len(faults)])
	}
	endHistory()
	f.requireArchived(t)
}

func startFire(t *testing.T, start func(testing.TB) *cluster.Cluster) *fire {
	t.Helper()
	seed := uint64(testenv.Number(t, "CLUSTER_SEED", int(time.Now().UnixNano()>>16)))
	t.Logf("CLUSTER_SEED=%d", seed)
	c := start(t)
	f := &fire{
		world:   &world{dir: t.TempDir(), database: c.Secret(t, "database_url"), cluster: c.URL(t, "projector")},
		Cluster: c, load: &load{}, random: rand.New(rand.NewPCG(seed, 0)), digests: map[uint64][sha256.Size]byte{},
	}
	f.provider = &testenv.Provider{Secret: c.Secret(t, "webhook_secret"), URL: "http://ingest/api/payments/provider/webhook"}
	transport := &http.Transport{MaxIdleConnsPerHost: customers}
	t.Cleanup(transport.CloseIdleConnections)
	f.answers = &answers{RoundTripper: transport, accepted: map[string][]string{}}
	for _, ingest := range c.Ingests {
		f.answers.hosts = append(f.answers.hosts, ingest.Address+":8080")
	}
	f.provider.Client = &http.Client{Transport: f.answers, Timeout: 6 * time.Second}
	return f
}

// round delivers before, during and after a fault.
func (f *fire) round(t *testing.T, name string, fault fault) {
	t.Helper()
	t.Logf("%s: %s", name, fault.name)
	f.load.start(t, f.world, clusterPace)
	f.load.await(t, 40)
	began := time.Now()
	fault.inject(t)
	injected := time.Now()
	f.load.await(t, 40)
	f.deliverRefused(t)
	f.load.end(t)
	delivered := time.Now()
	f.requireNothingMissing(t)
	f.load.requireApplied(t, f.world)
	applied := time.Now()
	f.requireVerified(t)
	f.answers.requireExpected(t)
	t.Logf("%s: injected and repaired in %.1fs, deliveries went on in %.1fs, applied in %.1fs, verified in %.1fs", name,
		injected.Sub(began).Seconds(), delivered.Sub(injected).Seconds(), applied.Sub(delivered).Seconds(), time.Since(applied).Seconds())
}

// requireNothingMissing: every acknowledged event is in the tables. If one is not, it says whether it is
// in the log.
func (f *fire) requireNothingMissing(t *testing.T) {
	t.Helper()
	f.awaitProjected(t)
	var missing []string
	applied := map[string]bool{}
	for _, id := range strings.Fields(mustQuery[string](t, f.database, "select coalesce(string_agg(event_id, ' '), '') from portal.processed_event")) {
		applied[id] = true
	}
	for customer, payments := range f.load.payments {
		for payment := range payments {
			for _, kind := range []string{"a", "b"} {
				if id := fmt.Sprintf("evt_%s_%d_%d", kind, customer, payment); !applied[id] {
					missing = append(missing, id)
				}
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	head := f.head(t)
	stored := map[string]uint64{}
	log, _ := f.connect(t)
	defer log.Close()
	require.NoError(t, log.ReadUntil(t.Context(), 1, head, func(m events.Message) error {
		stored[m.ID] = m.Seq
		return nil
	}))
	for _, id := range missing {
		t.Errorf("%s was acknowledged and is not in the tables; in the log at seq %d of %d; acknowledged as %s", id, stored[id], head, f.answers.of(id))
	}
	t.FailNow()
}

// requireVerified: the tables are those of one fold of the log.
func (f *fire) requireVerified(t *testing.T) {
	t.Helper()
	require.Contains(t, f.report(t, f.ReaderSettings(), "projector", "verify", "--strict"), "portal is what the log gives")
}

// requireArchived: the archive has the log, byte by byte.
func (f *fire) requireArchived(t *testing.T) {
	t.Helper()
	f.report(t, append(f.Settings(), "NATS_URL_FILE=/run/secrets/nats_ingest_url"), "ingest", "check", "--archive", "--full")
}

// report runs a command until it could work, and requires that it found nothing wrong. During an election, for
// example, a command ends with status 1.
func (f *fire) report(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	const couldNotWork = 1
	var status int
	var command *testenv.Program
	wait.Until(t, func() bool {
		command = testenv.StartCommand(t, exec.Command(f.Binary(program), args...), env)
		status = command.Exit(t)
		return status != couldNotWork
	}, "%s %v could not work", program, args)
	require.Zero(t, status, command.Output())
	return command.Output()
}

// answers gives requests to the ingests in turn, as a proxy does, and looks at their answers.
type answers struct {
	http.RoundTripper
	hosts []string
	next  atomic.Uint64

	mu         sync.Mutex
	unexpected []string
	accepted   map[string][]string // by event id: what the answers of 200 said
	refused    int                 // answers of 503
}

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	host := a.hosts[a.next.Add(1)%uint64(len(a.hosts))]
	request.URL.Host = host
	response, err := a.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	a.look(response, host, text)
	return response, err
}

// of returns the answers to an event, with the times.
func (a *answers) of(id string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accepted[id]
}

// acknowledged returns the ids of all events that were answered 200.
func (a *answers) acknowledged() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.accepted))
}

func (a *answers) look(response *http.Response, host string, text []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var answer struct{ ID, Status string }
	if response.StatusCode == http.StatusOK && json.Unmarshal(text, &answer) == nil {
		a.accepted[answer.ID] = append(a.accepted[answer.ID], fmt.Sprintf("%s by %s at %s", answer.Status, host, time.Now().UTC().Format(time.RFC3339Nano)))
	}
	switch status, after := response.StatusCode, response.Header.Get("Retry-After"); {
	case status == http.StatusServiceUnavailable && after != "":
		a.refused++
	case status != http.StatusOK:
		a.unexpected = append(a.unexpected, fmt.Sprintf("%d with Retry-After %q", status, after))
	}
}

// requireExpected: every answer was 200, or 503 with Retry-After.
func (a *answers) requireExpected(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.unexpected)
	t.Logf("answers of 503: %d", a.refused)
	a.refused = 0
}
