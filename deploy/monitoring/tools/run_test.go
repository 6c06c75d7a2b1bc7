package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"
)

// sample is one value of one scrape.
type sample struct {
	series labels.Labels
	value  float64
}

const (
	root    = "../../.."
	rounds  = 6
	timeout = 2 * time.Minute // generous: a busy machine is not a fault
)

// scrapes runs both programs under a little of everything: deliveries that are stored, refused and repeated,
// a rejected event, an invitation, and a restore drill. It returns their metrics, scrape by scrape.
func scrapes(t *testing.T) [][]sample {
	t.Helper()
	r := start(t)
	var all [][]sample
	for round := range rounds {
		r.deliver(round)
		r.await(r.projector, "payfold_projector_position", float64(eventsARound*(round+1)))
		r.await(r.projector, "payfold_projector_lag_messages", 0)
		r.await(r.ingest, "payfold_archive_lag_messages", 0)
		if round == 0 {
			r.await(r.projector, "payfold_invitations_attempts_total", 1)
			r.drill()
			r.reconcile()
			r.program("projector", "verify", "--metrics-file", r.verifyFile())
			r.backup()
		}
		all = append(all, r.scrape())
	}
	return all
}

type run struct {
	t                 *testing.T
	bin, dir          string
	env               []string
	webhook           string
	ingest, projector target
	targets           []target // all of them
}

// target is what Prometheus scrapes: one program, by the address of its ADMIN_ADDR.
type target struct{ job, addr string }

func start(t *testing.T) *run {
	t.Helper()
	r := &run{t: t, bin: t.TempDir(), dir: t.TempDir()}
	command(t, "go", "build", "-trimpath", "-o", r.bin, "./cmd/...")
	bin := strings.TrimSpace(command(t, "deploy/postgres/ensure.sh"))
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": 1}`)
	}))
	t.Cleanup(github.Close)
	r.env = append(os.Environ(), "PG_BIN="+bin, "DATA_DIR="+r.dir, "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "LOG_FORMAT=json",
		"PROVIDER_WEBHOOK_SECRET=whsec", "STRIPE_WEBHOOK_SECRET=whsec", "STRIPE_API_KEY=key", "PULL_INTERVAL=0", "PUBLISH_TIMEOUT=4500ms", "EMBEDDED_NATS_ADDR=127.0.0.1:0", "ARCHIVE_INTERVAL=100ms", "LOG_KEEP=720h",
		"INVITE_REPOSITORY=shop/pro", "INVITE_GITHUB_TOKEN=token", "INVITE_GITHUB_API_URL="+github.URL)
	var listen string
	r.ingest, listen = r.start("ingest", "listen_addr")
	r.webhook = "http://" + listen + "/api/payments/provider/webhook"
	r.projector, _ = r.start("projector", "admin_addr")
	r.startCluster()
	return r
}

// start starts a program and waits until its log says where it listens. It also returns the value that the
// log has for key.
func (r *run) start(program, key string, env ...string) (started target, value string) {
	output, input := io.Pipe()
	process := exec.Command(filepath.Join(r.bin, program))
	process.Dir, process.Env, process.Stderr, process.Stdout = root, append(slices.Clip(r.env), env...), input, input
	require.NoError(r.t, process.Start())
	ended := make(chan struct{})
	go func() {
		_ = process.Wait()
		_ = input.Close()
		close(ended)
	}()
	r.t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	started.job = "payfold-" + program
	lines := bufio.NewScanner(output)
	var said strings.Builder
	for (started.addr == "" || value == "") && lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		line := map[string]any{}
		require.NoError(r.t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		if at, known := line["admin_addr"].(string); known {
			started.addr = at
		}
		if at, known := line[key].(string); known {
			value = at
		}
	}
	require.NotEmpty(r.t, value, "%s has ended: %s", program, &said)
	go func() { _, _ = io.Copy(io.Discard, output) }()
	r.targets = append(r.targets, started)
	return started, value
}

const eventsARound = 4

