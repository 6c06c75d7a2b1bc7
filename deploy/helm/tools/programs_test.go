package tools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"github.com/payfold/payfold/internal/testenv/ports"
)

const timeout = 2 * time.Minute // generous: a busy machine is not a fault

// secretTexts are what the Secrets have, by the name in the values.
var secretTexts = map[string]string{
	"retiredSecrets": "whsec_old",
	"databaseURL":    "postgres://payfold:password@127.0.0.1:1/payfold",
	"natsURLIngest":  "nats://127.0.0.1:1", "natsURLProjector": "nats://127.0.0.1:1", "natsURLAdmin": "nats://127.0.0.1:1",
	"natsCredsIngest": credentials, "natsCredsProjector": credentials, "natsCredsAdmin": credentials,
	"awsCredentials": "[default]\naws_access_key_id = a\naws_secret_access_key = b\n", "githubToken": "ghp_1",
	"pingURL":      "http://127.0.0.1:1/ping",
	"consoleToken": "0123456789abcdef0123", "consoleOIDCClientSecret": "client",
}

// signingSecret may be that of any provider.
const signingSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="

const credentials = "-----BEGIN NATS USER JWT-----\ne30\n------END NATS USER JWT------\n"

// A container's command, its variables, its files and its probes are what the program knows: it starts with
// them, answers the probes where they ask, and ends in the time that it has.
func TestTheProgramsRunAsTheChartStartsThem(t *testing.T) {
	t.Parallel()
	bin := buildPrograms(t)
	m := startMachine(t, bin)
	for _, mode := range []values{single, cluster} {
		given := everything(mode)
		maps.Copy(given["config"].(map[string]any), map[string]any{
			"LOG_FORMAT": "json", "ARCHIVE_S3_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
		})
		given["console.config"].(map[string]any)["CONSOLE_OIDC_ISSUER"] = "http://127.0.0.1:1"
		o := requireObjects(t, loadChart(t), openKEDA(t), given, "")
		for _, pod := range o.pods() {
			data := filepath.Join(t.TempDir(), "none")
			if mode["mode"] == "single" {
				data = t.TempDir()
			}
			for _, container := range pod.Spec.Containers {
				t.Run(given["mode"].(string)+" "+container.Name, func(t *testing.T) {
					t.Parallel()
					r := &running{t: t, container: container, spec: pod.Spec, objects: &o, machine: m, data: data}
					r.start(bin)
					if len(o.statefulSets) == 0 {
						require.NoDirExists(t, data, "it writes where it may not")
					}
				})
			}
		}
	}
}

// running is a program as one container runs it.
type running struct {
	t         *testing.T
	container core.Container
	spec      core.PodSpec
	objects   *objects
	machine   machine
	console   string // where the console listens
	data      string // DATA_DIR
	process   *exec.Cmd
}

func (r *running) start(bin string) {
	env, files := r.environment()
	args := r.container.Command[1:]
	if r.container.Name == "restore-drill" {
		args = r.machine.drill(r.t, args, files)
	}
	r.process = exec.Command(filepath.Join(bin, r.container.Command[0]), args...)
	r.process.Env = append(env, "HOME=/nonexistent", "PATH=/nonexistent")
	output, err := r.process.StderrPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, r.process.Start())
	r.t.Cleanup(func() { _ = r.process.Process.Kill() })
	lines := bufio.NewScanner(output)
	if r.spec.RestartPolicy == core.RestartPolicyNever {
		said, err := io.ReadAll(output)
		require.NoError(r.t, err)
		_ = r.process.Wait()
		if r.container.Name == "restore-drill" {
			require.Zero(r.t, r.process.ProcessState.ExitCode(), string(said))
			return
		}
		// 2 would be a fault of the configuration. There is no NATS server here.
		require.Equal(r.t, 1, r.process.ProcessState.ExitCode(), string(said))
		return
	}
	admin := "http://" + await(r.t, lines, r.container.Name, "admin_addr")
	require.Equal(r.t, http.StatusOK, get(r.t, admin+r.container.StartupProbe.HTTPGet.Path))
	require.Equal(r.t, http.StatusOK, get(r.t, admin+r.container.LivenessProbe.HTTPGet.Path))
	switch {
	case r.container.Name == "console":
		require.Equal(r.t, http.StatusOK, get(r.t, admin+r.container.ReadinessProbe.HTTPGet.Path))
		r.requireLocked("http://" + r.console)
	case r.container.Name == "ingest" && len(r.objects.statefulSets) > 0:
		listen := await(r.t, lines, r.container.Name, "listen_addr")
		require.Equal(r.t, http.StatusOK, get(r.t, admin+r.container.ReadinessProbe.HTTPGet.Path))
		for _, path := range r.objects.ingresses[0].Spec.Rules[0].HTTP.Paths {
			answer, err := http.Post("http://"+listen+path.Path, "application/json", strings.NewReader("{}"))
			require.NoError(r.t, err)
			require.NoError(r.t, answer.Body.Close())
			require.Equal(r.t, http.StatusUnauthorized, answer.StatusCode, path.Path)
		}
	default:
		// There is neither a NATS server nor a database here.
		require.Equal(r.t, http.StatusServiceUnavailable, get(r.t, admin+r.container.ReadinessProbe.HTTPGet.Path))
	}
	r.end(output)
}

