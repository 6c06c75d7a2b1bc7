//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// Cluster is the machines and the files that they share.
type Cluster struct {
	NATS       []*NATS
	Alone      *NATS // a server that is not in the cluster, for comparison
	Postgres   []*Postgres
	Ingests    []*Machine
	Projectors []*Machine
	GitHub     *testenv.GitHub // where projectors invite

	files string // of run.sh
}

// bridge is the test's address in the network of the machines; see in-namespaces.sh.
const bridge = "10.77.0.1"

// New makes the machines, on which nothing runs yet.
func New(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{files: os.Getenv("CLUSTER_FILES")}
	require.NotEmpty(t, c.files, "internal/testenv/cluster/run.sh runs this test")
	c.GitHub = testenv.NewGitHubAt(t, bridge+":0", time.Now)
	c.placeFiles(t)
	for i := range 3 {
		c.NATS = append(c.NATS, &NATS{Machine: newMachine(t, fmt.Sprintf("nats-%d", i+1), 11+i), cluster: c, Version: Newer})
	}
	c.Alone = &NATS{Machine: newMachine(t, alone, 14), cluster: c, Version: Newer}
	for i := range 2 {
		c.Postgres = append(c.Postgres, &Postgres{Machine: newMachine(t, fmt.Sprintf("postgres-%d", i+1), 21+i), cluster: c})
		c.Ingests = append(c.Ingests, newMachine(t, fmt.Sprintf("ingest-%d", i+1), 31+i))
		c.Projectors = append(c.Projectors, newMachine(t, fmt.Sprintf("projector-%d", i+1), 41+i))
	}
	c.nameHosts(t)
	return c
}

// Start starts three NATS servers, with the older version, and two Postgres servers, makes the stream,
// and starts two ingests and two projectors.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c := New(t)
	for _, server := range c.NATS {
		server.Version = Older
	}
	c.start(t)
	return c
}

// StartOnDisks is Start with the newer version of NATS, whose stores are on disks that forget what was not synced. The
// servers sync at syncInterval; if it is empty, as they are deployed.
func StartOnDisks(t testing.TB, syncInterval string) *Cluster {
	t.Helper()
	c := New(t)
	if syncInterval != "" {
		setSyncInterval(t, syncInterval)
	}
	for _, server := range c.NATS {
		server.mount(t, newDisk())
	}
	c.start(t)
	return c
}

func (c *Cluster) start(t testing.TB) {
	t.Helper()
	for _, server := range c.NATS {
		server.Start(t)
	}
	for _, server := range c.Postgres {
		server.Start(t)
	}
	c.Postgres[0].AwaitStandby(t)
	c.CreateStream(t, c.URL(t, "admin"))
	c.AwaitWhole(t)
	for _, m := range c.Ingests {
		c.StartIngest(t, m)
	}
	for _, m := range c.Projectors {
		c.StartProjector(t, m)
	}
}

// placeFiles puts the files of deploy where the containers of deploy/compose.yaml have them.
func (c *Cluster) placeFiles(t testing.TB) {
	t.Helper()
	deploy := filepath.Join(c.files, "deploy")
	secrets := filepath.Join(deploy, "secrets")
	require.NoError(t, os.MkdirAll(secrets, 0o755))
	makeCertificates(t, secrets)
	run(t, filepath.Join(deploy, "stack/secrets.sh"))
	made, err := os.Stat(secrets)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, made.Mode().Perm(), "the files in it are readable to all")
	require.NoError(t, os.Chmod(secrets, 0o755)) // a container has the files without this folder
	require.NoError(t, os.MkdirAll("/run/secrets", 0o755))
	require.NoError(t, syscall.Mount(secrets, "/run/secrets", "", syscall.MS_BIND, ""))
	for _, place := range []struct{ from, to string }{
		{"nats/.", "/etc/nats/"},
		{"stack/tls.conf", "/etc/nats/"},
		{"stack/ingest.conf", "/etc/nats/"},
		{"stack/nats.sh", "/etc/nats/"},
		{"postgres/.", "/etc/payfold/"},
		{"stack/pg_hba.conf", "/etc/payfold/"},
		{"stack/postgres.sh", "/etc/payfold/"},
		{"secrets/ca.pem", "/etc/ssl/payfold/"},
	} {
		require.NoError(t, os.MkdirAll(place.to, 0o755))
		run(t, "cp", "-r", deploy+"/"+place.from, place.to)
	}
}

// nameHosts makes the machines known by their names.
func (c *Cluster) nameHosts(t testing.TB) {
	t.Helper()
	hosts := &strings.Builder{}
	fmt.Fprintln(hosts, "127.0.0.1 localhost")
	for _, m := range c.machines() {
		fmt.Fprintln(hosts, m.Address, m.Name)
	}
	require.NoError(t, os.WriteFile("/etc/hosts", []byte(hosts.String()), 0o644))
}

func (c *Cluster) machines() []*Machine {
	all := append(append([]*Machine{}, c.Ingests...), c.Projectors...)
	for _, server := range append([]*NATS{c.Alone}, c.NATS...) {
		all = append(all, server.Machine)
	}
	for _, server := range c.Postgres {
		all = append(all, server.Machine)
	}
	return all
}

// Secret returns what stack/secrets.sh has made.
func (c *Cluster) Secret(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("/run/secrets/" + name)
	require.NoError(t, err)
	return string(text)
}

// Settings are the variables of every program, as deploy/compose.yaml has them.
func (c *Cluster) Settings() []string {
	return []string{
		"SSL_CERT_DIR=/etc/ssl/payfold", "PROVIDER_WEBHOOK_SECRET_FILE=/run/secrets/webhook_secret",
		"ARCHIVE_URL=" + filepath.Join(c.files, "archive"), "DATA_DIR=" + filepath.Join(c.files, "data"),
	}
}

// Binary returns the path of a program.
func (c *Cluster) Binary(program string) string { return filepath.Join(c.files, "bin", program) }

// StartIngest returns when the machine's ingest receives deliveries, at port 8080.
func (c *Cluster) StartIngest(t testing.TB, m *Machine) {
	t.Helper()
	m.start(t, append(c.Settings(), "NATS_URL_FILE=/run/secrets/nats_ingest_url",
		"LISTEN_ADDR=0.0.0.0:8080", "ADMIN_ADDR=0.0.0.0:8081", "ARCHIVE_INTERVAL=1s"), c.Binary("ingest"))
	m.WaitFor(t, `msg="receiving deliveries"`)
}

// StartProjector starts the machine's projector.
func (c *Cluster) StartProjector(t testing.TB, m *Machine) {
	t.Helper()
	m.start(t, append(c.ReaderSettings(), "ADMIN_ADDR=0.0.0.0:8081", "LEASE_TIME=3s", "BATCH_SIZE=50",
		"INVITE_GITHUB_API_URL="+c.GitHub.URL, "INVITE_REPOSITORY="+testenv.GitHubRepository,
		"INVITE_GITHUB_TOKEN="+testenv.GitHubToken, "INVITES_PER_DAY=10000"), c.Binary("projector"))
}

// ReaderSettings are the variables of projector and its commands.
func (c *Cluster) ReaderSettings() []string {
	return append(c.Settings(), "NATS_URL_FILE=/run/secrets/nats_projector_url", "DATABASE_URL_FILE=/run/secrets/database_url")
}
