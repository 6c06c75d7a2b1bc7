package endtoend

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// quick keeps the tests short; everything scales with the lease time.
const quick = "LEASE_TIME=3s"

// awaitShares waits until so many projectors hold all 64 partitions evenly.
func (w *world) awaitShares(t *testing.T, projectors int) {
	t.Helper()
	var shares string
	wait.Until(t, func() bool {
		var err error
		shares, err = query[string](t, w.database, `
			select format('%s of %s: %s to %s', sum(n), count(*), min(n), max(n))
			from (select count(*) n from payfold.lease where expires_at > now() group by owner) s`)
		return err == nil && shares == fmt.Sprintf("64 of %d: %d to %d", projectors, 64/projectors, (63+projectors)/projectors)
	}, "%d projectors", projectors)
}

func TestAKilledProjectorsPartitionsMoveOn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first, second, third := w.startProjector(t, quick), w.startProjector(t, quick), w.startProjector(t, quick)
	w.awaitShares(t, 3)
	load := startLoad(t, w, steady)
	load.await(t, between)
	first.Kill()
	w.awaitShares(t, 2)
	load.await(t, between)
	stop(t, second) // hands over at once
	w.awaitShares(t, 1)
	load.finish(t, w)
	stop(t, third)
}

func TestAFrozenProjectorAppliesNothingTwiceAndBlocksNobody(t *testing.T) {
	t.Parallel()
	w := setup(t)
	frozen, other := w.startProjector(t, quick, "BATCH_SIZE=3"), w.startProjector(t, quick)
	w.awaitShares(t, 2)
	load := startLoad(t, w, steady)
	for range 2 {
		load.await(t, between)
		frozen.Signal(syscall.SIGSTOP)
		w.awaitShares(t, 1)
		load.await(t, between)
		frozen.Signal(syscall.SIGCONT)
		w.awaitShares(t, 2)
	}
	load.finish(t, w)
	stop(t, frozen)
	stop(t, other)
}

func TestAProjectorOfOtherRulesWritesNothingAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t, quick)
	w.awaitShares(t, 1)
	other := w.startProjector(t, quick, "PROVIDER_MODE=live")
	admin := attribute(other.WaitFor(t, `msg="the projector starts"`), "admin_addr")
	other.WaitFor(t, "projector rebuild --promote")
	require.Equal(t, 503, statusOf(t, "http://"+admin+"/readyz"))
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	w.awaitProjected(t)
	w.awaitShares(t, 1)
	stop(t, other)
}
