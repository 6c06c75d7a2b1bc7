//go:build linux

package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Pair is a primary of a test's own and its synchronous standby: a commit is confirmed after the standby has it.
type Pair struct {
	primary, standby *pgx.ConnConfig
	data             string // folder of the primary
}

// SynchronousPair adds a standby to the server of PrimaryPostgres.
func SynchronousPair(t testing.TB, primary string) *Pair {
	t.Helper()
	config, err := pgx.ParseConfig(primary)
	require.NoError(t, err)
	p := &Pair{primary: config, standby: config.Copy()}
	p.data = ask[string](t, p.primary, "show data_directory")
	dir, err := os.MkdirTemp("", "payfold-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p.standby.Host = dir // of its socket
	var as syscall.Stat_t
	require.NoError(t, syscall.Stat(p.data, &as))
	run := func(program string, args ...string) *exec.Cmd {
		command := exec.Command(filepath.Join(os.Getenv("PG_BIN"), program), args...)
		command.Dir, command.Env = dir, []string{"LC_ALL=C", "TZ=UTC", "PGPASSWORD=" + config.Password}
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(dir, int(as.Uid), int(as.Gid)))
			command.SysProcAttr.Credential = &syscall.Credential{Uid: as.Uid, Gid: as.Gid}
		}
		return command
	}
	data := filepath.Join(dir, "data")
	out, err := run("pg_basebackup", "-h", config.Host, "-p", fmt.Sprint(config.Port), "-U", config.User, "-D", data,
		"-X", "fetch", "-c", "fast", "-R", "-w").CombinedOutput()
	require.NoError(t, err, string(out))
	server := run("postgres", "-D", data, "-c", "listen_addresses=", "-c", fmt.Sprint("port=", config.Port),
		"-c", "unix_socket_directories="+dir, "-c", "cluster_name=standby", "-c", "fsync=off")
	server.Stdout, server.Stderr = t.Output(), t.Output()
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the death of the thread that forks is the signal
		defer runtime.UnlockOSThread()
		err := server.Start()
		if started <- err; err == nil {
			_ = server.Wait()
		}
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		<-ended
	})
	connection, err := pgx.ConnectConfig(t.Context(), p.primary)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	for _, sql := range []string{"alter system set synchronous_standby_names = 'standby'", "select pg_reload_conf()"} {
		_, err := connection.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	wait.Until(t, func() bool {
		return ask[string](t, p.primary, "select coalesce(string_agg(sync_state, ' '), '') from pg_stat_replication") == "sync"
	}, "the standby does not follow")
	return p
}

// DSN names both servers, of which the one counts that takes writes.
func (p *Pair) DSN() string {
	return fmt.Sprintf("host=%s,%s port=%d,%d user=%s password=%s dbname=%s target_session_attrs=read-write",
		p.primary.Host, p.standby.Host, p.primary.Port, p.standby.Port, p.primary.User, p.primary.Password, p.primary.Database)
}

// Standby names the second server, which takes reads, and writes once it was promoted.
func (p *Pair) Standby() string {
	return fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s",
		p.standby.Host, p.standby.Port, p.standby.User, p.standby.Password, p.standby.Database)
}

// FailOver kills all processes of the primary at once, keeps it from starting again, and promotes the standby.
func (p *Pair) FailOver(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, os.Rename(p.data, p.data+".dead"))
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP)) // it must not end what dies below in another way
	children, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(pid)).Output()
	require.NoError(t, err)
	for _, child := range strings.Fields(string(children)) {
		number, err := strconv.Atoi(child)
		require.NoError(t, err)
		_ = syscall.Kill(number, syscall.SIGKILL) // it may have ended
	}
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.True(t, ask[bool](t, p.standby, fmt.Sprintf("select pg_promote(true, %.0f)", wait.Timeout.Seconds())))
}

func ask[T any](t testing.TB, server *pgx.ConnConfig, sql string) (answer T) {
	t.Helper()
	connection, err := pgx.ConnectConfig(context.Background(), server)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	require.NoError(t, connection.QueryRow(context.Background(), sql).Scan(&answer))
	return answer
}
