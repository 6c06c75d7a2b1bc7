//go:build linux

package cluster

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// SetReplicas sets how many servers have the stream, as an administrator does, and waits until they have it.
func (c *Cluster) SetReplicas(t testing.TB, replicas int) {
	t.Helper()
	wait.Until(t, func() bool {
		for _, server := range c.NATS {
			if server.setReplicas(t, replicas) {
				return true
			}
		}
		return false
	}, "the stream does not get %d replicas", replicas)
	if replicas == len(c.NATS) {
		c.AwaitWhole(t)
	}
}

// setReplicas asks for replicas if the stream has another number, and reports whether it has them, with a leader.
func (n *NATS) setReplicas(t testing.TB, replicas int) (done bool) {
	t.Helper()
	_ = n.ask(t, func(admin *nats.Conn, stream jetstream.Stream) error {
		have := stream.CachedInfo()
		if have.Config.Replicas == replicas {
			done = have.Cluster.Leader != "" && len(have.Cluster.Replicas) == replicas-1
			return nil
		}
		js, err := jetstream.New(admin, jetstream.WithDefaultTimeout(2*time.Second))
		if err != nil {
			return err
		}
		config := have.Config
		config.Replicas = replicas
		_, err = js.UpdateStream(t.Context(), config)
		return err
	})
	return done
}

// Replace removes a server, which is away for ever, from the cluster. A new one takes its place, with another name and
// an empty store.
func (n *NATS) Replace(t testing.TB) {
	t.Helper()
	n.Kill()
	wait.Until(t, func() bool {
		sys, err := nats.Connect(allServers, nats.UserInfo("sys", n.cluster.Secret(t, "nats_sys_password")), nats.Timeout(time.Second))
		if err != nil {
			return false
		}
		defer sys.Close()
		answer, err := sys.Request("$JS.API.SERVER.REMOVE", []byte(`{"peer":"`+n.serverName()+`"}`), 2*time.Second)
		return err == nil && bytes.Contains(answer.Data, []byte(`"success":true`))
	}, "%s is not removed", n.Name)
	n.Wipe(t)
	n.replaced++
	n.Start(t)
}

// Messages asks the stream's leader for every message, from the oldest to the newest, and gives each answer to look. It
// ends with the first error of look. A reader would not do: a server without the lead may serve it.
func (n *NATS) Messages(t testing.TB, last uint64, look func(seq uint64, answer *nats.Msg) error) error {
	t.Helper()
	const atOnce = 100
	return n.ask(t, func(admin *nats.Conn, _ jetstream.Stream) error {
		inbox := admin.NewInbox()
		answers, err := admin.SubscribeSync(inbox + ".*")
		if err != nil {
			return err
		}
		for asked, seen := uint64(0), uint64(0); seen < last; seen++ {
			for ; asked < last && asked < seen+atOnce; asked++ {
				question := []byte(fmt.Sprintf(`{"seq":%d}`, asked+1))
				if err := admin.PublishRequest("$JS.API.STREAM.MSG.GET."+testenv.Stream, fmt.Sprintf("%s.%d", inbox, asked+1), question); err != nil {
					return err
				}
			}
			answer, err := answers.NextMsg(10 * time.Second)
			if err != nil {
				return err
			}
			seq, err := strconv.ParseUint(strings.TrimPrefix(answer.Subject, inbox+"."), 10, 64)
			if err != nil {
				return err
			}
			if err := look(seq, answer); err != nil {
				return err
			}
		}
		return nil
	})
}
