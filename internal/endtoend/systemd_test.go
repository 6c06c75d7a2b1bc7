package endtoend

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/supervisor"
)

const systemdReady = "READY=1\nSTATUS="

// underSystemd returns a supervisor and the variable that names its socket.
func underSystemd(t *testing.T) (*supervisor.Supervisor, string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	return supervisor.Listen(t, socket), "NOTIFY_SOCKET=" + socket
}

// A named pipe in place of a block holds up the check until somebody opens it.
func TestSystemdSeesHowFarIngestHasCheckedTheLog(t *testing.T) {
	t.Parallel()
	w, _ := setupBlocks(t)
	systemd, socket := underSystemd(t)
	require.NoError(t, os.Rename(w.block(1), filepath.Join(w.dir, "1.blk")))
	require.NoError(t, syscall.Mkfifo(w.block(1), 0o600))
	ingest := testenv.Start(t, "ingest", append(w.env(), socket, "LISTEN_ADDR="+w.listen, "PROVIDER_WEBHOOK_SECRET="+secret, "GOMAXPROCS=2"))
	systemd.Await(t, "STATUS=checking the log before it is opened: 2 of 3 blocks\nEXTEND_TIMEOUT_USEC=600000000")
	pipe, err := os.OpenFile(w.block(1), os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	require.Equal(t, 1, ingest.Exit(t), "an empty block is damage")
	require.NotContains(t, systemd.Await(t, "STOPPING=1"), systemdReady)
	require.Contains(t, systemd.Next(t), "STATUS=the log is not opened, and nothing in it was changed: "+w.block(2))

	require.NoError(t, os.Rename(filepath.Join(w.dir, "1.blk"), w.block(1)))
	w.startIngest(t, socket)
	systemd.Await(t, systemdReady)
	stop(t, w.ingest)
	require.Equal(t, "STOPPING=1", systemd.Next(t))
}

func TestSystemdSeesWhatIsWrongWithTheConfiguration(t *testing.T) {
	t.Parallel()
	for program, variable := range map[string]string{"ingest": "LISTEN_ADDR", "projector": "ADMIN_ADDR"} {
		systemd, socket := underSystemd(t)
		ended := testenv.Start(t, program, []string{socket, variable + "=nonsense", "PROVIDER_WEBHOOK_SECRET=" + secret})
		require.Equal(t, 2, ended.Exit(t))
		require.Equal(t, "STATUS="+variable+`: "nonsense" is not host:port`, systemd.Next(t))
	}
}

func TestSystemdSeesWhatAProjectorWaitsFor(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), database: testenv.Database(t)}
	systemd, socket := underSystemd(t)
	projector := w.startProjector(t, socket)
	for !strings.Contains(systemd.Next(t), "STATUS=not connected to the log") {
	}
	ingest := start(t, w.dir)
	systemd.Await(t, systemdReady)
	stop(t, projector)
	require.Equal(t, "STOPPING=1", systemd.Next(t))
	stop(t, ingest.ingest)
}

// Postgres would tell systemd that it is ready, too.
func TestThePrivatePostgresDoesNotNotifySystemd(t *testing.T) {
	t.Parallel()
	w := setupPrivate(t)
	systemd, socket := underSystemd(t)
	projector := testenv.Start(t, "projector", append(w.env(), socket))
	told := systemd.Await(t, systemdReady)
	stop(t, projector)
	for _, one := range append(told[:len(told)-1], systemd.Await(t, "STOPPING=1")...) {
		require.NotContains(t, one, "READY=1")
	}
}
