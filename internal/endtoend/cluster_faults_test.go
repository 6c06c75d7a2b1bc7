//go:build cluster

package endtoend

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/cluster"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// pause waits for the length of a disturbance, which may be shorter or longer than an election.
func (f *fire) pause() { time.Sleep(time.Duration(500+f.random.IntN(6000)) * time.Millisecond) }

func (f *fire) faults() []fault {
	return []fault{
		{"the leader is killed", func(t *testing.T) { f.whileKilled(t, f.pause, f.Leader(t)) }},
		{"a follower is killed", func(t *testing.T) { f.whileKilled(t, f.pause, f.follower(t)) }},
		{"all NATS servers are killed", func(t *testing.T) { f.whileKilled(t, f.pause, f.NATS...) }},
		{"the leader freezes", func(t *testing.T) { f.whileFrozen(t, f.pause, f.Leader(t)) }},
		{"a follower freezes", func(t *testing.T) { f.whileFrozen(t, f.pause, f.follower(t)) }},
		{"the leader is partitioned", f.partitionLeader},
		{"the leader is cut off from the other servers only", f.cutOffLeader},
		{"the leader is partitioned with a projector", f.partitionLeaderWithProjector},
		{"a follower is partitioned", func(t *testing.T) { f.whileUnplugged(t, f.pause, f.follower(t)) }},
		{"a NATS server is wiped and replaced", f.wipe},
		{"quorum is lost: two are killed", f.loseQuorum(f.whileKilled)},
		{"quorum is lost: two freeze", f.loseQuorum(f.whileFrozen)},
		{"quorum is lost: two are partitioned", f.loseQuorum(f.whileUnplugged)},
		{"a rolling restart", f.rollingRestart},
		{"a rolling upgrade", f.rollingUpgrade},
		{"ingest is cut off from its NATS server", func(t *testing.T) { f.cutFromServer(t, f.anIngest()) }},
		{"a projector is cut off from its NATS server", func(t *testing.T) { f.cutFromServer(t, f.aProjector()) }},
		{"clocks are ten minutes apart", f.clocksApart},
		{"ingest is killed", func(t *testing.T) { m := f.anIngest(); m.Kill(); f.StartIngest(t, m) }},
		{"a projector is killed", func(t *testing.T) { m := f.aProjector(); m.Kill(); f.StartProjector(t, m) }},
		{"Postgres fails over, nothing is lost", f.failOverWithoutLoss},
		{"Postgres fails over, commits are lost", f.failOverWithLoss},
	}
}

func (f *fire) anIngest() *cluster.Machine { return f.Ingests[f.random.IntN(len(f.Ingests))] }

func (f *fire) aProjector() *cluster.Machine        { return f.Projectors[f.random.IntN(len(f.Projectors))] }
func (f *fire) aServer() *cluster.NATS              { return f.NATS[f.random.IntN(len(f.NATS))] }
func (f *fire) follower(t *testing.T) *cluster.NATS { return f.others(f.Leader(t))[f.random.IntN(2)] }

// others returns all NATS servers but one.
func (f *fire) others(one *cluster.NATS) (others []*cluster.NATS) {
	for _, server := range f.NATS {
		if server != one {
			others = append(others, server)
		}
	}
	return others
}

// A disturbance lasts while during runs. It ends with a whole cluster.
type disturbance func(t *testing.T, during func(), servers ...*cluster.NATS)

func (f *fire) whileKilled(t *testing.T, during func(), servers ...*cluster.NATS) {
	for _, server := range servers {
		server.Kill()
	}
	during()
	for _, server := range servers {
		server.Start(t)
	}
	f.AwaitWhole(t)
}

func (f *fire) whileFrozen(t *testing.T, during func(), servers ...*cluster.NATS) {
	for _, server := range servers {
		server.Freeze(t)
	}
	during()
	for _, server := range servers {
		server.Signal(syscall.SIGCONT)
	}
	f.AwaitWhole(t)
}

func (f *fire) whileUnplugged(t *testing.T, during func(), servers ...*cluster.NATS) {
	for _, server := range servers {
		server.Unplug(t)
	}
	during()
	for _, server := range servers {
		server.Plug(t)
	}
	f.AwaitWhole(t)
}

// partitionLeader: deliveries go on with another leader, while the old one still runs.
func (f *fire) partitionLeader(t *testing.T) {
	old := f.Leader(t)
	f.whileUnplugged(t, func() {
		f.awaitOtherLeader(t, old)
		f.load.await(t, 40)
		f.pause()
	}, old)
}

// awaitOtherLeader waits until the other servers have elected a leader.
func (f *fire) awaitOtherLeader(t *testing.T, old *cluster.NATS) {
	t.Helper()
	other := f.others(old)[0]
	wait.Until(t, func() bool {
		leader := other.LeaderOf(t)
		return leader != nil && leader != old
	}, "no other server leads")
}

// cutOffLeader: only the other servers cannot reach the leader. Programs that are connected to it leave it.
func (f *fire) cutOffLeader(t *testing.T) {
	leader := f.connectedTo(t, f.anIngest())
	f.Lead(t, leader)
	for _, server := range f.others(leader) {
		cluster.Cut(t, leader.Machine, server.Machine)
	}
	f.awaitOtherLeader(t, leader)
	for _, program := range append(append([]*cluster.Machine{}, f.Ingests...), f.Projectors...) {
		wait.Until(t, func() bool { return f.connectedTo(t, program) != leader }, "%s stays with %s", program.Name, leader.Name)
	}
	f.load.await(t, 40)
	for _, server := range f.others(leader) {
		cluster.Restore(t, leader.Machine, server.Machine)
	}
	f.AwaitWhole(t)
}

