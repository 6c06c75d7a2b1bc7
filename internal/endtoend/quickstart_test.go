package endtoend

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// TestTheQuickStartOfTheReadmeWorks copies the sources, as git clone does, and runs the
// README's commands with other ports.
func TestTheQuickStartOfTheReadmeWorks(t *testing.T) {
	t.Parallel()
	dir := copySources(t)
	commands := shellBlocks(t, filepath.Join(dir, "README.md"))
	require.Equal(t, "make run\n", commands[0])

	// No timeout: without a build cache this takes long.
	shell(t, dir, "make build")
	listen, ingestAdmin, projectorAdmin, console := ports.Free(t), ports.Free(t), ports.Free(t), ports.Free(t)
	creem := payapi.New(t, "creem") // without a tunnel, its events come by pulls
	makeRun := exec.Command("make", "run")
	makeRun.Dir = dir
	running := testenv.StartCommand(t, makeRun, append(withoutPayfold(os.Environ()),
		"LISTEN_ADDR="+listen, "INGEST_ADMIN_ADDR="+ingestAdmin, "PROJECTOR_ADMIN_ADDR="+projectorAdmin, "CONSOLE_ADDR="+console,
		"CREEM_API_KEY="+payapi.Key, "CREEM_API_URL="+creem.URL, "CREEM_WEBHOOK_ID="+payapi.WebhookID, "PULL_INTERVAL=1s"))
	running.WaitFor(t, "payfold is running")
	require.Contains(t, running.Output(), "PROVIDER_WEBHOOK_SECRET=whsec_local_development bin/ingest send")
	for _, admin := range []string{ingestAdmin, projectorAdmin} {
		wait.Until(t, func() bool { return statusOf(t, "http://"+admin+"/readyz") == http.StatusOK })
	}

	address := "http://" + listen + "/api/payments/provider/webhook"
	otherPorts := strings.NewReplacer("ingest send", "ingest send --url "+address, "http://127.0.0.1:8080/api/payments/provider/webhook", address)
	first := shell(t, dir, otherPorts.Replace(commands[1]))
	require.Contains(t, first, `200 {"status":"accepted","id":"evt_first_1"}`)
	second := shell(t, dir, "PROVIDER_WEBHOOK_SECRET=whsec_local_development\n"+otherPorts.Replace(commands[2]))
	require.Contains(t, second, `{"status":"accepted","id":"evt_first_2"}`)
	database := dsnOf(t, filepath.Join(dir, "data"))
	t.Cleanup(func() { removePrivate(t, filepath.Join(dir, "data")) })
	wait.Until(t, func() bool {
		balance, err := query[int64](t, database, "select balance from credits where user_id = 'u_1'")
		return err == nil && balance == 250
	})

	require.Contains(t, shell(t, dir, commands[3]), "evt_first_1: applied")

	bought := payapi.Dialects["creem"].Payment(9, 500, time.Now().Add(-time.Minute))
	bought.Events[0].Object["metadata"] = map[string]any{"user_id": "u_9", "product_key": "pack_50"}
	happened(t, creem, "whsec_local_development", bought)
	wait.Until(t, func() bool {
		balance, err := query[int64](t, database, "select balance from credits where user_id = 'u_9'")
		return err == nil && balance == 50
	})

	link := regexp.MustCompile(`http://` + regexp.QuoteMeta(console) + `/\?token=\S+`).FindString(running.Output())
	require.Contains(t, follow(t, link, "/events/evt_first_1"), "It granted 200 credits.", "the link that is printed opens the console")

	demo := regexp.MustCompile(`make demo .*`).FindString(running.Output())
	require.Contains(t, shell(t, dir, demo), "\nWhat its ")
	require.Contains(t, follow(t, link, "/users/u_ortega"), "price_studio_month")

	running.SignalGroup(syscall.SIGINT) // Ctrl-C
	running.Exit(t)
	require.NotContains(t, running.Output(), "level=WARN", "a first start and an orderly stop are no reason to worry")
	for _, name := range []string{"ingest", "projector", "console"} {
		require.Regexp(t, "(?m)^"+name+" +time=", running.Output())
	}
	for _, address := range []string{listen, ingestAdmin, projectorAdmin, console} {
		_, err := net.Dial("tcp", address)
		require.Error(t, err, "no process is left")
	}
	_, err := query[int](t, database, "select 1")
	require.Error(t, err, "no process is left")
}

