package endtoend

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

// An operator finds the event that a constraint of somebody else refuses, drops the constraint, and tries it again.
func TestAQuarantinedEventIsListedAndTriedAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	w.deliver(t, fixture.Pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	require.Contains(t, w.run(t, "status"), "QUARANTINED: none")
	execute(t, w.database, "alter table portal.credit_ledger add constraint theirs check (user_id <> 'u_2')")
	w.deliver(t, fixture.Pack("evt_2", "pay_2", "u_2", 10), fixture.Pack("evt_3", "pay_3", "u_3", 10))
	w.awaitProjected(t)

	seq := mustQuery[int64](t, w.database, "select stream_seq from payfold.quarantined_event")
	listed := w.run(t, "status")
	require.Regexp(t, fmt.Sprintf(`(?m)^  %d +evt_2 .*"theirs".* 20[0-9-]+ `, seq), listed)
	require.Contains(t, listed, "To try one again: projector quarantine retry SEQ")
	w.requireRefused(t, "stays quarantined: the database refuses it again: ", "quarantine", "retry", fmt.Sprint(seq))
	require.Contains(t, w.run(t, "status"), "QUARANTINED: 1 event")

	execute(t, w.database, "alter table portal.credit_ledger drop constraint theirs")
	require.Contains(t, w.run(t, "quarantine", "retry", fmt.Sprint(seq)),
		fmt.Sprintf("The event evt_2 at seq %d is not quarantined any more: applied. It was folded again with its customers: 1 event of 1 user.", seq))
	require.Equal(t, int64(10), mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_2'"))
	require.Contains(t, w.runWithExit(t, 3, "quarantine", "retry", fmt.Sprint(seq)), fmt.Sprintf("no event is quarantined at seq %d", seq))
	require.Contains(t, w.verify(t, 0), "portal is what the log gives")
	stop(t, projector)
}