// partitionLeaderWithProjector: a projector stays with a leader that is cut off from the other servers.
// Until the leader notices, its head is behind the other projector's position.
func (f *fire) partitionLeaderWithProjector(t *testing.T) {
	projector := f.aProjector()
	leader := f.connectedTo(t, projector)
	f.Lead(t, leader)
	for _, server := range f.others(leader) {
		cluster.Cut(t, leader.Machine, server.Machine)
		cluster.Cut(t, projector, server.Machine)
	}
	f.awaitOtherLeader(t, leader)
	f.load.await(t, 40)
	wait.Until(t, func() bool { return leader.LeaderOf(t) != leader }, "%s does not notice that it is cut off", leader.Name)
	require.False(t, projector.HasExited(), "the log is not lost")
	for _, server := range f.others(leader) {
		cluster.Restore(t, leader.Machine, server.Machine)
		cluster.Restore(t, projector, server.Machine)
	}
	f.AwaitWhole(t)
}

// wipe: a server comes back without its store, under its old name.
func (f *fire) wipe(t *testing.T) {
	server := f.aServer()
	server.Kill()
	server.Wipe(t)
	f.pause()
	server.Start(t)
	f.AwaitWhole(t)
}

// loseQuorum: while two of three are away every delivery is answered 503, and none 200.
func (f *fire) loseQuorum(disturb disturbance) func(t *testing.T) {
	return func(t *testing.T) {
		disturb(t, func() { f.requireRefused(t) }, f.others(f.aServer())...)
	}
}

// requireRefused: new deliveries to each ingest are answered 503. The provider repeats them later.
func (f *fire) requireRefused(t *testing.T) {
	t.Helper()
	for range 3 * len(f.Ingests) {
		name := fmt.Sprintf("refused_%d", f.load.others+len(f.refused))
		body := pack("evt_"+name, "pay_"+name, "u_refused", packCredits)
		f.refused = append(f.refused, body)
		var status int
		var answer string
		wait.Until(t, func() (answered bool) {
			var err error
			status, answer, err = f.provider.Deliver(t.Context(), body)
			return err == nil
		}, "a delivery is not answered")
		require.Equal(t, http.StatusServiceUnavailable, status, answer)
	}
}

// deliverRefused repeats the refused deliveries until they are accepted.
func (f *fire) deliverRefused(t *testing.T) {
	t.Helper()
	f.deliver(t, f.refused...)
	f.load.others += len(f.refused)
	f.refused = nil
}

func (f *fire) rollingRestart(t *testing.T) {
	for _, server := range f.NATS {
		server.Stop(t)
		server.Start(t)
		f.AwaitWhole(t)
	}
	f.restartPrograms(t)
}

// rollingUpgrade changes the version of one server after the other, and back the next time.
func (f *fire) rollingUpgrade(t *testing.T) {
	to := cluster.Newer
	if f.NATS[0].Version == to {
		to = cluster.Older
	}
	t.Logf("to the %s version", to)
	for _, server := range f.NATS {
		server.Stop(t)
		server.Version = to
		server.Start(t)
		f.AwaitWhole(t)
	}
	f.restartPrograms(t)
}

// restartPrograms restarts every ingest and projector in order, one after the other.
func (f *fire) restartPrograms(t *testing.T) {
	for _, m := range f.Ingests {
		stop(t, m.Program)
		f.StartIngest(t, m)
		f.load.await(t, 10)
	}
	for _, m := range f.Projectors {
		stop(t, m.Program)
		f.StartProjector(t, m)
		m.WaitFor(t, "msg=projecting")
	}
}

// cutFromServer drops all packets between a program and the NATS server that it is connected to. The
// program goes on with another server, while both run.
func (f *fire) cutFromServer(t *testing.T, m *cluster.Machine) {
	server := f.connectedTo(t, m)
	cluster.Cut(t, m, server.Machine)
	wait.Until(t, func() bool { return f.connectedTo(t, m) != server }, "%s stays with %s", m.Name, server.Name)
	f.load.await(t, 40)
	f.pause()
	cluster.Restore(t, m, server.Machine)
}

// connectedTo waits until a program has a connection to a NATS server, and returns the server.
func (f *fire) connectedTo(t *testing.T, m *cluster.Machine) (server *cluster.NATS) {
	t.Helper()
	wait.Until(t, func() bool {
		server = f.established(t, m)
		return server != nil
	}, "%s is connected to no server", m.Name)
	return server
}

func (f *fire) established(t *testing.T, m *cluster.Machine) *cluster.NATS {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", m.Pid()))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, server := range f.NATS {
			// local address, remote address, state; 01 is an established connection
			if fields[2] == hexAddress(server.Address)+":107E" && fields[3] == "01" {
				return server
			}
		}
	}
	return nil
}

// hexAddress writes an address as Linux does in /proc.
func hexAddress(address string) (out string) {
	for part := range strings.SplitSeq(address, ".") {
		n, _ := strconv.Atoi(part)
		out = fmt.Sprintf("%02X", n) + out
	}
	return out
}

// clocksApart: the leader's clock is ten minutes ahead, those of an ingest and a projector ten minutes
// behind. Then all are right again.
func (f *fire) clocksApart(t *testing.T) {
	server, ingest, projector := f.aServer(), f.anIngest(), f.aProjector()
	set := func(ahead time.Duration) {
		server.Stop(t)
		server.SetClock(t, ahead)
		server.Start(t)
		f.AwaitWhole(t)
		stop(t, ingest.Program)
		ingest.SetClock(t, -ahead)
		f.StartIngest(t, ingest)
		stop(t, projector.Program)
		projector.SetClock(t, -ahead)
		f.StartProjector(t, projector)
		f.Lead(t, server)
		f.load.await(t, 80)
	}
	set(10 * time.Minute)
	f.pause()
	set(0)
}
