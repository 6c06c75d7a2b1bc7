//go:build stack

package endtoend

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// stack is the containers of deploy/compose.yaml or deploy/compose.one.yaml, in a clone of the repository.
// deploy/stack/test/run.sh makes the clone and the images, and removes the containers.
type stack struct {
	clone  string
	blocks []string // of commands in docs/deploy.md that were not run yet

	ofOneNode []string // blocks of the section oneNode
	admin     *http.Client
}

// TestTheStackOutlivesItsParts runs the commands of docs/deploy.md. Under load it kills a container
// of each kind, takes the object store away, cuts the leader of the log off the network, and
// promotes the standby. Acknowledged events are in the tables at the end, once, and in the archive. Then it removes the
// log's disks and restores the log.
//
// STACK_KILLS is the number of containers that are killed; by default one of each kind.
func TestTheStackOutlivesItsParts(t *testing.T) {
	s := startStack(t)
	s.commands(t, "docker compose up -d")
	s.awaitHealthy(t)
	s.commands(t, "chattr")
	s.requireReadersCannotWrite(t)
	s.commands(t, "docker compose exec -T ingest-1 ingest send")
	load := startLoad(t, &world{provider: s.provider(t)}, slowPace)
	s.limitMemory(t, "projector-1", "352m")
	services := []string{"projector-1", "proxy", "ingest-1", "console", "store", "store-reader", "nats-1", "postgres-1", "postgres-2", "prometheus", "alertmanager"}
	others := services[1:] // the projector is always killed: it must start with less memory
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, service := range services[:testenv.Number(t, "STACK_KILLS", len(services))] {
		s.underLoad(t, load, service+" is killed", func() { s.kill(t, service) })
	}
	s.awaitHealthy(t)
	s.underLoad(t, load, "both ingests get another secret", func() { s.commands(t, "docker compose up -d --force-recreate ingest-1") })
	s.underLoad(t, load, "the object store is away", func() { s.takeStoreAway(t) })
	s.underLoad(t, load, "the leader of the log is cut off", func() { s.cutOffLeader(t, load) })
	s.underLoad(t, load, "the standby takes over", func() {
		s.commands(t, "docker compose stop postgres-1")
		s.requireProgress(t, "postgres-2")
		s.commands(t, "docker compose run -T --rm --no-deps --entrypoint rm postgres-1")
	})
	s.awaitHealthy(t)
	s.requireLoad(t, load)
	s.awaitArchive(t, hasAll)
	s.loseLog(t)
	s.commands(t, "docker compose run -T --rm create-stream ingest restore")
	s.awaitHealthy(t)
	s.run(t, s.folder(), "sh", "-euc", "docker compose exec -T ingest-1 ingest send - < ../examples/first-event.json")
	s.commands(t, "docker compose exec -T projector-1 projector verify")
	s.awaitArchive(t, hasAll)
	s.commands(t, "docker compose exec -T ingest-1 ingest check --archive --full")
	s.commands(t, "docker compose run -T --rm -v /data ingest-1 ingest restore")
	require.Empty(t, s.blocks, "docs/deploy.md has commands that were not run")
	s.requireMonitored(t)
}

// oneNode is the section of docs/deploy.md about compose.one.yaml.
var oneNode = regexp.MustCompile(`(?s)\n## One node\n.*?\n## `)

// startStack builds the image. The commands of docs/deploy.md are those of the page without the section oneNode. If the
// test fails, it prints the logs of all containers. In the end it removes them.
func startStack(t *testing.T) *stack {
	clone := os.Getenv("STACK_CLONE")
	require.NotEmpty(t, clone, "deploy/stack/test/run.sh runs this test")
	page, err := os.ReadFile(filepath.Join(clone, "docs", "deploy.md"))
	require.NoError(t, err)
	s := &stack{clone: clone, admin: &http.Client{Timeout: 10 * time.Second}}
	require.Len(t, oneNode.FindAll(page, -1), 1)
	s.blocks, s.ofOneNode = commandsIn(oneNode.ReplaceAll(page, nil)), commandsIn(oneNode.Find(page))
	t.Cleanup(func() {
		out, err := s.try("docker", "compose", "down", "--volumes", "--timeout", "5")
		require.NoError(t, err, out)
	})
	t.Cleanup(func() {
		s.admin.CloseIdleConnections()
		if t.Failed() {
			containers, _ := s.try("docker", "compose", "ps")
			t.Log(containers)
			logs, _ := s.try("docker", "compose", "logs", "--no-color", "--tail", "60")
			t.Log(logs)
		}
	})
	s.follow(t, clone, "docker build")
	return s
}

