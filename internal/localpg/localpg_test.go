package localpg

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/sqlstate"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestRowsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	_, err := DSN(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)

	first := start(t, dir)
	dsn := first.dsn(t)
	execute(t, dsn, "create schema portal", "create table note (body text)", "insert into note values ('kept')")
	require.NoError(t, first.stop())

	link := dir + "-link"
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.Remove(dsnPath(dir))) // so that the one of the first start is not read
	second := start(t, link)
	require.Equal(t, dsn, second.dsn(t), "the connection string is stable, whatever path leads to the folder")
	require.Equal(t, "kept", query[string](t, dsn, "select body from portal.note"))
}

func TestServerIsSetUpAsDocumented(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	dsn := start(t, dir).dsn(t)
	for setting, want := range map[string]string{
		"search_path": "portal", "timezone": "UTC", "listen_addresses": "", "server_encoding": "UTF8",
		"max_connections": "100", "data_checksums": "on", "fsync": "off", "jit": "off",
	} {
		require.Equal(t, want, query[string](t, dsn, "select current_setting('"+setting+"')"), setting)
	}
	require.Equal(t, "payfold/payfold/C", query[string](t, dsn,
		"select current_user || '/' || datname || '/' || datcollate from pg_database where datname = current_database()"))
	require.NotContains(t, query[string](t, dsn, "select string_agg(auth_method, ',') from pg_hba_file_rules"), "trust")
	cluster := filepath.Join(dir, "postgres")
	require.DirExists(t, cluster, "a reachable folder holds its own cluster")
	group, err := syscall.Getpgid(namedPostmaster(t, cluster))
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group, "Ctrl-C does not reach it")
	execute(t, dsn, "create table public.variable (text text)", "copy public.variable from program 'env'")
	require.Zero(t, query[int](t, dsn, "select count(*) from public.variable where text like 'HOME=%'"), "it does not get the variables of its owner, which may be secrets")
}

func TestConnectionStringIsForItsOwnerAndForPsql(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	dsn := start(t, dir).dsn(t)
	for _, name := range []string{"postgres.dsn", "postgres.password", "postgres.log"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode(), name)
	}
	binaries, err := Binaries()
	require.NoError(t, err)
	script := `"$1"/psql -XAtc 'show search_path' "$(cat "$2"/postgres.dsn)"`
	output, err := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", binaries, dir).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, "portal", strings.TrimSpace(string(output)))

	password, err := os.ReadFile(filepath.Join(dir, "postgres.password"))
	require.NoError(t, err)
	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	require.NoError(t, err)
	require.NotContains(t, string(log), strings.TrimSpace(string(password)))

	wrong := strings.Replace(dsn, "payfold:", "payfold:x", 1)
	output, err = exec.CommandContext(t.Context(), filepath.Join(binaries, "psql"), "-XAtc", "select 1", wrong).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "password authentication failed")
}

func TestWaitingServerTakesOver(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	first := start(t, dir)
	dsn := first.dsn(t)
	execute(t, dsn, "create table public.note (body text)", "insert into public.note values ('kept')")
	began := query[time.Time](t, dsn, "select pg_postmaster_start_time()")

	second := start(t, dir)
	require.Equal(t, dsn, second.dsn(t), "who waits can use the server of the owner")
	require.Equal(t, began, query[time.Time](t, dsn, "select pg_postmaster_start_time()"))

	require.NoError(t, first.stop())
	second.dsn(t)
	require.Equal(t, "kept", query[string](t, dsn, "select body from public.note"))
	require.True(t, query[time.Time](t, dsn, "select pg_postmaster_start_time()").After(began))
}

func TestKilledPostmasterComesBack(t *testing.T) {
	t.Parallel()
	server := run(t, Config{Dir: dataDir(t, 0o755), Durable: true})
	dsn := server.dsn(t)
	execute(t, dsn, "create table public.note (body text)", "insert into public.note values ('kept')")
	require.Equal(t, "on, on, on", query[string](t, dsn, "select concat_ws(', ', current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'))"))
	pid := namedPostmaster(t, query[string](t, dsn, "show data_directory"))

	bystander := open(t, dsn)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	_, err := bystander.Exec(t.Context(), "select pg_sleep(60)") // ends with the old server
	require.Error(t, err)

	server.dsn(t)
	require.Equal(t, "kept", query[string](t, dsn, "select body from public.note"))
}

