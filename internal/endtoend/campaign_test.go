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
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// campaign is an installation of the real programs under load, with lines that
// can be disturbed to the log and to the database.
type campaign struct {
	*world
	load       *load
	random     *rand.Rand
	projectors []*testenv.Program
	log        *network.Line
	readers    string // the data folder of the projectors, where the log is at the line's end
	postgres   *network.Line
	cluster    string // the data folder of the Postgres
}

// TestNoFaultMakesAWrongRow disturbs everything at random, FAULT_ROUNDS times (2, and
// under a load that leaves the cores to the other tests),
// from FAULT_SEED (the time), or only in ways whose name contains FAULT_ONLY. After every round the tables must catch up; at the
// end every acknowledged event is there once, all sums are exact, and the tables
// are those of one fold from the start.
func TestNoFaultMakesAWrongRow(t *testing.T) {
	t.Parallel()
	rounds, pace := number(t, "FAULT_ROUNDS", 0), dense
	if rounds == 0 {
		rounds, pace = 2, steady
	}
	seed := uint64(number(t, "FAULT_SEED", int(time.Now().UnixNano()>>16)))
	t.Logf("FAULT_ROUNDS=%d FAULT_SEED=%d", rounds, seed)
	c := startCampaign(t, rand.New(rand.NewPCG(seed, 0)), pace)
	faults := slices.DeleteFunc(c.faults(), func(f fault) bool { return !strings.Contains(f.name, os.Getenv("FAULT_ONLY")) })
	for round := range rounds {
		fault := faults[c.random.IntN(len(faults))]
		c.load.await(t, 100)
		began := time.Now()
		fault.strike(t)
		healed := time.Now()
		c.requireProgress(t)
		t.Logf("round %d: %s, for %.1fs, caught up in %.1fs; %d projectors", round+1, fault.name,
			healed.Sub(began).Seconds(), time.Since(healed).Seconds(), len(c.projectors))
	}
	c.load.finish(t, c.world)
	c.requireOneFold(t)
	require.Zero(t, ask[int64](t, c.database, "select count(*) from payfold.poison"))
	require.Zero(t, ask[int64](t, c.database, "select count(*) from payfold.disorder"))
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
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
	c.log = network.NewLine(t, natsAddress)
	c.readers = elsewhere(t, c.dir, c.log.Address())
	for range 1 + random.IntN(3) {
		c.startOne(t)
	}
	c.load = startLoad(t, c.world, pace)
	return c
}

// elsewhere is what a reader that cannot have the socket of a data folder needs of
// it, with another address.
func elsewhere(t *testing.T, dataDir, address string) string {
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

// ownPostgres starts a private server that this test alone disturbs. Its
// connection string leads through the line.
func ownPostgres(t *testing.T) (cluster, dsn string, through *network.Line) {
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
	through = network.NewLine(t, filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)))
	target := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: through.Address(), Path: config.Database,
		RawQuery: "sslmode=disable",
	}
	return filepath.Join(dir, "postgres"), target.String(), through
}

func (c *campaign) startOne(t *testing.T) {
	c.projectors = append(c.projectors, c.startProjector(t, quick, "BATCH_SIZE=50", "DATA_DIR="+c.readers))
}

// one is a random projector; remove takes it off the list.
func (c *campaign) one() (program *testenv.Program, remove func()) {
	at := c.random.IntN(len(c.projectors))
	return c.projectors[at], func() { c.projectors = append(c.projectors[:at:at], c.projectors[at+1:]...) }
}

type fault struct {
	name   string
	strike func(t *testing.T) // disturbs and heals
}

// pause is how long a disturbance lasts: shorter or longer than a lease.
func (c *campaign) pause() { time.Sleep(time.Duration(100+c.random.IntN(4000)) * time.Millisecond) }

func (c *campaign) faults() []fault {
	faults := []fault{
		{"ingest is killed", func(t *testing.T) { c.ingest.Kill(); c.startIngest(t) }},
		{"ingest is stopped", func(t *testing.T) { stop(t, c.ingest); c.startIngest(t) }},
		{"ingest freezes", func(*testing.T) { c.freeze(c.ingest) }},
		{"a projector is killed", func(t *testing.T) {
			program, remove := c.one()
			program.Kill()
			remove()
			c.startOne(t)
		}},
		{"a projector freezes", func(*testing.T) { program, _ := c.one(); c.freeze(program) }},
		{"one more projector", func(t *testing.T) {
			if len(c.projectors) < 4 {
				c.startOne(t)
			}
		}},
		{"one projector less", func(t *testing.T) {
			if len(c.projectors) > 1 {
				program, remove := c.one()
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
	for name, l := range map[string]*network.Line{"log": c.log, "postgres": c.postgres} {
		faults = append(faults,
			fault{"the line to the " + name + " is cut", func(t *testing.T) { l.Cut(); c.pause(); l.Mend(t) }},
			c.disturbance(name, l, "delays", network.Delay, network.ToServer, network.ToClient),
			c.disturbance(name, l, "trickles", network.Trickle, network.ToClient),
			c.disturbance(name, l, "is silent", network.Silence, network.ToServer, network.ToClient),
			c.disturbance(name, l, "loses questions", network.Silence, network.ToServer),
			c.disturbance(name, l, "loses answers", network.Silence, network.ToClient),
			c.disturbance(name, l, "resets", network.Reset, network.ToClient))
	}
	return faults
}

func (c *campaign) disturbance(name string, l *network.Line, what, toxic string, directions ...string) fault {
	return fault{"the line to the " + name + " " + what, func(t *testing.T) {
		l.Disturb(t, toxic, directions...)
		c.pause()
		l.Heal()
	}}
}

func (c *campaign) freeze(program *testenv.Program) {
	program.Signal(syscall.SIGSTOP)
	c.pause()
	program.Signal(syscall.SIGCONT)
}

// crashPostgres ends the server as a crash does; its supervisor starts it again.
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

// requireProgress waits until an event that is delivered now is in the tables.
func (c *campaign) requireProgress(t *testing.T) {
	t.Helper()
	c.load.await(t, 20)
	c.awaitProjected(t)
}
