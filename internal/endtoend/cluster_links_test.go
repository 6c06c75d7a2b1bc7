//go:build cluster

package endtoend

import (
	"testing"
	"time"

	"github.com/payfold/payfold/internal/testenv/cluster"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// linkFaults are faults of the links between the NATS servers, of clocks, and of the set of servers.
func (f *fire) linkFaults() []fault {
	return []fault{
		{"the leader hears no other server", f.deafLeader},
		{"no other server hears the leader", f.muteLeader},
		{"a server hears one other server only", f.halfDeaf},
		{"links between servers flap", f.flap},
		{"links between servers lose packets", f.loseSome},
		{"the links of the leader are slow", f.slowDown},
		{"clocks jump by hours", f.jumpClocks},
		{"one replica, then three again", f.oneReplica},
		{"two replicas, then three again", f.twoReplicas},
		{"a server is removed from the cluster, and another one takes its place", f.replacePeer},
	}
}

// whileOneWay drops packets in one direction for longer than an election, or shorter.
func (f *fire) whileOneWay(t *testing.T, links ...link) {
	for _, l := range links {
		cluster.CutOneWay(t, l.from, l.to)
	}
	f.pause()
	f.pause()
	for _, l := range links {
		cluster.RestoreOneWay(t, l.from, l.to)
	}
	f.AwaitWhole(t)
}

type link struct{ from, to *cluster.Machine }

func (f *fire) deafLeader(t *testing.T) {
	leader := f.Leader(t)
	others := f.others(leader)
	f.whileOneWay(t, link{others[0].Machine, leader.Machine}, link{others[1].Machine, leader.Machine})
}

func (f *fire) muteLeader(t *testing.T) {
	leader := f.Leader(t)
	others := f.others(leader)
	f.whileOneWay(t, link{leader.Machine, others[0].Machine}, link{leader.Machine, others[1].Machine})
}

func (f *fire) halfDeaf(t *testing.T) {
	link := f.aLink()
	f.whileOneWay(t, link)
}

// aLink returns one direction between two NATS servers.
func (f *fire) aLink() link {
	to := f.aServer()
	return link{f.others(to)[f.random.IntN(2)].Machine, to.Machine}
}

// flap cuts links, each in one direction, for moments that are shorter and longer than a heartbeat.
func (f *fire) flap(t *testing.T) {
	for range 20 {
		l := f.aLink()
		cluster.CutOneWay(t, l.from, l.to)
		time.Sleep(time.Duration(50+f.random.IntN(1500)) * time.Millisecond)
		cluster.RestoreOneWay(t, l.from, l.to)
		time.Sleep(time.Duration(f.random.IntN(300)) * time.Millisecond)
	}
	f.AwaitWhole(t)
}

// loseSome: a third of all packets between the servers is lost.
func (f *fire) loseSome(t *testing.T) {
	const share = 0.3
	f.betweenServers(func(l link) { cluster.Lose(t, l.from, l.to, share) })
	f.load.await(t, 40)
	f.pause()
	f.betweenServers(func(l link) { cluster.Keep(t, l.from, l.to, share) })
	f.AwaitWhole(t)
}

func (f *fire) betweenServers(do func(link)) {
	for _, to := range f.NATS {
		for _, from := range f.others(to) {
			do(link{from.Machine, to.Machine})
		}
	}
}

// slowDown: what the leader sends to the others waits for seconds.
func (f *fire) slowDown(t *testing.T) {
	leader := f.Leader(t)
	others := f.others(leader)
	leader.SlowDown(t, "200kbit", others[0].Machine, others[1].Machine)
	f.pause()
	f.pause()
	leader.SpeedUp(t)
	f.AwaitWhole(t)
}

// jumpClocks: the clocks of all servers and programs jump back and forth while they run.
func (f *fire) jumpClocks(t *testing.T) {
	const hours = 5
	machines := append(append([]*cluster.Machine{}, f.Ingests...), f.Projectors...)
	for _, server := range f.NATS {
		machines = append(machines, server.Machine)
		server.SetClock(t, hours*time.Hour)
	}
	wait.Until(t, func() bool {
		log, info := f.connect(t)
		log.Close()
		return time.Until(info.StoredAt) > (hours-1)*time.Hour
	}, "the clocks of running servers do not jump")
	for range 5 {
		for _, m := range machines {
			m.SetClock(t, time.Duration(f.random.IntN(2*hours*3600)-hours*3600)*time.Second)
		}
		f.load.await(t, 40)
		f.pause()
	}
	for _, m := range machines {
		m.SetClock(t, 0)
	}
	f.AwaitWhole(t)
	f.load.await(t, 40)
}

// oneReplica: the power of any server may be cut while only one has the stream.
func (f *fire) oneReplica(t *testing.T) {
	f.SetReplicas(t, 1)
	f.load.await(t, 40)
	server := f.aServer()
	cluster.CutPower(t, f.random, server)
	f.pause()
	server.Start(t)
	f.load.await(t, 40)
	f.SetReplicas(t, 3)
}

func (f *fire) twoReplicas(t *testing.T) {
	f.SetReplicas(t, 2)
	f.load.await(t, 40)
	f.SetReplicas(t, 3)
}

func (f *fire) replacePeer(t *testing.T) {
	f.aServer().Replace(t)
	f.AwaitWhole(t)
}