func TestAFrozenPostmasterIsStopped(t *testing.T) {
	t.Parallel()
	server := start(t, dataDir(t, 0o755))
	postmaster := namedPostmaster(t, query[string](t, server.dsn(t), "show data_directory"))
	require.NoError(t, syscall.Kill(postmaster, syscall.SIGSTOP))
	stopped := make(chan error, 1)
	go func() { stopped <- server.stop() }()
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(wait.Timeout):
		require.NoError(t, syscall.Kill(postmaster, syscall.SIGKILL))
		t.Fatal("it waits for a postmaster that does not run")
	}
}

func TestKilledOwnerLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	owner := startOwner(t, dir)
	dsn := running{Server: New(Config{Dir: dir})}.dsn(t)
	execute(t, dsn, "create table public.note (body text)", "insert into public.note values ('kept')")
	cluster := query[string](t, dsn, "show data_directory")
	idle := open(t, dsn) // a connection does not keep the server
	require.NoError(t, idle.Ping(t.Context()))
	require.NotZero(t, namedPostmaster(t, cluster))

	kill(t, owner)
	if orphansStop {
		wait.Until(t, func() bool { return namedPostmaster(t, cluster) == 0 })
	}
	heir := start(t, dir)
	require.Equal(t, dsn, heir.dsn(t))
	require.Equal(t, "kept", query[string](t, dsn, "select body from public.note"))
}

func TestKilledOwnerIsSucceededAtOnce(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	owner := startOwner(t, dir)
	dsn := running{Server: New(Config{Dir: dir})}.dsn(t)
	began := query[time.Time](t, dsn, "select pg_postmaster_start_time()")

	heir := start(t, dir)
	kill(t, owner)
	wait.Until(t, func() bool {
		return query[time.Time](t, heir.dsn(t), "select pg_postmaster_start_time()").After(began)
	})
}

func TestTheReaderChangesNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	first := start(t, dir)
	execute(t, first.dsn(t), "create schema portal", "create table note (body text)", "insert into note values ('kept')")
	reader, err := ReaderDSN(dir)
	require.NoError(t, err)
	require.Equal(t, "payfold_console kept", query[string](t, reader, "select current_user || ' ' || body from portal.note"))
	require.Equal(t, "25006", sqlstate.Of(attempt(t, reader, "create temporary table mine ()")), "its transactions only read")
	for _, change := range []string{"insert into portal.note values ('x')", "delete from portal.note", "create schema mine", "create role other"} {
		require.ErrorContains(t, attempt(t, reader, "set transaction read write; "+change), "permission denied", change)
	}
	info, err := os.Stat(filepath.Join(dir, "postgres.console.dsn"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())

	require.NoError(t, first.stop())
	require.NoError(t, os.Remove(dsnPath(dir))) // a start writes it after the reader's
	start(t, dir).dsn(t)
	again, err := ReaderDSN(dir)
	require.NoError(t, err)
	require.Equal(t, reader, again, "a console goes on after a restart")
}

// The password becomes a part of a statement, so a file that somebody edited is refused.
func TestAReaderWithAForeignPasswordIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	startAndStop(t, dir)
	file := filepath.Join(dir, "postgres.console.dsn")
	require.NoError(t, os.WriteFile(file, []byte("postgres://payfold_console:it's@/payfold\n"), 0o600))
	require.ErrorContains(t, New(Config{Dir: dir}).Run(t.Context()), "remove the file")

	require.NoError(t, os.Remove(file))
	again := start(t, dir)
	again.dsn(t) // postgres.dsn is there since the first start, the file comes later
	wait.Until(t, func() bool { _, err := os.Stat(file); return err == nil }, "the reader's connection string")
	reader, err := ReaderDSN(dir)
	require.NoError(t, err)
	require.Equal(t, "payfold_console", query[string](t, reader, "select current_user"))
}

func TestTheServersLogGoesOnUntilItIsLarge(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	file := filepath.Join(dir, "postgres.log")
	require.NoError(t, os.WriteFile(file, []byte("of an earlier server\n"), 0o600))
	startAndStop(t, dir)
	log, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(log), "of an earlier server\n")

	require.NoError(t, os.Truncate(file, 100<<20))
	start(t, dir).dsn(t)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20))
}

// attempt returns the error of statements in one transaction.
func attempt(t *testing.T, dsn, statements string) error {
	t.Helper()
	return connect(t.Context(), dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), statements)
		return err
	})
}
