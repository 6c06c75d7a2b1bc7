package endtoend

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestTablesAndLogSurviveARestart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)

	stop(t, w.ingest)
	stop(t, projector)
	w.startIngest(t)
	answer, _ := w.deliverForAnswer(t, pack("evt_1", "pay_1", "u_1", 10))
	require.Contains(t, answer, "duplicate", "the log remembers ids across a restart")
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 5))
	w.startProjector(t)
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	require.EqualValues(t, 15, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'"))
}

func TestAProjectorContinuesAfterIngestRestarts(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	projector.WaitFor(t, "msg=projecting")
	for i := range 3 {
		stop(t, w.ingest)
		w.startIngest(t)
		w.deliver(t, pack(fmt.Sprintf("evt_%d", i), fmt.Sprintf("pay_%d", i), "u_1", 1))
		w.awaitProjected(t)
	}
	require.EqualValues(t, 3, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'"))
	stop(t, projector)
}

func TestAProjectorWaitsForTheLog(t *testing.T) {
	t.Parallel()
	w := &world{dir: t.TempDir(), database: testenv.Database(t)}
	projector := w.startProjector(t)
	projector.WaitFor(t, "the projector waits and tries again")
	stop(t, projector)
}

func TestThePrivatePostgresKeepsItsDataAndConnectionString(t *testing.T) {
	t.Parallel()
	w := setupPrivate(t)
	projector := w.startPrivate(t)
	connection := w.database
	require.Equal(t, "on", mustQuery[string](t, w.database, "show fsync"))
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	stop(t, projector)
	wait.Until(t, func() bool {
		_, err := query[int](t, w.database, "select 1")
		return err != nil
	}, "no process is left")

	second := w.startPrivate(t)
	require.Equal(t, connection, w.database)
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 10))
	w.awaitProjected(t)
	require.EqualValues(t, 20, mustQuery[int64](t, w.database, "select balance from credits where user_id = 'u_1'"),
		"the connection string sets the schema")
	stop(t, second)
}

// stop sends SIGTERM and requires exit status 0.
func stop(t *testing.T, program *testenv.Program) {
	t.Helper()
	program.Signal(syscall.SIGTERM)
	require.Zero(t, program.Exit(t), program.Output())
}

// The first one does not end a read of standard input, or of a disk that does not answer.
func TestASecondSignalEndsACommandOfIngest(t *testing.T) {
	t.Parallel()
	command := exec.Command(testenv.Binary(t, "ingest"), "send", "-")
	input, err := command.StdinPipe()
	require.NoError(t, err)
	defer input.Close()
	p := testenv.StartCommand(t, command, []string{"PROVIDER_WEBHOOK_SECRET=" + secret})
	_, err = input.Write(make([]byte, 1<<20)) // more than a pipe holds: it returns while the program reads
	require.NoError(t, err)
	wait.Until(t, func() bool {
		p.Signal(syscall.SIGINT)
		return p.HasExited()
	})
}