// commandsIn returns the blocks of commands in a page.
func commandsIn(page []byte) (blocks []string) {
	for _, match := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		blocks = append(blocks, string(match[1]))
	}
	return blocks
}

// follow runs the block of commands of docs/deploy.md with this beginning, in a folder of the
// clone.
func (s *stack) follow(t *testing.T, folder, begins string) {
	t.Helper()
	at := slices.IndexFunc(s.blocks, func(block string) bool { return strings.HasPrefix(block, begins) })
	require.GreaterOrEqual(t, at, 0, begins)
	s.run(t, folder, "sh", "-euc", s.blocks[at])
	s.blocks = slices.Delete(s.blocks, at, at+1)
}

// commands is follow in the folder deploy.
func (s *stack) commands(t *testing.T, begins string) {
	t.Helper()
	s.follow(t, s.folder(), begins)
}

func (s *stack) folder() string { return filepath.Join(s.clone, "deploy") }

func (s *stack) run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	out, err := output(folder, name, args...)
	require.NoError(t, err, "%s %s", name, strings.Join(args, " "))
	return out
}

func (s *stack) try(name string, args ...string) (string, error) {
	return output(s.folder(), name, args...)
}

func (s *stack) compose(t *testing.T, args ...string) string {
	t.Helper()
	return s.run(t, s.folder(), "docker", append([]string{"compose"}, args...)...)
}

