package endtoend

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// The standby does not exist.
func TestAProjectorWhoseCommitsWaitForAStandbyIsNotReady(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.database = testenv.PrimaryPostgres(t)
	projector := w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	ready := "http://" + attribute(projector.WaitFor(t, adminLine), "admin_addr") + "/readyz"
	require.Equal(t, http.StatusOK, statusOf(t, ready))

	execute(t, w.database, "alter system set synchronous_standby_names = 'elsewhere'")
	execute(t, w.database, "select pg_reload_conf()")
	projector.WaitFor(t, `msg="the projector waits and tries again" error="send a heartbeat: timeout: context deadline exceeded"`)
	wait.Until(t, func() bool { return statusOf(t, ready) == http.StatusServiceUnavailable })
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 5))

	execute(t, w.database, "alter system reset synchronous_standby_names")
	execute(t, w.database, "select pg_reload_conf()")
	w.awaitProjected(t)
	wait.Until(t, func() bool { return statusOf(t, ready) == http.StatusOK })
	stop(t, projector)
}