// deliver sends events of all kinds, one of them twice, one without a signature, and one of another provider whose signature
// is wrong.
func (r *run) deliver(round int) {
	var files []string
	for i, object := range []string{
		`"metadata": {"kind": "one_time", "user_id": "u_%d", "credits": 100}`,
		`"metadata": {"kind": "pro", "user_id": "v_%d", "github_username": "octocat%[1]d"}`,
		`"metadata": {"kind": "one_time", "credits": 100, "round": %d}`,                // waits for its user
		`"metadata": {"kind": "one_time", "user_id": "w_%d", "credits": -99999999999}`, // is rejected
	} {
		name := filepath.Join(r.dir, fmt.Sprintf("event-%d-%d.json", round, i))
		body := fmt.Sprintf(`{"id": "evt_%[1]d_%[2]d", "eventType": "checkout.completed", "created_at": %[4]d,
			"object": {"provider_payment_id": "pay_%[1]d_%[2]d", `+"%[3]s}}", round, i, fmt.Sprintf(object, round), time.Now().UnixMilli())
		require.NoError(r.t, os.WriteFile(name, []byte(body), 0o600))
		files = append(files, name)
	}
	r.program("ingest", append([]string{"send", "--url", r.webhook}, append(files, files[0])...)...)
	for address, signature := range map[string]string{
		r.webhook: "",
		strings.Replace(r.webhook, "/provider/", "/stripe/", 1): fmt.Sprintf("t=%d,v1=%064x", time.Now().Unix(), 1),
	} {
		request, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
		require.NoError(r.t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Stripe-Signature", signature)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(r.t, err)
		require.NoError(r.t, answer.Body.Close())
		require.Equal(r.t, http.StatusUnauthorized, answer.StatusCode, address)
	}
}

// drill restores the archive, as a cron job does.
func (r *run) drill() {
	r.program("ingest", "restore", "--from", filepath.Join(r.dir, "archive"), "--check", "--metrics-file", r.drillFile())
}

// reconcile compares the tables with a provider that has nothing, as a timer does.
func (r *run) reconcile() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[],"has_more":false}`))
	}))
	defer api.Close()
	r.program("projector", "reconcile", "stripe", "--stripe-api-key", "key", "--stripe-api-url", api.URL, "--metrics-file", r.reconcileFile())
}

// backup writes the metric of a backup, as its unit does.
func (r *run) backup() {
	unit, err := os.ReadFile("../../systemd/payfold-backup.service")
	require.NoError(r.t, err)
	command := regexp.MustCompile(`echo "[^"]*" >backup\.new && mv backup\.new backup\.prom`).Find(unit)
	require.NotEmpty(r.t, command)
	shell := exec.Command("sh", "-euc", strings.ReplaceAll(string(command), "%%", "%")) // systemd reads %% as %
	shell.Dir = r.dir
	require.NoError(r.t, shell.Run())
}

func (r *run) backupFile() string { return filepath.Join(r.dir, "backup.prom") }

func (r *run) verifyFile() string { return filepath.Join(r.dir, "verify.prom") }

func (r *run) reconcileFile() string { return filepath.Join(r.dir, "reconcile.prom") }

func (r *run) drillFile() string { return filepath.Join(r.dir, "drill.prom") }

// scrape returns the metrics of both programs and of the commands of timers, as Prometheus would store them.
func (r *run) scrape() (samples []sample) {
	for _, at := range r.targets {
		samples = append(samples, r.metrics(at)...)
		samples = append(samples, sample{labels.FromStrings("__name__", "up", "job", at.job, "instance", at.addr), 1})
	}
	for _, file := range []string{r.drillFile(), r.reconcileFile(), r.verifyFile(), r.backupFile()} {
		text, err := os.ReadFile(file)
		require.NoError(r.t, err)
		samples = append(samples, parse(r.t, text, target{"node", "a"})...)
	}
	return samples
}

func (r *run) metrics(of target) []sample {
	answer, err := http.Get("http://" + of.addr + "/metrics")
	require.NoError(r.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(r.t, err)
	return parse(r.t, text, of)
}

// await waits until a metric, summed over its labels, has a value; a counter may also be above it.
func (r *run) await(of target, metric string, want float64) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		sum, found := 0.0, false
		for _, s := range r.metrics(of) {
			if s.series.Get(labels.MetricName) == metric {
				sum, found = sum+s.value, true
			}
		}
		if found && (sum == want || sum > want && want > 0) {
			return
		}
		require.Less(r.t, time.Since(began), timeout, "%s of %s is %v and not %v", metric, of.job, sum, want)
	}
}

func parse(t *testing.T, text []byte, of target) (samples []sample) {
	t.Helper()
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return samples
		}
		require.NoError(t, err)
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		p.Labels(&series)
		_, _, value := p.Series()
		series = labels.NewBuilder(series).Set("job", of.job).Set("instance", of.addr).Labels()
		samples = append(samples, sample{series, value})
	}
}

func (r *run) program(name string, args ...string) { r.programWith(nil, name, args...) }

func (r *run) programWith(env []string, name string, args ...string) {
	process := exec.Command(filepath.Join(r.bin, name), args...)
	process.Env = append(slices.Clip(r.env), env...)
	output, err := process.CombinedOutput()
	require.NoError(r.t, err, "%s %v: %s", name, args, output)
}

// command runs a command in the project's folder.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	process := exec.Command(name, args...)
	process.Dir = root
	var said bytes.Buffer
	process.Stderr = &said
	output, err := process.Output()
	require.NoError(t, err, "%s: %s", name, said.String())
	return string(output)
}
