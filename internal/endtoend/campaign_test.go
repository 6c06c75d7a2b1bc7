package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/history"
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// campaign is an installation of the real programs under load. The projectors reach the log
// and the database through proxies.
type campaign struct {
	*world
	load       *load
	random     *rand.Rand
	projectors []*testenv.Program
	log        *network.Proxy
	readers    string // the data directory of the projectors, with the address of the proxy
	postgres   *network.Proxy
	cluster    string // the data directory of Postgres
}

// TestNoFaultMakesAWrongRow injects random faults. After every round the tables must catch
// up. At the end they have every acknowledged event once, all sums are exact, they equal the
// tables of one fold, and the archive has the log byte by byte. No read of an app contradicted another one.
//
// FAULT_ROUNDS is the number of rounds; by default 2, with a load that leaves the cores to
// other tests. FAULT_SEED is the seed; by default the time. FAULT_ONLY chooses faults whose
// name contains it.
func TestNoFaultMakesAWrongRow(t *testing.T) {
	t.Parallel()
	rounds, pace := testenv.Number(t, "FAULT_ROUNDS", 0), fastPace
	if rounds == 0 {
		rounds, pace = 2, slowPace
	}
	seed := uint64(testenv.Number(t, "FAULT_SEED", int(time.Now().UnixNano()>>16)))
	t.Logf("FAULT_ROUNDS=%d FAULT_SEED=%d", rounds, seed)
	c := startCampaign(t, rand.New(rand.NewPCG(seed, 0)), pace)
	endHistory := history.Follow(t, "an app", c.database)
	faults := slices.DeleteFunc(c.faults(), func(f fault) bool { return !strings.Contains(f.name, os.Getenv("FAULT_ONLY")) })
	for round := range rounds {
		fault := faults[c.random.IntN(len(faults))]
		c.load.await(t, 100)
		began := time.Now()
		fault.inject(t)
		repaired := time.Now()
		c.requireProgress(t)
		t.Logf("round %d: %s, for %.1fs, caught up in %.1fs; %d projectors", round+1, fault.name,
			repaired.Sub(began).Seconds(), time.Since(repaired).Seconds(), len(c.projectors))
	}
	c.load.finish(t, c.world)
	endHistory()
	c.requireOneFold(t)
	c.requireArchived(t)
	require.Zero(t, mustQuery[int64](t, c.database, "select count(*) from payfold.quarantined_event"))
	require.Zero(t, mustQuery[int64](t, c.database, "select count(*) from payfold.out_of_order_event"))
}

func startCampaign(t *testing.T, random *rand.Rand, pace time.Duration) *campaign {
	t.Helper()
	c := &campaign{random: random}
	var database string
	c.cluster, database, c.postgres = ownPostgres(t)
	natsAddress := ports.Free(t)
	c.world = &world{dir: t.TempDir(), database: database, listen: ports.Free(t), nats: natsAddress}
	c.provider = newProvider(t)
	c.startIngest(t)
	c.provider.URL = "http://" + c.listen + "/api/payments/provider/webhook"
	c.log = network.NewProxy(t, natsAddress)
	c.readers = readerDir(t, c.dir, c.log.Address())
	for range 1 + random.IntN(3) {
		c.startOne(t)
	}
	c.load = startLoad(t, c.world, pace)
	return c
}

// readerDir makes a data directory for readers that connect over TCP to another address. It
// has the token and the certificate of dataDir.
func readerDir(t *testing.T, dataDir, address string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nats"), 0o700))
	for _, file := range []string{"nats.token", "nats/cert.pem"} {
		text, err := os.ReadFile(filepath.Join(dataDir, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nats.addr"), []byte(address), 0o600))
	return dir
}

// ownPostgres starts a server for this test only. The connection string goes through the
// proxy.
func ownPostgres(t *testing.T) (cluster, dsn string, through *network.Proxy) {
	t.Helper()
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	server := localpg.New(localpg.Config{Dir: dir, Durable: true})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		removePrivate(t, dir)
	})
	direct, err := server.Ready(ctx)
	require.NoError(t, err)
	config, err := pgx.ParseConfig(direct)
	require.NoError(t, err)
	through = network.NewProxy(t, filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)))
	target := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: through.Address(), Path: config.Database,
		RawQuery: "sslmode=disable",
	}
	return filepath.Join(dir, "postgres"), target.String(), through
}

