package endtoend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheExamplesGiveAndTakeByHand runs the commands of docs/by-hand.md for a subscriber.
func TestTheExamplesGiveAndTakeByHand(t *testing.T) {
	t.Parallel()
	const document = "../../docs/by-hand.md"
	w := setup(t, "PAYFOLD_EVENT_SECRET="+secret)
	catalogue := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(catalogue, []byte(catalogueOf(t, document)), 0o600))
	w.startProjector(t, "CATALOGUE_FILE="+catalogue, "PROVIDER_MODE=live")
	w.deliver(t, `{"id":"evt_1","eventType":"subscription.active","created_at":"2026-03-10T00:00:00Z","object":{"id":"sub_77","product":"prod_plan",`+
		`"customer":"cust_77","current_period_end_date":"2026-04-10T00:00:00Z","metadata":{"user_id":"u_77"},"mode":"prod"}}`)
	blocks := shellBlocks(t, document)
	has := func(credits int64, licence, subscription string) {
		t.Helper()
		w.awaitProjected(t)
		require.EqualValues(t, credits, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_77'"))
		require.Equal(t, licence, mustQuery[string](t, w.database, "select coalesce(min(status), 'none') from portal.pro_license where user_id = 'u_77'"))
		require.Equal(t, subscription, w.subscription(t))
	}

	require.Contains(t, w.shell(t, blocks[0]), "gift_1")
	has(50, "none", "sub_77 active prod_plan 2026-04-10")
	w.shell(t, blocks[1])
	has(50, "active", "sub_77 active prod_plan 2026-04-10")
	w.shell(t, blocks[2])
	has(0, "revoked", "sub_77 active prod_plan 2026-04-10")
	w.shell(t, blocks[3])
	has(0, "revoked", "sub_77 active prod_plan 2026-05-10")
	w.deliver(t, `{"id":"evt_2","eventType":"checkout.completed","created_at":"2026-03-11T00:00:00Z","object":{"product":"prod_tool",`+
		`"order":{"id":"ord_20","transaction":"tran_20"},"customer":"cust_78","mode":"prod"}}`)
	w.awaitProjected(t)
	require.Equal(t, "missing_user", mustQuery[string](t, w.database, "select reason from portal.processed_event where event_id = 'evt_2'"))
	w.shell(t, blocks[4])
	w.awaitProjected(t)
	require.Equal(t, "u_78", mustQuery[string](t, w.database, "select user_id from portal.pro_license where status = 'active'"))
	require.Equal(t, "provider", mustQuery[string](t, w.database, "select provider from portal.payment where transaction_id = 'tran_20'"))
	for _, block := range blocks {
		w.shell(t, block) // duplicates
	}
	has(0, "revoked", "sub_77 active prod_plan 2026-05-10")
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where outcome <> 'applied' and event_id <> 'evt_2'"))
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.payment where amount <> 0 or refunded_amount <> 0"), "gifts are no revenue")

	w.deliver(t, `{"id":"evt_3","eventType":"subscription.active","created_at":"2026-03-20T00:00:00Z","object":{"id":"sub_77","product":"prod_plan",`+
		`"customer":"cust_77","current_period_end_date":"2026-04-10T00:00:00Z","mode":"prod"}}`)
	has(0, "revoked", "sub_77 active prod_plan 2026-04-10")
}
