//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Postgres is a machine with one of the two servers.
type Postgres struct {
	*Machine
	cluster *Cluster
}

// inOwnFolders gives the server a folder for its data and one for its socket. The disks of other machines are not
// mounted there: a disk whose power was cut is unmounted everywhere.
const inOwnFolders = `
	umount --all --lazy --types fuse.powercut
	mount --bind "$1" /var/lib/postgresql
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	cd /
	exec setpriv --reuid=postgres --regid=postgres --init-groups sh /etc/payfold/postgres.sh "$2" "$3"`

// Start starts the server as its container does: without data, it clones the other server if that
// takes writes.
func (p *Postgres) Start(t testing.TB) {
	t.Helper()
	data := filepath.Join(p.folder(), "data")
	require.NoError(t, os.MkdirAll(data, 0o755))
	run(t, "chown", "-R", "postgres:postgres", p.folder())
	path := os.Getenv("PG_BIN") + ":" + os.Getenv("PATH")
	p.start(t, []string{"PATH=" + path, "PGHOST=/tmp", "PGUSER=postgres", "HOME=/tmp"},
		"unshare", "--mount", "sh", "-euc", inOwnFolders, "sh", p.folder(), p.Name, p.peer().Name)
}

func (p *Postgres) folder() string { return filepath.Join(p.cluster.files, p.Name) }

func (p *Postgres) peer() *Postgres {
	if p.cluster.Postgres[0] == p {
		return p.cluster.Postgres[1]
	}
	return p.cluster.Postgres[0]
}

// Query runs a statement as the server's administrator.
func (p *Postgres) Query(database, sql string) (string, error) {
	out, err := output("nsenter", "--target", strconv.Itoa(p.Pid()), "--mount", "--net", "--",
		"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
		filepath.Join(os.Getenv("PG_BIN"), "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", "/tmp", "-d", database, "-c", sql)
	return strings.TrimSpace(out), err
}

// Await waits until a statement returns a text.
func (p *Postgres) Await(t testing.TB, database, sql, want string) {
	t.Helper()
	var got string
	var err error
	wait.Until(t, func() bool {
		got, err = p.Query(database, sql)
		return err == nil && got == want
	}, "%s: %s is not %s", p.Name, sql, want)
}

// AwaitStandby waits until the other server is a standby that follows this one. It also asks the other
// server, because a clone in progress has a stream as well.
func (p *Postgres) AwaitStandby(t testing.TB) {
	t.Helper()
	p.peer().Await(t, "postgres", "select pg_is_in_recovery()", "t")
	p.Await(t, "postgres", "select count(*) from pg_stat_replication where state = 'streaming'", "1")
}

// KillAll ends the server with all its processes, as the end of its machine does.
func (p *Postgres) KillAll(t testing.TB) {
	t.Helper()
	pid := strconv.Itoa(p.Pid())
	children, err := output("ps", "-o", "pid=", "--ppid", pid)
	require.NoError(t, err)
	p.Kill()
	for _, child := range strings.Fields(children) {
		_, _ = output("kill", "-KILL", child) // most have ended with their parent
	}
}

// Promote makes the standby take writes.
func (p *Postgres) Promote(t testing.TB) {
	t.Helper()
	answer, err := p.Query("postgres", fmt.Sprintf("select pg_promote(true, %.0f)", wait.Timeout.Seconds()))
	require.NoError(t, err, answer)
	require.Equal(t, "t", answer)
}

// Replace starts a stopped server again, without its data. It becomes the standby of the other server.
func (p *Postgres) Replace(t testing.TB) {
	t.Helper()
	require.NoError(t, os.RemoveAll(p.folder()))
	p.Start(t)
	p.peer().AwaitStandby(t)
}

// Primary returns the server that takes writes.
func (c *Cluster) Primary(t testing.TB) (primary *Postgres) {
	t.Helper()
	wait.Until(t, func() bool {
		for _, server := range c.Postgres {
			if answer, err := server.Query("postgres", "select pg_is_in_recovery()"); err == nil && answer == "f" {
				primary = server
				return true
			}
		}
		return false
	}, "no Postgres takes writes")
	return primary
}

// Standby returns the server that is not the primary.
func (c *Cluster) Standby(t testing.TB) *Postgres {
	t.Helper()
	return c.Primary(t).peer()
}
