//go:build cluster

package endtoend

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/cluster"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// TestNoDiskOfTheClusterLosesAnEvent is TestNoFaultOfTheClusterMakesAWrongRow with servers whose disks forget what was
// not synced, and rot. After each round all replicas must have the same messages, too.
func TestNoDiskOfTheClusterLosesAnEvent(t *testing.T) {
	f := startFire(t, func(t testing.TB) *cluster.Cluster { return cluster.StartOnDisks(t, "") })
	f.fillBlocks(t)
	faults := append(f.diskFaults(), f.linkFaults()...)
	for i, fault := range faults {
		faults[i].inject = func(t *testing.T) {
			fault.inject(t)
			f.requireSameReplicas(t)
		}
	}
	f.rounds(t, faults)
}

// fillBlocks makes a log of several blocks: damage of an old block has other effects than damage of the newest.
func (f *fire) fillBlocks(t *testing.T) {
	t.Helper()
	const events, size = 60, 220_000 // a block has 8 MB
	for i := range events {
		name := fmt.Sprintf("large_%d", i)
		body := strings.TrimSuffix(pack("evt_"+name, "pay_"+name, "u_large", packCredits), "}") + `,"pad":"` + strings.Repeat("x", size) + `"}`
		f.deliver(t, body)
		f.load.others++
	}
}

func (f *fire) diskFaults() []fault {
	faults := []fault{
		{"the power of a server is cut", func(t *testing.T) { f.whilePowerless(t, f.pause, f.aServer()) }},
		{"the power of two servers is cut", func(t *testing.T) { f.whilePowerless(t, f.pause, f.others(f.aServer())...) }},
		{"the power of all servers is cut", func(t *testing.T) { f.whilePowerless(t, f.pause, f.NATS...) }},
	}
	for _, file := range []struct{ name, pattern string }{
		{"a block of the stream", cluster.StreamFolder + "msgs/*.blk"},
		{"the index of the stream", cluster.StreamFolder + "msgs/index.db"},
		{"meta.inf of the stream", cluster.StreamFolder + "meta.inf"},
		{"meta.sum of the stream", cluster.StreamFolder + "meta.sum"},
		{"a block of the Raft log", cluster.RaftFolder + "msgs/*.blk"},
		{"the index of the Raft log", cluster.RaftFolder + "msgs/index.db"},
		{"the snapshot of the stream", cluster.RaftFolder + "snapshots/*"},
		{"the vote of the stream", cluster.RaftFolder + "tav.idx"},
		{"the peers of the stream", cluster.RaftFolder + "peers.idx"},
		{"meta.inf of the Raft log", cluster.RaftFolder + "meta.inf"},
		{"meta.sum of the Raft log", cluster.RaftFolder + "meta.sum"},
		{"a block of the cluster's Raft log", cluster.MetaFolder + "msgs/*.blk"},
		{"the index of the cluster's Raft log", cluster.MetaFolder + "msgs/index.db"},
		{"the snapshot of the cluster", cluster.MetaFolder + "snapshots/*"},
		{"the vote of the cluster", cluster.MetaFolder + "tav.idx"},
		{"the peers of the cluster", cluster.MetaFolder + "peers.idx"},
		{"the commit of the cluster", cluster.MetaFolder + "commit.idx"},
		{"meta.inf of the cluster's Raft log", cluster.MetaFolder + "meta.inf"},
		{"meta.sum of the cluster's Raft log", cluster.MetaFolder + "meta.sum"},
	} {
		faults = append(faults,
			fault{"a flipped bit in " + file.name, f.damaged(file.pattern, cluster.FlipBit)},
			fault{"a cut tail of " + file.name, f.damaged(file.pattern, cluster.CutTail)})
	}
	return faults
}

func (f *fire) whilePowerless(t *testing.T, during func(), servers ...*cluster.NATS) {
	cluster.CutPower(t, f.random, servers...)
	during()
	for _, server := range servers {
		server.Start(t)
	}
	f.AwaitWhole(t)
}

// damaged damages a file of a server that is killed, or stopped. Then the server comes back whole and leads the stream,
// or it does not come back, or payfold notices that it has lost messages. In the last two cases it gets an empty disk.
func (f *fire) damaged(pattern string, harm cluster.Harm) func(t *testing.T) {
	return func(t *testing.T) {
		server := f.aServer()
		stop := server.Stop
		if f.random.IntN(2) == 0 {
			stop = func(testing.TB) { server.Kill() }
		}
		stop(t)
		what := server.Damage(t, f.random, pattern, harm)
		if what == "" { // a server that ends in order writes more files
			server.Start(t)
			f.AwaitWhole(t)
			server.Stop(t)
			what = server.Damage(t, f.random, pattern, harm)
		}
		f.load.await(t, 40)
		server.Start(t)
		outcome := f.outcome(t, server)
		t.Logf("%s: %s", cmp.Or(what, "no such file"), cmp.Or(outcome, "it comes back whole"))
		if outcome != "" {
			server.Kill()
			server.Wipe(t)
			server.Start(t)
			f.AwaitWhole(t)
		}
		f.load.await(t, 40)
	}
}

