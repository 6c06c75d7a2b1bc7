package endtoend

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// shortLease makes tests short: the time until others take over depends on the lease time.
const shortLease = "LEASE_TIME=3s"

// awaitShares waits until that many projectors share the 64 partitions evenly.
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

func TestOthersTakeOverThePartitionsOfAKilledProjector(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first, second, third := w.startProjector(t, shortLease), w.startProjector(t, shortLease), w.startProjector(t, shortLease)
	w.awaitShares(t, 3)
	load := startLoad(t, w, slowPace)
	load.await(t, maxBetween)
	first.Kill()
	w.awaitShares(t, 2)
	load.await(t, maxBetween)
	stop(t, second) // hands over at once
	w.awaitShares(t, 1)
	load.finish(t, w)
	stop(t, third)
}

func TestAFrozenProjectorAppliesNothingTwiceAndBlocksNobody(t *testing.T) {
	t.Parallel()
	w := setup(t)
	frozen, other := w.startProjector(t, shortLease, "BATCH_SIZE=3"), w.startProjector(t, shortLease)
	w.awaitShares(t, 2)
	load := startLoad(t, w, slowPace)
	for range 2 {
		load.await(t, maxBetween)
		frozen.Freeze(t)
		w.awaitShares(t, 1)
		load.await(t, maxBetween)
		frozen.Signal(syscall.SIGCONT)
		w.awaitShares(t, 2)
	}
	load.finish(t, w)
	stop(t, frozen)
	stop(t, other)
}

func TestAProjectorWithOtherRulesWritesNothingAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t, shortLease)
	w.awaitShares(t, 1)
	other := w.startProjector(t, shortLease, "PROVIDER_MODE=live")
	admin := attribute(other.WaitFor(t, adminLine), "admin_addr")
	other.WaitFor(t, "projector rebuild --promote")
	require.Equal(t, 503, statusOf(t, "http://"+admin+"/readyz"))
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	w.awaitProjected(t)
	w.awaitShares(t, 1)
	stop(t, other)
}
