//go:build linux

package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
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
}

// Start starts the server with what its store has.
func (n *NATS) Start(t testing.TB) {
	t.Helper()
	path := filepath.Join(n.cluster.files, "nats", string(n.Version)) + ":" + os.Getenv("PATH")
	n.start(t, []string{"PATH=" + path, "PAYFOLD_NATS_STORE=" + n.store()}, "sh", "/etc/nats/nats.sh", n.Name)
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
	require.NoError(t, os.RemoveAll(n.store()))
}

// createStream makes the stream as an administrator does.
func (c *Cluster) createStream(t testing.TB) {
	t.Helper()
	wait.Until(t, func() bool {
		create := exec.Command(c.Binary("ingest"), "create-stream")
		return testenv.StartCommand(t, create, append(c.Settings(), "NATS_URL_FILE=/run/secrets/nats_admin_url")).Exit(t) == 0
	}, "the stream is not created")
}

// ask asks the cluster as its administrator, who may do everything.
func (c *Cluster) ask(t testing.TB, question func(*nats.Conn, jetstream.Stream) error) error {
	t.Helper()
	admin, err := nats.Connect(c.Secret(t, "nats_admin_url"), nats.Timeout(time.Second))
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

// Leader waits until the stream has a leader and returns it.
func (c *Cluster) Leader(t testing.TB) (leader *NATS) {
	t.Helper()
	wait.Until(t, func() bool {
		_ = c.ask(t, func(_ *nats.Conn, stream jetstream.Stream) error {
			leader = c.server(stream.CachedInfo().Cluster.Leader)
			return nil
		})
		return leader != nil
	}, "the stream has no leader")
	return leader
}

func (c *Cluster) server(name string) *NATS {
	for _, n := range c.NATS {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// AwaitWhole waits until all three servers are healthy, and the stream has a leader and two replicas
// that are current.
func (c *Cluster) AwaitWhole(t testing.TB) {
	t.Helper()
	wait.Until(t, func() bool {
		whole := false
		_ = c.ask(t, func(_ *nats.Conn, stream jetstream.Stream) error {
			state := stream.CachedInfo().Cluster
			whole = state.Leader != "" && len(state.Replicas) == 2 && c.healthy(t) == len(c.NATS)
			for _, replica := range state.Replicas {
				whole = whole && replica.Current && !replica.Offline
			}
			return nil
		})
		return whole
	}, "a replica of the stream is not current")
}

// healthy returns the number of servers that call themselves healthy.
func (c *Cluster) healthy(t testing.TB) (healthy int) {
	t.Helper()
	sys, err := nats.Connect("tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222", nats.UserInfo("sys", c.Secret(t, "nats_sys_password")), nats.Timeout(time.Second))
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
		_ = c.ask(t, func(admin *nats.Conn, _ jetstream.Stream) error {
			_, err := admin.Request("$JS.API.STREAM.LEADER.STEPDOWN."+testenv.Stream, []byte(`{"placement":{"preferred":"`+n.Name+`"}}`), time.Second)
			return err
		})
		return false
	}, "%s does not lead", n.Name)
}