func (c *campaign) startOne(t *testing.T) {
	c.projectors = append(c.projectors, c.startProjector(t, shortLease, "BATCH_SIZE=50", "DATA_DIR="+c.readers))
}

// randomProjector returns a projector, and a function that removes it from the list.
func (c *campaign) randomProjector() (program *testenv.Program, remove func()) {
	at := c.random.IntN(len(c.projectors))
	return c.projectors[at], func() { c.projectors = append(c.projectors[:at:at], c.projectors[at+1:]...) }
}

type fault struct {
	name   string
	inject func(t *testing.T) // also repairs
}

// pause waits for the length of a disturbance, which may be shorter or longer than a lease.
func (c *campaign) pause() { time.Sleep(time.Duration(100+c.random.IntN(4000)) * time.Millisecond) }

func (c *campaign) faults() []fault {
	faults := []fault{
		{"ingest is killed", func(t *testing.T) { c.ingest.Kill(); c.startIngest(t) }},
		{"ingest is stopped", func(t *testing.T) { stop(t, c.ingest); c.startIngest(t) }},
		{"ingest freezes", func(*testing.T) { c.freeze(c.ingest) }},
		{"a projector is killed", func(t *testing.T) {
			program, remove := c.randomProjector()
			program.Kill()
			remove()
			c.startOne(t)
		}},
		{"a projector freezes", func(*testing.T) { program, _ := c.randomProjector(); c.freeze(program) }},
		{"one more projector", func(t *testing.T) {
			if len(c.projectors) < 4 {
				c.startOne(t)
			}
		}},
		{"one projector less", func(t *testing.T) {
			if len(c.projectors) > 1 {
				program, remove := c.randomProjector()
				program.WaitFor(t, adminLine) // earlier, a signal ends it with another status
				stop(t, program)
				remove()
			}
		}},
		{"postgres crashes", c.crashPostgres},
		{"everything is killed", func(t *testing.T) {
			c.ingest.Kill()
			for _, program := range c.projectors {
				program.Kill()
			}
			c.crashPostgres(t)
			c.projectors = nil
			c.startIngest(t)
			c.startOne(t)
		}},
	}
	faults = append(faults, c.archiveFaults()...)
	for name, l := range map[string]*network.Proxy{"log": c.log, "postgres": c.postgres} {
		faults = append(faults,
			fault{"the network to the " + name + " is cut", func(t *testing.T) { l.Cut(); c.pause(); l.Restore(t) }},
			c.disturbance(name, l, "delays", network.Delay, network.ToServer, network.ToClient),
			c.disturbance(name, l, "is slow", network.Trickle, network.ToClient),
			c.disturbance(name, l, "is silent", network.Silence, network.ToServer, network.ToClient),
			c.disturbance(name, l, "loses requests", network.Silence, network.ToServer),
			c.disturbance(name, l, "loses answers", network.Silence, network.ToClient),
			c.disturbance(name, l, "resets connections", network.Reset, network.ToClient))
	}
	return faults
}

func (c *campaign) disturbance(name string, l *network.Proxy, what, toxic string, directions ...string) fault {
	return fault{"the network to the " + name + " " + what, func(t *testing.T) {
		l.Disturb(t, toxic, directions...)
		c.pause()
		l.Clear()
	}}
}

func (c *campaign) freeze(program *testenv.Program) {
	program.Signal(syscall.SIGSTOP)
	c.pause()
	program.Signal(syscall.SIGCONT)
}

// crashPostgres ends the server as a crash does. localpg starts it again.
func (c *campaign) crashPostgres(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.cluster, "postmaster.pid"))
	if os.IsNotExist(err) {
		return // it is starting
	}
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.Split(string(text), "\n")[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT))
}

// requireProgress waits until events that are delivered now are in the tables.
func (c *campaign) requireProgress(t *testing.T) {
	t.Helper()
	c.load.await(t, 20)
	c.awaitProjected(t)
}