// end stops the program as Kubernetes does.
func (r *running) end(output io.Reader) {
	grace := time.Duration(*r.spec.TerminationGracePeriodSeconds) * time.Second
	if hook := r.container.Lifecycle; hook != nil {
		grace -= time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
	}
	kill := time.AfterFunc(grace, func() { _ = r.process.Process.Kill() })
	defer kill.Stop()
	require.NoError(r.t, r.process.Process.Signal(syscall.SIGTERM))
	said, _ := io.ReadAll(output)
	require.NoError(r.t, r.process.Wait(), "%s did not end well: %s", r.container.Name, said)
}

// await reads a program's log until a line has the key.
func await(t *testing.T, lines *bufio.Scanner, program, key string) string {
	t.Helper()
	var said strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		line := map[string]any{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		if value, known := line[key].(string); known {
			return value
		}
	}
	require.Fail(t, "the program has ended", "%s: %s", program, &said)
	return ""
}

// environment returns the variables of the container, with its files in a folder of the test and any free port.
func (r *running) environment() (env []string, files string) {
	files = r.t.TempDir()
	for _, mount := range r.container.VolumeMounts {
		r.mount(mount, filepath.Join(files, mount.MountPath))
	}
	for _, variable := range r.container.Env {
		value := variable.Value
		switch {
		case variable.ValueFrom != nil:
			value = "name=value"
		case strings.HasSuffix(variable.Name, "_INGEST_ADDR"): // the program asks there
		case strings.HasSuffix(variable.Name, "_ADDR"):
			value = r.listens(variable)
		case variable.Name == "DATA_DIR":
			value = r.data
		case strings.HasPrefix(value, "/"):
			value = filepath.Join(files, value)
			_, err := os.Stat(value)
			require.NoError(r.t, err)
		}
		env = append(env, variable.Name+"="+value)
	}
	return env, files
}

// listens returns a free address for a variable with an address of all pods.
func (r *running) listens(variable core.EnvVar) string {
	port := map[string]string{
		"ADMIN_ADDR": r.container.Name + "-admin", "LISTEN_ADDR": "deliveries", "CONSOLE_ADDR": "console", "CONSOLE_ADMIN_ADDR": "console-admin",
	}[variable.Name]
	require.Equal(r.t, fmt.Sprintf(":%d", r.objects.ports()[port]), variable.Value)
	if variable.Name != "CONSOLE_ADDR" {
		return "127.0.0.1:0"
	}
	// The console does not say where it listens: its link has CONSOLE_PUBLIC_URL.
	r.console = ports.Free(r.t)
	return r.console
}

// requireLocked: the console shows pages to those who have the token, and to nobody else.
func (r *running) requireLocked(url string) {
	for token, want := range map[string]int{"": http.StatusUnauthorized, "another": http.StatusUnauthorized, secretTexts["consoleToken"]: http.StatusOK} {
		request, err := http.NewRequest(http.MethodGet, url+"/", nil)
		require.NoError(r.t, err)
		request.Header.Set("Accept", "application/json")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(r.t, err)
		require.NoError(r.t, answer.Body.Close())
		require.Equal(r.t, want, answer.StatusCode, "%q", token)
	}
}

// mount makes the files of a volume.
func (r *running) mount(mount core.VolumeMount, folder string) {
	require.NoError(r.t, os.MkdirAll(folder, 0o755))
	for _, volume := range r.spec.Volumes {
		if volume.Name != mount.Name {
			continue
		}
		switch {
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				item := source.Secret.Items[0]
				text := secretTexts[item.Path]
				switch {
				case item.Path == "consoleDatabaseURL":
					text = r.machine.consoleURL(r.t)
				case strings.HasSuffix(item.Path, "Secret") && text == "", strings.HasSuffix(item.Path, "Previous"),
					strings.HasSuffix(item.Path, "APIKey"):
					text = signingSecret
				}
				require.NotEmpty(r.t, text, item.Path)
				require.NoError(r.t, os.WriteFile(filepath.Join(folder, item.Path), []byte(text), 0o440))
			}
		case volume.ConfigMap != nil:
			for _, made := range r.objects.configMaps {
				if made.Name == volume.ConfigMap.Name {
					for name, text := range made.Data {
						require.NoError(r.t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o440))
					}
				}
			}
		}
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	client := http.Client{Timeout: timeout}
	answer, err := client.Get(url)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}
