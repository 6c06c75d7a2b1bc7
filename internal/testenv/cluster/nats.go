//go:build linux

package cluster

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/powercut"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Version is a version of nats-server that run.sh has built.
type Version string

// The versions.
const (
	Older Version = "old"
	Newer Version = "new"
)

// NATS is a machine with one of the three servers of the log.
type NATS struct {
	*Machine
	Version Version
	cluster *Cluster

	replaced int            // by Replace
	disk     *powercut.Disk // nil: the store is a folder of the machine
	unmount  func() error
}

// Start starts the server with what its store has.
func (n *NATS) Start(t testing.TB) {
	t.Helper()
	n.start(t, n.env(), "sh", "/etc/nats/nats.sh", n.serverName())
}

// serverName is the server_name, by which the cluster knows the server.
func (n *NATS) serverName() string { return n.Name + strings.Repeat("-new", n.replaced) }

func (n *NATS) env() []string {
	path := filepath.Join(n.cluster.files, "nats", string(n.Version)) + ":" + os.Getenv("PATH")
	return []string{"PATH=" + path, "PAYFOLD_NATS_STORE=" + n.store()}
}

func (n *NATS) store() string { return filepath.Join(n.cluster.files, n.Name) }

// Stop stops the server in order.
func (n *NATS) Stop(t testing.TB) {
	t.Helper()
	n.Signal(syscall.SIGTERM)
	n.Exit(t)
}

// Wipe removes what the server has stored.
func (n *NATS) Wipe(t testing.TB) {
	t.Helper()
	if n.disk == nil {
		require.NoError(t, os.RemoveAll(n.store()))
		return
	}
	require.NoError(t, n.unmount())
	n.mount(t, newDisk())
}

// alone is the name of the server that is not in the cluster.
const alone = "nats-alone"

// aloneConfig is nats.conf without the cluster.
const aloneConfig = `
server_name: $PAYFOLD_NATS_NAME
listen: 0.0.0.0:4222
include tls.conf
max_payload: 1MB
jetstream { store_dir: $PAYFOLD_NATS_STORE, sync_interval: always }
include users.conf
`

// StartAlone starts the server that is not in the cluster.
func (c *Cluster) StartAlone(t testing.TB) {
	t.Helper()
	run(t, "cp", "-r", "/etc/nats", "/etc/nats-alone")
	require.NoError(t, os.WriteFile("/etc/nats-alone/nats.conf", []byte(aloneConfig), 0o644))
	script := "mount --bind /etc/nats-alone /etc/nats; exec sh /etc/nats/nats.sh " + alone
	c.Alone.start(t, c.Alone.env(), "unshare", "--mount", "sh", "-euc", script)
}

// URL is the NATS_URL of a user of the cluster.
func (c *Cluster) URL(t testing.TB, user string) string {
	t.Helper()
	return c.Secret(t, "nats_"+user+"_url")
}

// AloneURL is the NATS_URL of a user of the server that is not in the cluster.
func (c *Cluster) AloneURL(t testing.TB, user string) string {
	t.Helper()
	return "tls://" + user + ":" + c.Secret(t, "nats_"+user+"_password") + "@" + alone + ":4222"
}

// CreateStream makes the stream as an administrator does. url is the administrator's NATS_URL.
func (c *Cluster) CreateStream(t testing.TB, url string, env ...string) {
	t.Helper()
	env = append(append(c.Settings(), "NATS_URL="+url), env...)
	wait.Until(t, func() bool {
		return testenv.StartCommand(t, exec.Command(c.Binary("ingest"), "create-stream"), env).Exit(t) == 0
	}, "the stream is not created")
}

// DeleteStream deletes the stream, if there is one, as an administrator.
func (c *Cluster) DeleteStream(t testing.TB, url string) {
	t.Helper()
	wait.Until(t, func() bool {
		admin, err := nats.Connect(url, nats.Timeout(time.Second))
		if err != nil {
			return false
		}
		defer admin.Close()
		js, err := jetstream.New(admin)
		require.NoError(t, err)
		err = js.DeleteStream(t.Context(), testenv.Stream)
		return err == nil || errors.Is(err, jetstream.ErrStreamNotFound)
	}, "the stream is not deleted")
}

