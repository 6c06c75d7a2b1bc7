package endtoend

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// heldPartitions returns the partitions that a projector holds.
func (w *world) heldPartitions(t *testing.T, p *testenv.Program) []int {
	t.Helper()
	owner := attribute(p.WaitFor(t, `msg="the projector starts"`), "owner")
	connection, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	defer connection.Close(t.Context())
	rows, err := connection.Query(t.Context(), "select partition from payfold.lease where owner = $1", owner)
	require.NoError(t, err)
	partitions, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	return partitions
}

// packIn returns a purchase whose event is in one of these partitions.
func packIn(t *testing.T, partitions []int, id, payment, user string) string {
	t.Helper()
	for customer := 0; ; customer++ {
		body := fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"customer":"c%d","provider_payment_id":%q,"metadata":{"kind":"one_time","user_id":%q,"credits":10}}}`,
			id, customer, payment, user)
		event, err := specification.Parse([]byte(body))
		require.NoError(t, err)
		if slices.Contains(partitions, event.Partition(64)) {
			return body
		}
	}
}

// Two users name the same payment, in partitions of two projectors. One projector is frozen
// until the other has applied the later events.
func TestOutOfOrderEventsAreSettledWhileLiveWorkGoesOn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const longLease = "LEASE_TIME=5m" // nobody takes over from the frozen projector
	frozen, other := w.startProjector(t, longLease), w.startProjector(t, longLease)
	w.awaitShares(t, 2)
	behind, ahead := w.heldPartitions(t, frozen), w.heldPartitions(t, other)
	frozen.Freeze(t)
	const pairs = 20
	for i := range pairs {
		payment := fmt.Sprintf("pay_shared_%d", i)
		w.deliver(t, packIn(t, behind, fmt.Sprintf("evt_first_%d", i), payment, fmt.Sprintf("u_first_%d", i)),
			packIn(t, ahead, fmt.Sprintf("evt_second_%d", i), payment, fmt.Sprintf("u_second_%d", i)))
	}
	wait.Until(t, func() bool {
		return mustQuery[int64](t, w.database, "select count(*) from portal.processed_event") == pairs
	}, "the later events are applied")
	frozen.Signal(syscall.SIGCONT)
	w.awaitProjected(t)

	output := w.verify(t, 3)
	require.Contains(t, output, "rows differ because events were applied out of the log's order; to settle: projector settle")
	require.Contains(t, output, "0 messages, 0 other rows and 0 definitions are wrong")
	require.Contains(t, w.verify(t, 3, "--json"), `"differences":0,"out_of_order":`)
	require.Contains(t, w.run(t, "status"), "OUT OF ORDER: 20 events")
	execute(t, w.database, "update portal.credits set balance = 11, granted = 11 where user_id = 'u_second_0'")

	load := startLoad(t, w, slowPace)
	load.await(t, maxBetween)
	require.Contains(t, w.promote(t, "settle"), "20 out-of-order events are settled: 40 events of 40 users were folded again")
	require.Contains(t, w.run(t, "settle", "--json"), `{"out_of_order":0,"events":0,"users":0}`)
	load.await(t, maxBetween)
	require.Contains(t, w.run(t, "status"), "OUT OF ORDER: none")
	close(load.stop)
	require.NoError(t, <-load.ended)
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	require.Contains(t, w.verify(t, 0), "portal is what the log gives")
	require.EqualValues(t, pairs, mustQuery[int64](t, w.database, "select count(*) from portal.credits where user_id like 'u\\_first\\_%' and balance = 10"))
}
