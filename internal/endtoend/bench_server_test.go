//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
)

// benchServer is a private PostgreSQL whose commits are durable, on a disk.
type benchServer struct {
	config     *pgx.ConnConfig
	postmaster int // its process id
	databases  int // made so far
}

func startBenchServer(b *testing.B) *benchServer {
	b.Helper()
	var files syscall.Statfs_t
	require.NoError(b, syscall.Statfs(os.TempDir(), &files))
	const tmpfs = 0x01021994
	require.NotEqualValues(b, tmpfs, files.Type, "%s is in memory, where a flush costs nothing; set TMPDIR to a folder on a disk", os.TempDir())
	dsn, postmaster := durablePostgres(b)
	config, err := pgx.ParseConfig(dsn)
	require.NoError(b, err)
	return &benchServer{config: config, postmaster: postmaster}
}

// create creates a database and returns its name. If template is not empty, the database is a copy
// of it.
func (s *benchServer) create(b *testing.B, template string) string {
	b.Helper()
	s.databases++
	name := fmt.Sprintf("bench_%d", s.databases)
	sql := "create database " + name
	if template != "" {
		sql += " template " + template
		if s.value(b, "select (current_setting('server_version_num')::int >= 150000)::text") == "true" {
			sql += " strategy file_copy" // as all earlier versions copy: without writing the copy to the WAL
		}
	}
	s.execute(b, sql)
	return name
}

func (s *benchServer) drop(b *testing.B, name string) {
	b.Helper()
	s.execute(b, "drop database "+name+" with (force)")
}

func (s *benchServer) dsn(name string) string {
	return fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s options='-c search_path=portal'",
		s.config.Host, s.config.Port, s.config.User, s.config.Password, name)
}

// open opens a schema of a database, with the settings of the programs' sessions.
func (s *benchServer) open(b *testing.B, name, schema string) *store.Store {
	b.Helper()
	opened, err := store.Open(b.Context(), store.Config{DSN: s.dsn(name), Schema: schema, Owner: "bench"})
	require.NoError(b, err)
	require.NoError(b, opened.Ping(b.Context()))
	return opened
}

func (s *benchServer) execute(b *testing.B, sql string) {
	b.Helper()
	connection, err := pgx.ConnectConfig(b.Context(), s.config)
	require.NoError(b, err)
	defer connection.Close(context.Background())
	_, err = connection.Exec(b.Context(), sql)
	require.NoError(b, err)
}

func (s *benchServer) value(b *testing.B, sql string) (out string) {
	b.Helper()
	connection, err := pgx.ConnectConfig(b.Context(), s.config)
	require.NoError(b, err)
	defer connection.Close(context.Background())
	require.NoError(b, connection.QueryRow(b.Context(), sql).Scan(&out))
	return out
}

// describe names the version and the settings that can change the figures and differ from
// PostgreSQL's defaults.
func (s *benchServer) describe(b *testing.B) string {
	return s.value(b, `select 'PostgreSQL ' || current_setting('server_version') || ', fsync ' || current_setting('fsync')
		|| ', synchronous_commit ' || current_setting('synchronous_commit')
		|| '; not as by default: ' || string_agg(name || ' ' || current_setting(name), ', ' order by name)
		from pg_settings where source = 'command line' and setting is distinct from boot_val
		and category ~ '^(Resource Usage|Write-Ahead Log|Replication|Query Tuning|Autovacuum)'`)
}

// work has the time and CPU time of some work.
type work struct {
	events                      int
	wall                        time.Duration
	programs, postgres, logTime time.Duration // CPU
	wal                         float64       // bytes that PostgreSQL wrote to its log
}

// measure measures some work of these programs. logServer is the process that sends the log. It
// begins after all earlier writes.
func (s *benchServer) measure(b *testing.B, events, logServer int, programs []int, do func()) work {
	b.Helper()
	s.execute(b, "checkpoint")
	spent := func() (w work) {
		var err error
		w.wal, err = strconv.ParseFloat(s.value(b, "select (pg_current_wal_insert_lsn() - '0/0')::text"), 64)
		require.NoError(b, err)
		for _, pid := range programs {
			w.programs += cpuTime(b, pid, 0)
		}
		w.postgres, w.logTime = cpuTime(b, 0, s.postmaster), cpuTime(b, logServer, 0)
		return w
	}
	before, began := spent(), time.Now()
	do()
	wall, after := time.Since(began), spent()
	return work{
		events, wall, after.programs - before.programs, after.postgres - before.postgres, after.logTime - before.logTime, after.wal - before.wal,
	}
}

func (w work) rate() float64 { return float64(w.events) / w.wall.Seconds() }

// perEvent returns a time divided by the events, in microseconds.
func (w work) perEvent(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(w.events)
}