// ask asks one server as its administrator, who may do everything.
func (n *NATS) ask(t testing.TB, question func(*nats.Conn, jetstream.Stream) error) error {
	t.Helper()
	admin, err := nats.Connect("tls://"+n.Name+":4222", nats.UserInfo("admin", n.cluster.Secret(t, "nats_admin_password")), nats.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer admin.Close()
	js, err := jetstream.New(admin, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		return err
	}
	stream, err := js.Stream(t.Context(), testenv.Stream)
	if err != nil {
		return err
	}
	return question(admin, stream)
}

// LeaderOf returns the server that leads the stream, as this server knows it; nil if it knows none. A
// leader that is cut off from the others calls itself the leader until it notices.
func (n *NATS) LeaderOf(t testing.TB) (leader *NATS) {
	t.Helper()
	_ = n.ask(t, func(_ *nats.Conn, stream jetstream.Stream) error {
		leader = n.cluster.server(stream.CachedInfo().Cluster.Leader)
		return nil
	})
	return leader
}

// Leader waits until the stream has a leader and returns it.
func (c *Cluster) Leader(t testing.TB) (leader *NATS) {
	t.Helper()
	wait.Until(t, func() bool {
		for _, server := range c.NATS {
			if leader = server.LeaderOf(t); leader != nil {
				return true
			}
		}
		return false
	}, "the stream has no leader")
	return leader
}

func (c *Cluster) server(name string) *NATS {
	for _, n := range c.NATS {
		if n.serverName() == name {
			return n
		}
	}
	return nil
}

// AwaitWhole waits until all three servers are healthy and know one leader of the stream, and the two
// other replicas are current.
func (c *Cluster) AwaitWhole(t testing.TB) {
	t.Helper()
	whole := false
	for range 1 + len(c.NATS) { // each server may be restarted once; then the deadline begins anew
		wait.Until(t, func() bool {
			whole = c.whole(t)
			return whole || c.restartStuck(t)
		}, "a replica of the stream is not current")
		if whole {
			return
		}
	}
	require.Fail(t, "servers are restarted and do not catch up")
}

// BecomesWhole is AwaitWhole that gives up after a time, and reports whether the cluster is whole.
func (c *Cluster) BecomesWhole(t testing.TB, within time.Duration) bool {
	t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if c.whole(t) {
			return true
		}
	}
	return false
}

func (c *Cluster) whole(t testing.TB) bool {
	t.Helper()
	if c.healthy(t) < len(c.NATS) {
		return false
	}
	leaders := map[*NATS]bool{}
	for _, server := range c.NATS {
		leaders[server.currentLeader(t)] = true
	}
	return len(leaders) == 1 && !leaders[nil]
}

// restartStuck restarts a server that led the stream while it was cut off. With nats-server 2.15, such a
// server removes the messages that it took then at only one message every two seconds. Meanwhile the leader
// cannot make a snapshot of its log, which it tries every fifteen seconds. Once the leader has a snapshot,
// the server gets it and catches up at once. docs/cluster.md says the same to operators. restartStuck
// reports whether it has restarted a server.
func (c *Cluster) restartStuck(t testing.TB) (restarted bool) {
	t.Helper()
	const refusals, forSnapshot = 20, 20 * time.Second
	for _, server := range c.NATS {
		if strings.Count(server.Output(), "Expected first catchup entry to be a snapshot and peerstate") >= refusals {
			t.Logf("%s hardly catches up, and is restarted", server.Name)
			server.Stop(t)
			time.Sleep(forSnapshot)
			server.Start(t)
			restarted = true
		}
	}
	return restarted
}

// currentLeader is LeaderOf if the two other replicas are current, else nil.
func (n *NATS) currentLeader(t testing.TB) (leader *NATS) {
	t.Helper()
	_ = n.ask(t, func(_ *nats.Conn, stream jetstream.Stream) error {
		state := stream.CachedInfo().Cluster
		if len(state.Replicas) == 2 && state.Replicas[0].Current && state.Replicas[1].Current && !state.Replicas[0].Offline && !state.Replicas[1].Offline {
			leader = n.cluster.server(state.Leader)
		}
		return nil
	})
	return leader
}

const allServers = "tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222"

// healthy returns the number of servers that call themselves healthy.
func (c *Cluster) healthy(t testing.TB) (healthy int) {
	t.Helper()
	sys, err := nats.Connect(allServers, nats.UserInfo("sys", c.Secret(t, "nats_sys_password")), nats.Timeout(time.Second))
	if err != nil {
		return 0
	}
	defer sys.Close()
	inbox := sys.NewInbox()
	answers, err := sys.SubscribeSync(inbox)
	require.NoError(t, err)
	require.NoError(t, sys.PublishRequest("$SYS.REQ.SERVER.PING.HEALTHZ", inbox, nil))
	for range c.NATS {
		answer, err := answers.NextMsg(time.Second)
		if err == nil && bytes.Contains(answer.Data, []byte(`"status":"ok"`)) {
			healthy++
		}
	}
	return healthy
}

// Lead makes a server the stream's leader.
func (c *Cluster) Lead(t testing.TB, n *NATS) {
	t.Helper()
	wait.Until(t, func() bool {
		if c.Leader(t) == n {
			return true
		}
		_ = n.ask(t, func(admin *nats.Conn, _ jetstream.Stream) error {
			_, err := admin.Request("$JS.API.STREAM.LEADER.STEPDOWN."+testenv.Stream, []byte(`{"placement":{"preferred":"`+n.serverName()+`"}}`), time.Second)
			return err
		})
		return false
	}, "%s does not lead", n.Name)
}
