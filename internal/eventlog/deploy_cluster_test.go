package eventlog_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

const soon = wait.Timeout

// cluster is three servers from the files of deploy/nats, each with its own environment.
type cluster struct {
	servers []*server.Server
	options map[*server.Server]*server.Options
	hosts   string
}

func startCluster(t *testing.T) (*cluster, context.Context) {
	t.Helper()
	return startClusterOf(t, filepath.Join("..", "..", "deploy", "nats"))
}

// startClusterOf starts a cluster with the configuration in a folder.
func startClusterOf(t *testing.T, folder string) (*cluster, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	t.Cleanup(cancel)
	addresses := []string{ports.Free(t), ports.Free(t), ports.Free(t)}
	c := &cluster{options: map[*server.Server]*server.Options{}}
	for i, address := range addresses {
		environment := map[string]string{
			"NAME": fmt.Sprint("nats-", i+1), "LISTEN": "127.0.0.1:-1", "STORE": t.TempDir(), "CLUSTER_LISTEN": address,
			"CLUSTER_PASSWORD": "cluster", "INGEST_PASSWORD": "ingest", "ADMIN_PASSWORD": "admin",
			"PROJECTOR_PASSWORD": "$2a$04$UDYMu7Dc2jxv898oXa8BiOUdnwt8QoYEwbePhnKEY.QjjlGCxkmfi", // "projector"
			"SYS_PASSWORD":       `"7f-3 b"`,
		}
		for n, other := range addresses {
			environment[fmt.Sprint("ROUTE_", n+1)] = "nats-route://payfold:cluster@" + other
		}
		c.start(t, readConfig(t, folder, environment))
	}
	hosts := make([]string, len(c.servers))
	for i, s := range c.servers {
		hosts[i] = s.Addr().String()
	}
	c.hosts = strings.Join(hosts, ",")
	return c, ctx
}

// withRights returns the configuration of deploy/nats with the lines that an archive needs.
func withRights(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", "deploy", "nats"))))
	rights := filepath.Join(folder, "ingest.conf")
	text, err := os.ReadFile(rights)
	require.NoError(t, err)
	enabled := strings.ReplaceAll(string(text), `# "$JS.API`, `"$JS.API`)
	require.NotEqual(t, string(text), enabled)
	require.NoError(t, os.WriteFile(rights, []byte(enabled), 0o600))
	return folder
}

// processEnvironment is held by the test that has set variables of the process.
var processEnvironment sync.Mutex

// readConfig reads nats.conf, which takes values from the environment.
func readConfig(t *testing.T, folder string, environment map[string]string) *server.Options {
	t.Helper()
	processEnvironment.Lock()
	defer processEnvironment.Unlock()
	for name, value := range environment {
		require.NoError(t, os.Setenv("PAYFOLD_NATS_"+name, value))
	}
	options, err := server.ProcessConfigFile(filepath.Join(folder, "nats.conf"))
	require.NoError(t, err)
	return options
}

func (c *cluster) start(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	require.True(t, options.SyncAlways, "an acknowledged event is on disk")
	require.EqualValues(t, 1<<20, options.MaxPayload)
	require.Equal(t, "127.0.0.1", options.HTTPHost, "monitoring knows no passwords")
	options.HTTPPort, options.NoSigs = server.RANDOM_PORT, true
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { stopServer(s) })
	require.True(t, s.ReadyForConnections(soon))
	c.servers = slices.DeleteFunc(c.servers, func(former *server.Server) bool { return former.Name() == s.Name() })
	c.servers, c.options[s] = append(c.servers, s), options
	return s
}

// server returns the server of that name.
func (c *cluster) server(name string) *server.Server {
	return c.servers[slices.IndexFunc(c.servers, func(s *server.Server) bool { return s.Name() == name })]
}

// current returns an error unless all servers have what the leader has.
func (c *cluster) current(ctx context.Context, log *eventlog.Log) error {
	info, err := log.Info(ctx)
	if err == nil && info.Current != len(c.servers) {
		err = fmt.Errorf("only %v are current", info.Servers)
	}
	return err
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// url names all servers, as an operator would.
func (c *cluster) url(user string) string {
	hosts := strings.Split(c.hosts, ",")
	for i, host := range hosts {
		hosts[i] = fmt.Sprintf("nats://%s:%s@%s", user, user, host)
	}
	return strings.Join(hosts, ",")
}

func (c *cluster) log(t *testing.T, user string) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Connect(eventlog.Config{URL: c.url(user), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	return log
}

// createStream returns once the cluster has elected its leaders and everybody sees the stream.
func (c *cluster) createStream(ctx context.Context, t *testing.T) (ingest, projector *eventlog.Log) {
	t.Helper()
	return c.createStreamOf(ctx, t, eventlog.StreamConfig{Name: testenv.Stream, Replicas: 3, Partitions: 8, DuplicateWindow: time.Minute})
}

func (c *cluster) createStreamOf(ctx context.Context, t *testing.T, config eventlog.StreamConfig) (ingest, projector *eventlog.Log) {
	t.Helper()
	admin, logger := c.log(t, "admin"), testenv.Logger(t)
	requireSoon(ctx, t, func(ctx context.Context) error { return admin.EnsureStream(ctx, config, logger) })
	ingest, projector = c.log(t, "ingest"), c.log(t, "projector")
	requireSoon(ctx, t, ingest.Ready)
	requireSoon(ctx, t, projector.Ready)
	return ingest, projector
}

func requireSoon(ctx context.Context, t *testing.T, try func(context.Context) error) {
	t.Helper()
	wait.Until(t, func() bool {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err := try(attempt)
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})
}

func appendSoon(ctx context.Context, t *testing.T, ingest *eventlog.Log, id string) {
	t.Helper()
	d := delivery(t, body(id, "customer"))
	requireSoon(ctx, t, func(ctx context.Context) error {
		_, err := ingest.Append(ctx, d)
		return err
	})
}

func (c *cluster) connect(t *testing.T, user, password string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(c.hosts, nats.UserInfo(user, password), nats.Timeout(wait.Timeout), nats.CustomInboxPrefix("_INBOX."+user),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // LastError has it
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// request returns the server's answer, or its reason for giving none.
func request(ctx context.Context, t *testing.T, conn *nats.Conn, subject, payload string) (string, error) {
	t.Helper()
	inbox := conn.NewInbox()
	answers, err := conn.SubscribeSync(inbox)
	require.NoError(t, err)
	require.NoError(t, conn.PublishRequest(subject, inbox, []byte(payload)))
	if err := cmp.Or(conn.FlushWithContext(ctx), conn.LastError()); err != nil {
		return "", err
	}
	answer, err := answers.NextMsgWithContext(ctx)
	if err != nil {
		return "", err
	}
	return string(answer.Data), nil
}

func requireLast(ctx context.Context, t *testing.T, log *eventlog.Log, want uint64) {
	t.Helper()
	require.Equal(t, want, infoSoon(ctx, t, log).Last)
}

func infoSoon(ctx context.Context, t *testing.T, log *eventlog.Log) (info eventlog.Info) {
	t.Helper()
	requireSoon(ctx, t, func(ctx context.Context) (err error) {
		info, err = log.Info(ctx)
		return err
	})
	return info
}

func collectSoon(ctx context.Context, t *testing.T, log *eventlog.Log, from uint64, n int) (messages []events.Message) {
	t.Helper()
	requireSoon(ctx, t, func(ctx context.Context) (err error) {
		messages, err = read(ctx, log, from, n)
		return err
	})
	return messages
}
