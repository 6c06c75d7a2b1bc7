package endtoend

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// What a command says while a part is away. Each ends by itself, long before wait.Timeout.

// readers are the commands of projector that need log and database.
func readers(t *testing.T) [][]string {
	return [][]string{
		{"verify"},
		{"settle"},
		{"rebuild"},
		{"rebuild", "--dry-run"},
		{"promote", "portal_next"},
		{"adopt-log"},
		{"quarantine", "retry", "1"},
		{"export", "--as-of", "1", filepath.Join(t.TempDir(), "export")},
	}
}

func TestWithoutALogEachCommandEndsAndNamesItsPlace(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 200))
	w.awaitProjected(t)
	stop(t, p)
	stop(t, w.ingest)
	env := []string{"DATA_DIR=" + w.dir, "DATABASE_URL=" + w.database, "ARCHIVE_URL=" + filepath.Join(w.dir, "archive")}
	said := "is ingest running on DATA_DIR " + w.dir
	requireAway(t, said, "ingest", env, []string{"archive", "--heal"})
	requireAway(t, said, "projector", env, readers(t)...)

	wrong, nowhere := filepath.Join(w.dir, "wrong"), ports.Free(t)
	requireAway(t, "is ingest running on DATA_DIR "+wrong, "projector", append(env, "DATA_DIR="+wrong), []string{"rebuild"})
	requireAway(t, "is the server of NATS_URL running at nats://"+nowhere, "projector", append(env, "NATS_URL=nats://u:hidden@"+nowhere), []string{"rebuild"})
}

// requireAway runs commands at once. Each must say this and end with 1, and must not wait for a part that is slow.
func requireAway(t *testing.T, said, program string, env []string, commands ...[]string) {
	t.Helper()
	var running []*testenv.Program
	for _, args := range commands {
		running = append(running, testenv.Start(t, program, env, args...))
	}
	for i, p := range running {
		require.Equal(t, 1, p.Exit(t), "%s: %s", commands[i], p.Output())
		require.Contains(t, p.Output(), said, commands[i])
		require.NotContains(t, p.Output(), "does not answer yet", commands[i])
		require.NotContains(t, p.Output(), "hidden", commands[i])
	}
}

func TestARebuildInAWrongDataDirectoryMakesNoDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	requireAway(t, "is ingest running on DATA_DIR "+dir, "projector", []string{"DATA_DIR=" + dir}, []string{"rebuild"})
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, made)
}

// A projector that waits for the log has no lease, so the database does not show it.
func TestWithoutTheLogStatusDoesNotSayThatNoProjectorRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 200))
	w.awaitProjected(t)
	require.NotContains(t, w.runWithExit(t, 0, "status"), "none works on the tables")
	stop(t, w.ingest)
	p.WaitFor(t, "the projector waits and tries again")
	said := w.runWithExit(t, 0, "status")
	require.Contains(t, said, "whether one runs and waits is not known")
	require.NotContains(t, said, "start one")
}

func TestEveryCommandNamesAPooler(t *testing.T) {
	t.Parallel()
	w := setup(t)
	dsn := refusingPooler(t)
	requireAway(t, "the database is behind a connection pooler; DATABASE_URL must name Postgres itself", "projector",
		append(w.env(), "DATABASE_URL="+dsn), append(readers(t),
			[]string{"status"},
			[]string{"explain", "evt_1"},
			[]string{"invitations", "list"},
			[]string{"drop", "portal_old"},
			[]string{"export", filepath.Join(t.TempDir(), "export")},
			[]string{"console", "--console-addr", "127.0.0.1:0"})...)
	run := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+dsn))
	require.Contains(t, run.WaitFor(t, "the inviter waits and tries again"), "the database is behind a connection pooler")
	require.Contains(t, run.WaitFor(t, "the projector waits and tries again"), "the database is behind a connection pooler")
}

// refusingPooler is a server that refuses parameters as PgBouncer does with its default settings.
func refusingPooler(t *testing.T) (dsn string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
	})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			client := pgproto3.NewBackend(conn, conn)
			if _, err := client.ReceiveStartupMessage(); err == nil {
				client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: search_path"})
				_ = client.Flush()
			}
			_ = conn.Close()
		}
	}()
	return "postgres://app:hidden@" + listener.Addr().String() + "/payfold?sslmode=disable"
}
