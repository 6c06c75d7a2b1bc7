package endtoend

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheExamplesGiveAndTakeByHand runs the commands of docs/by-hand.md for a subscriber.
func TestTheExamplesGiveAndTakeByHand(t *testing.T) {
	t.Parallel()
	w := setup(t, "PAYFOLD_EVENT_SECRET="+secret)
	catalogue := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(catalogue, []byte(catalogueOf(t, adopting)), 0o600))
	w.settings = append(w.settings, "CATALOGUE_FILE="+catalogue)
	w.startProjector(t, "PROVIDER_MODE=live")
	w.deliver(t, `{"id":"evt_1","eventType":"subscription.active","created_at":"2026-03-10T00:00:00Z","object":{"id":"sub_77","product":"prod_plan",`+
		`"customer":"cust_77","current_period_end_date":"2026-04-10T00:00:00Z","metadata":{"user_id":"u_77"},"mode":"prod"}}`)
	w.awaitProjected(t)
	blocks := shellBlocks(t, "../../docs/by-hand.md")
	has := func(credits, spendable int64, licence, subscription string) {
		t.Helper()
		w.awaitProjected(t)
		require.EqualValues(t, credits, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_77'"))
		require.EqualValues(t, spendable, mustQuery[int64](t, w.database, "select balance from portal.credit_balance where user_id = 'u_77'"))
		require.Equal(t, licence, mustQuery[string](t, w.database, "select coalesce(min(status), 'none') from portal.pro_license where user_id = 'u_77'"))
		require.Equal(t, subscription, w.subscription(t))
	}

	output := w.shell(t, blocks[0])
	require.Contains(t, output, "It is a gift of the shop for user u_77. It granted 50 credits.")
	require.Contains(t, output, "The reason that was given: ticket 812: the export failed")
	gift := regexp.MustCompile(`Event: +(give-\w+)`).FindStringSubmatch(output)[1]
	has(50, 80, "none", "sub_77 active prod_plan 2026-04-10")
	licence := regexp.MustCompile(`Event: +(give-\w+)`).FindStringSubmatch(w.shell(t, blocks[1]))[1]
	has(50, 80, "active", "sub_77 active prod_plan 2026-04-10")
	taking := "GIFT=" + gift + "\nLICENCE=" + licence + "\n" + blocks[2]
	require.Contains(t, w.shell(t, taking), "takes back 20 credits, and no money. It took back 20 credits.")
	has(30, 60, "revoked", "sub_77 active prod_plan 2026-04-10")
	require.Contains(t, w.shell(t, blocks[3]), "It extends the subscription at least until 2099-02-01 00:00:00Z, and leaves its status active.")
	has(30, 60, "revoked", "sub_77 active prod_plan 2099-02-01")

	w.deliver(t, `{"id":"evt_2","eventType":"checkout.completed","created_at":"2026-03-11T00:00:00Z","object":{"product":"prod_tool",`+
		`"order":{"id":"ord_20","transaction":"tran_20"},"customer":"cust_78","mode":"prod"}}`)
	w.awaitProjected(t)
	require.Equal(t, "missing_user", mustQuery[string](t, w.database, "select reason from portal.processed_event where event_id = 'evt_2'"))
	w.shell(t, blocks[4])
	w.awaitProjected(t)
	require.Equal(t, "u_78", mustQuery[string](t, w.database, "select user_id from portal.pro_license where status = 'active'"))
	require.Equal(t, "provider", mustQuery[string](t, w.database, "select provider from portal.payment where transaction_id = 'tran_20'"))

	head := w.head(t)
	for _, block := range []string{blocks[0], blocks[1], taking, blocks[3], blocks[4]} {
		require.Contains(t, w.shell(t, block), "This was sent before, so nothing is sent.")
	}
	require.Equal(t, head, w.head(t))
	has(30, 60, "revoked", "sub_77 active prod_plan 2099-02-01")
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where outcome <> 'applied' and event_id <> 'evt_2'"))
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.payment where amount <> 0 or refunded_amount <> 0"), "gifts are no revenue")

	w.deliver(t, `{"id":"evt_3","eventType":"subscription.active","created_at":"2026-03-20T00:00:00Z","object":{"id":"sub_77","product":"prod_plan",`+
		`"customer":"cust_77","current_period_end_date":"2026-04-10T00:00:00Z","mode":"prod"}}`)
	has(30, 60, "revoked", "sub_77 active prod_plan 2099-02-01")
}
