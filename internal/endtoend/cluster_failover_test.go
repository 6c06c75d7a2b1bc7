//go:build cluster

package endtoend

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/cluster"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// failOverWithoutLoss: the primary commits only what its standby has.
func (f *fire) failOverWithoutLoss(t *testing.T) {
	primary, standby := f.Primary(t), f.Standby(t)
	alterSystem(t, primary, "synchronous_standby_names = '\""+standby.Name+"\"'")
	primary.Await(t, "postgres", "select string_agg(sync_state, ' ') from pg_stat_replication", "sync")
	// Commits begin to wait when the checkpointer has read the setting, which may be later.
	primary.Await(t, "postgres", "select exists (select from pg_stat_activity where wait_event = 'SyncRep')", "t")
	f.load.await(t, 40)
	noticed := f.setBacks()
	before := f.positions(t, primary)
	primary.KillAll(t)
	standby.Promote(t)
	require.GreaterOrEqual(t, f.positions(t, standby), before)
	f.load.await(t, 40)
	f.awaitAllProjecting(t)
	require.Equal(t, noticed, f.setBacks(), "nothing was lost")
	primary.Replace(t)
}

// failOverWithLoss: the standby has not received the last commits when the primary ends. Projectors
// notice it. Licences are sold and refunded meanwhile, and GitHub knows more of the invitations than the
// standby does.
func (f *fire) failOverWithLoss(t *testing.T) {
	primary, standby := f.Primary(t), f.Standby(t)
	sales := f.sellLicences(t)
	noticed := f.setBacks()
	standby.Await(t, "payfold", "select count(distinct owner) from payfold.lease", strconv.Itoa(len(f.Projectors)))
	cluster.Cut(t, primary.Machine, standby.Machine)
	sent := f.positions(t, primary) // and perhaps not received yet
	wait.Until(t, func() bool { return f.positions(t, primary) > sent }, "nothing is committed")
	f.load.await(t, 80)
	lost := f.positions(t, primary)
	primary.KillAll(t)
	require.Less(t, f.positions(t, standby), lost)
	standby.Promote(t)
	cluster.Restore(t, primary.Machine, standby.Machine) // no earlier: the kernel of the dead server still sends its last WAL
	wait.Until(t, func() bool { return f.setBacks() > noticed }, "no projector says that commits are lost")
	primary.Replace(t)
	sales.end(t)
	f.requireInvited(t, sales)
}

// positions returns the sum of the positions that a server's tables have.
func (f *fire) positions(t *testing.T, server *cluster.Postgres) (sum int64) {
	t.Helper()
	wait.Until(t, func() bool {
		answer, err := server.Query("payfold", "select sum(position)::text from portal.checkpoint")
		if err == nil {
			sum, err = strconv.ParseInt(answer, 10, 64)
		}
		return err == nil
	}, "%s does not tell its positions", server.Name)
	return sum
}

func alterSystem(t *testing.T, server *cluster.Postgres, value string) {
	t.Helper()
	for _, statement := range []string{"alter system set " + value, "select pg_reload_conf()"} {
		answer, err := server.Query("postgres", statement)
		require.NoError(t, err, answer)
	}
}

// setBacks returns how often the projectors have said that the tables lost commits.
func (f *fire) setBacks() (said int) {
	for _, projector := range f.Projectors {
		said += strings.Count(projector.Output(), `level=WARN msg="the tables were set back`)
	}
	return said
}

func (f *fire) awaitAllProjecting(t *testing.T) {
	t.Helper()
	for _, projector := range f.Projectors {
		wait.Until(t, func() bool { return statusOf(t, "http://"+projector.Address+":8081/readyz") == http.StatusOK }, "%s is not ready", projector.Name)
	}
}