// output returns what a command prints. The error has what it prints on stderr.
func output(folder, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = folder
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w: %s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// container returns the id of a service's container.
func (s *stack) container(t *testing.T, service string) string {
	t.Helper()
	return strings.TrimSpace(s.compose(t, "ps", "-q", service))
}

// awaitHealthy waits until the containers of these services, or all, run and pass their health check,
// if they have one, and the stream is made.
func (s *stack) awaitHealthy(t *testing.T, services ...string) {
	t.Helper()
	ids := strings.Fields(s.compose(t, append([]string{"ps", "-a", "-q"}, services...)...))
	wait.Until(t, func() bool {
		states, err := s.try("docker", append([]string{"inspect", "-f", containerState}, ids...)...)
		if err != nil {
			return false
		}
		for _, state := range strings.Split(strings.TrimSpace(states), "\n") {
			if !isHealthy(state) {
				return false
			}
		}
		return true
	}, "the containers are not healthy")
}

// containerState is a template: service, status, and health or else the exit status.
const containerState = `{{index .Config.Labels "com.docker.compose.service"}} {{.State.Status}} {{with .State.Health}}{{.Status}}{{else}}{{.State.ExitCode}}{{end}}`

// isHealthy reads a line of containerState.
func isHealthy(state string) bool {
	return strings.HasSuffix(state, " running healthy") || state == "create-stream exited 0"
}

// underLoad injects a fault while deliveries go on. After it events must reach the tables again.
func (s *stack) underLoad(t *testing.T, load *load, name string, inject func()) {
	t.Helper()
	load.await(t, 20)
	began := time.Now()
	inject()
	s.requireProgress(t, s.primary(t))
	t.Logf("%s: %.0f s", name, time.Since(began).Seconds())
}

// primary returns the Postgres that takes writes.
func (s *stack) primary(t *testing.T) (service string) {
	t.Helper()
	wait.Until(t, func() bool {
		for _, service = range []string{"postgres-1", "postgres-2"} {
			if out, err := s.query(service, "select pg_is_in_recovery()"); err == nil && out == "f" {
				return true
			}
		}
		return false
	}, "no Postgres takes writes")
	return service
}

func (s *stack) query(service, sql string) (string, error) {
	out, err := s.try("docker", "compose", "exec", "-T", service, "psql", "-XAt", "-d", "payfold", "-c", sql)
	return strings.TrimSpace(out), err
}

// requireProgress waits until a Postgres gets new events.
func (s *stack) requireProgress(t *testing.T, service string) {
	t.Helper()
	first := int64(-1)
	wait.Until(t, func() bool {
		out, err := s.query(service, "select count(*) from portal.processed_event")
		if err != nil {
			return false
		}
		count, err := strconv.ParseInt(out, 10, 64)
		require.NoError(t, err)
		if first < 0 {
			first = count
		}
		return count > first
	}, "%s has no new events", service)
}

// kill kills the program of a container, like a crash. Docker starts it again.
func (s *stack) kill(t *testing.T, service string) {
	t.Helper()
	id := s.container(t, service)
	state := func() (pid int, started string) {
		out := strings.Fields(s.run(t, s.folder(), "docker", "inspect", "-f", "{{.State.Pid}} {{.State.StartedAt}}", id))
		pid, err := strconv.Atoi(out[0])
		require.NoError(t, err)
		return pid, out[1]
	}
	pid, started := state()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	wait.Until(t, func() bool { _, now := state(); return now != started }, "%s is not started again", service)
}

// limitMemory gives a container less memory. Its program sees that when it starts again.
func (s *stack) limitMemory(t *testing.T, service, memory string) {
	t.Helper()
	s.run(t, s.folder(), "docker", "update", "--memory", memory, "--memory-swap", memory, s.container(t, service))
}

// takeStoreAway stops the object store while deliveries go on. An ingest must be able to start
// without it, here with less memory. Events accepted meanwhile are archived when the store is back.
func (s *stack) takeStoreAway(t *testing.T) {
	t.Helper()
	s.compose(t, "stop", "store", "store-reader")
	s.limitMemory(t, "ingest-2", "320m")
	s.compose(t, "restart", "ingest-2")
	s.awaitHealthy(t, "ingest-2")
	s.requireProgress(t, s.primary(t))
	out, err := s.query(s.primary(t), "select max(stream_seq) from portal.processed_event")
	require.NoError(t, err)
	newest, err := strconv.ParseUint(out, 10, 64)
	require.NoError(t, err)
	s.compose(t, "start", "store", "store-reader")
	s.awaitArchive(t, func(status archive.Status) bool { return status.Last >= newest })
}

// requireReadersCannotWrite: the store of ingest refuses the credentials of projectors, and their own
// store has no right to write.
func (s *stack) requireReadersCannotWrite(t *testing.T) {
	t.Helper()
	_, err := s.try("docker", "compose", "exec", "-T", "-e", "ARCHIVE_S3_ENDPOINT=https://store:7070", "projector-1", "ingest", "archive")
	require.ErrorContains(t, err, "No user exists")
	_, err = s.try("docker", "compose", "exec", "-T", "store-reader", "touch", "/var/tmp/written")
	require.ErrorContains(t, err, "Read-only file system")
}

// awaitArchive waits for a state of the archive, as projectors read it.
func (s *stack) awaitArchive(t *testing.T, so func(archive.Status) bool) {
	t.Helper()
	seen := ""
	wait.Until(t, func() bool {
		out, err := s.try("docker", "compose", "exec", "-T", "projector-1", "ingest", "archive", "--json")
		if out != seen {
			t.Logf("the archive: %s %v", out, err)
			seen = out
		}
		var status archive.Status
		return err == nil && json.Unmarshal([]byte(out), &status) == nil && so(status)
	}, "the archive is not as it should be")
}

func hasAll(status archive.Status) bool {
	return status.Last > 0 && status.LogError == "" && status.LagMessages == 0
}

// loseLog empties the disks of all NATS servers. While the archive has the log, no other one is made.
func (s *stack) loseLog(t *testing.T) {
	t.Helper()
	s.compose(t, "rm", "-sf", "create-stream", "nats-1", "nats-2", "nats-3")
	for _, server := range []string{"nats-1", "nats-2", "nats-3"} {
		s.run(t, s.folder(), "docker", "volume", "rm", os.Getenv("COMPOSE_PROJECT_NAME")+"_"+server)
	}
	s.compose(t, "up", "-d")
	wait.Until(t, func() bool {
		out, err := s.try("docker", "compose", "logs", "--no-color", "create-stream")
		return err == nil && strings.Contains(out, "restore it with: ingest restore")
	}, "create-stream does not say that the log is lost")
}

// cutOffLeader takes the server that leads the stream off the network while deliveries go on.
func (s *stack) cutOffLeader(t *testing.T, load *load) {
	t.Helper()
	leader := s.leader(t)
	id := s.container(t, leader)
	network := os.Getenv("COMPOSE_PROJECT_NAME") + "_log"
	s.run(t, s.folder(), "docker", "network", "disconnect", network, id)
	wait.Until(t, func() bool { return s.leaderSeenBy(other(leader)) != leader }, "no other server leads")
	for range 10 {
		load.await(t, 10)
	}
	s.requireProgress(t, s.primary(t))
	s.run(t, s.folder(), "docker", "network", "connect", "--alias", leader, network, id)
}

func other(server string) string {
	if server == "nats-1" {
		return "nats-2"
	}
	return "nats-1"
}

// leader returns the name of the server that leads the stream.
func (s *stack) leader(t *testing.T) (leader string) {
	t.Helper()
	wait.Until(t, func() bool {
		leader = s.leaderSeenBy("nats-1")
		return leader != ""
	}, "the stream has no leader")
	return leader
}

func (s *stack) leaderSeenBy(server string) string {
	out, err := s.try("docker", "compose", "exec", "-T", server, "wget", "-q", "-O", "-", "http://127.0.0.1:8222/jsz?streams=true")
	var info struct {
		Accounts []struct {
			Streams []struct {
				Cluster struct {
					Leader string `json:"leader"`
				} `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err != nil || json.Unmarshal([]byte(out), &info) != nil {
		return ""
	}
	for _, account := range info.Accounts {
		for _, stream := range account.Streams {
			return stream.Cluster.Leader
		}
	}
	return ""
}

// provider delivers through the proxy and trusts the authority of the stack.
func (s *stack) provider(t *testing.T) *testenv.Provider {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(s.folder(), "secrets", "webhook_secret"))
	require.NoError(t, err)
	authority, err := os.ReadFile(filepath.Join(s.folder(), "secrets", "ca.pem"))
	require.NoError(t, err)
	provider := newProvider(t)
	provider.Secret = string(secret)
	provider.URL = "https://localhost:" + os.Getenv("HTTPS_PORT") + "/api/payments/provider/webhook"
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(authority))
	provider.Client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
	return provider
}

// requireLoad ends the load and requires its events in both databases, each once.
func (s *stack) requireLoad(t *testing.T, load *load) {
	t.Helper()
	total, balances := 0, []string{}
	for customer, payments := range load.end(t) {
		total += payments
		credits := payments * packCredits
		if customer == 1 {
			credits += 200 // of examples/first-event.json
		}
		balances = append(balances, fmt.Sprintf("u_%d %d", customer, credits))
	}
	want := fmt.Sprintf("%d %d %s", 2*total+1, total+1, strings.Join(balances, " "))
	for _, service := range []string{s.primary(t), "postgres-1"} {
		seen := ""
		wait.Until(t, func() bool {
			got, err := s.query(service, `
				select concat_ws(' ', (select count(*) from portal.processed_event), (select count(*) from portal.credit_ledger),
					(select string_agg(concat_ws(' ', user_id, balance), ' ' order by user_id) from portal.credits where user_id ~ '^u_[0-7]$'))`)
			if got != seen {
				t.Logf("%s has %s %v", service, got, err)
				seen = got
			}
			return err == nil && got == want
		}, "%s has other rows than %s", service, want)
	}
	t.Logf("%d payments", total)
}

// requireMonitored: Prometheus reaches all four programs, knows the rules, and would tell Alertmanager.
func (s *stack) requireMonitored(t *testing.T) {
	t.Helper()
	prometheus := "http://127.0.0.1:" + os.Getenv("PROMETHEUS_PORT") + "/api/v1/"
	for path, want := range map[string]string{
		"query?query=sum(up)":                   `,"4"]`,
		"query?query=payfold_log_durability==1": `"durability":"quorum"`,
		// nine tenths of the memory of ingest-2 and projector-1
		"query?query=go_gc_gomemlimit_bytes==301989888": "ingest-2",
		"query?query=go_gc_gomemlimit_bytes==332188876": "projector-1",
		"rules":         "PayfoldProgramDown",
		"alertmanagers": "http://alertmanager:9093/api/v2/alerts",
	} {
		wait.Until(t, func() bool { return strings.Contains(s.get(prometheus+path), want) }, "the answer to %s has no %s", path, want)
	}
}

func (s *stack) get(url string) string {
	response, err := s.admin.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}