// A shop that has set the secrets of other providers is told their paths, and the command that is printed works.
func TestMakeRunPrintsThePathsThatAreServed(t *testing.T) {
	t.Parallel()
	dir := copySources(t)
	require.NoError(t, os.Symlink(filepath.Dir(testenv.Binary(t, "ingest")), filepath.Join(dir, "bin"))) // as make build
	listen, catalogue := ports.Free(t), filepath.Join(dir, "shop.yaml")
	require.NoError(t, os.WriteFile(catalogue, []byte("version: 1\nproducts:\n  other: {kind: pro}\n"), 0o600))
	running := testenv.StartCommand(t, exec.Command(filepath.Join(dir, "deploy", "run.sh")), append(withoutPayfold(os.Environ()),
		"CATALOGUE_FILE="+catalogue, "DATA_DIR="+filepath.Join(dir, "data"), "LISTEN_ADDR="+listen, "INGEST_ADMIN_ADDR="+ports.Free(t),
		"PROJECTOR_ADMIN_ADDR="+ports.Free(t), "DATABASE_URL="+testenv.Database(t),
		"STRIPE_WEBHOOK_SECRET="+secret, "CREEM_WEBHOOK_SECRET="+secret, "GITHUB_WEBHOOK_SECRET="+secret))
	running.WaitFor(t, "from processed_event")
	require.Contains(t, running.Output(), "rejected as unknown_product, unless "+catalogue+" has its product")
	served := regexp.MustCompile(`deliveries     POST (\S+)`).FindAllStringSubmatch(running.Output(), -1)
	require.Len(t, served, 2)
	for i, name := range []string{"creem", "stripe"} {
		require.Equal(t, "http://"+listen+"/api/payments/"+name+"/webhook", served[i][1])
	}
	send := regexp.MustCompile(`bin/ingest send .*`).FindString(running.Output())
	require.Contains(t, shell(t, dir, "export CREEM_WEBHOOK_SECRET="+secret+"\n"+send), `200 {"status":"accepted"`)
	running.SignalGroup(syscall.SIGINT)
	running.Exit(t)
}

// follow opens a link as a browser does, then a page, and returns its text.
func follow(t *testing.T, link, path string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Jar: jar}
	opened, err := url.Parse(link)
	require.NoError(t, err)
	var text []byte
	for _, address := range []string{link, opened.Scheme + "://" + opened.Host + path} {
		answer, err := browser.Get(address)
		require.NoError(t, err)
		text, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		require.NoError(t, err)
	}
	return string(text)
}

// copySources copies the files in git, and those that git would add.
func copySources(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "payfold-clone-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // the user of the private Postgres must enter it
	root := filepath.Join("..", "..")
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	require.NoError(t, err)
	for file := range bytes.SplitSeq(bytes.TrimRight(files, "\x00"), []byte{0}) {
		from, to := filepath.Join(root, string(file)), filepath.Join(dir, string(file))
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, content, info.Mode().Perm()))
	}
	return dir
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

func shellBlocks(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var blocks []string
	for _, match := range shellBlock.FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(match[1]))
	}
	require.GreaterOrEqual(t, len(blocks), 2)
	return blocks
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	command := exec.Command("bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = dir, withoutPayfold(os.Environ())
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, output)
	return string(output)
}

// withoutPayfold removes variables that would change what the commands do.
func withoutPayfold(environment []string) []string {
	var out []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "DATA_DIR", "DATABASE_URL", "NATS_URL", "PORT", "PROVIDER_WEBHOOK_SECRET", "PROVIDER_WEBHOOK_SECRET_FILE", "MAKEFLAGS", "MAKELEVEL":
		default:
			out = append(out, entry)
		}
	}
	return out
}