// outcome makes a server lead the stream, and says what is wrong with it; "" if nothing is.
func (f *fire) outcome(t *testing.T, server *cluster.NATS) string {
	t.Helper()
	if !f.BecomesWhole(t, 30*time.Second) {
		return "it does not come back"
	}
	f.Lead(t, server)
	lost, said := f.lost(t, server, 0)
	switch {
	case said != nil:
		return said.Error()
	case len(lost) > 0:
		return fmt.Sprintf("it cannot read %d events, and does not say so", len(lost))
	}
	return ""
}

// requireSameReplicas: every server has all acknowledged events when it leads the stream, and lacks no message.
func (f *fire) requireSameReplicas(t *testing.T) {
	t.Helper()
	f.load.end(t)
	defer f.load.start(t, f.world, clusterPace)
	log, info := f.connect(t)
	log.Close()
	for _, server := range f.NATS {
		f.Lead(t, server)
		lost, said := f.lost(t, server, info.Last)
		require.NoError(t, said, server.Name)
		require.Empty(t, lost, server.Name)
	}
}

// lost returns the ids of the acknowledged events that a server, which leads the stream, does not have on its disk, or
// what payfold says of the stream. No message may differ from what a server has told of it before. A server that has just
// begun to lead answers before it has applied the newest messages that it has: lost waits for those up to head.
func (f *fire) lost(t *testing.T, server *cluster.NATS, head uint64) (ids []string, said error) {
	t.Helper()
	log, err := eventlog.Connect(eventlog.Config{URL: f.cluster, DataDir: f.dir, Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer log.Close()
	acknowledged, stored := f.answers.acknowledged(), map[string]bool{}
	wait.Until(t, func() (known bool) {
		info, err := log.Info(t.Context())
		if err != nil {
			said = err
			return errors.Is(err, eventlog.ErrNoStream)
		}
		if said = info.Unsafe; said != nil {
			return true
		}
		if info.Last < head {
			return false
		}
		return server.Messages(t, info.Last, func(seq uint64, answer *nats.Msg) error {
			var found struct {
				Message struct{ Hdrs, Data []byte }
				Error   *jetstream.APIError
			}
			require.NoError(t, json.Unmarshal(answer.Data, &found))
			switch {
			case found.Error != nil && found.Error.Code == http.StatusServiceUnavailable:
				return found.Error // it says nothing of the message
			case len(found.Message.Hdrs) == 0:
				return nil // the message cannot be read
			}
			digest := sha256.Sum256(append(found.Message.Hdrs, found.Message.Data...))
			before, known := f.digests[seq]
			require.True(t, !known || before == digest, "%s has changed seq %d", server.Name, seq)
			f.digests[seq] = digest
			header, err := nats.DecodeHeadersMsg(found.Message.Hdrs)
			require.NoError(t, err)
			stored[header.Get(nats.MsgIdHdr)] = true
			return nil
		}) == nil
	}, "the log is not read")
	for _, id := range acknowledged {
		if said == nil && !stored[id] {
			ids = append(ids, id)
		}
	}
	return ids, said
}

// TestAPowerCutTakesEventsThatAreSyncedLater shows that the test above can fail: with the default of nats-server, a power
// cut of all servers takes events that were answered 200, or the whole stream.
func TestAPowerCutTakesEventsThatAreSyncedLater(t *testing.T) {
	f := startFire(t, func(t testing.TB) *cluster.Cluster { return cluster.StartOnDisks(t, "2m") })
	f.load.start(t, f.world, clusterPace)
	for cuts := 1; cuts <= 10; cuts++ {
		f.load.await(t, 40)
		cluster.CutPower(t, f.random, f.NATS...)
		for _, server := range f.NATS {
			server.Start(t)
		}
		clear(f.digests) // the number of a lost event may have gone to another one
		lost, said := f.lost(t, f.NATS[0], 0)
		if len(lost) > 0 || said != nil {
			t.Logf("after %d cuts, %d events are lost: %v", cuts, len(lost), said)
			return
		}
	}
	t.Fatal("nothing was lost: the disks keep what was not synced")
}
