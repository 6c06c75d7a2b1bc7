package endtoend

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// The two steps that ARCHITECTURE.md describes. The table of the other build is the number of
// reversals of each day.
func TestATableIsAddedInTwoSteps(t *testing.T) {
	t.Parallel()
	binary := otherBuild(t)
	w := setup(t)
	command := func(args ...string) string {
		p := testenv.StartCommand(t, exec.Command(binary, args...), append(w.env(), "DATABASE_URL="+w.database, "PROVIDER_WEBHOOK_SECRET="+secret))
		require.Zero(t, p.Exit(t), p.Output())
		return p.Output()
	}
	refund := func(id, transaction string) string {
		return `{"id":"` + id + `","eventType":"refund.created","created_at":1767340000000,"object":{"refund_amount":1,"transaction":"` + transaction + `"}}`
	}
	reversals := func() int64 {
		return mustQuery[int64](t, w.database, "select sum(reversals)::bigint from by_day.reversals_daily")
	}
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10), refund("evt_2", "pay_1"), pack("evt_3", "pay_3", "u_1", 10), refund("evt_2", "pay_1"))
	command("rebuild", "--schema", "by_day", "--with", "reversals_daily")
	require.EqualValues(t, 1, reversals())
	w.deliver(t, refund("evt_5", "pay_3"))
	command("rebuild", "--schema", "by_day", "--with", "reversals_daily")
	require.EqualValues(t, 2, reversals(), "the sums are loaded, and continued")
	require.Contains(t, command("verify", "--schema", "by_day", "--with", "reversals_daily"), "by_day is what the log gives")
	execute(t, w.database, "update by_day.reversals_daily set reversals = 3")
	p := testenv.StartCommand(t, exec.Command(binary, "verify", "--schema", "by_day", "--with", "reversals_daily"), append(w.env(), "DATABASE_URL="+w.database, "PROVIDER_WEBHOOK_SECRET="+secret))
	require.Equal(t, 3, p.Exit(t), p.Output())
	require.Contains(t, p.Output(), "reversals_daily")
}
