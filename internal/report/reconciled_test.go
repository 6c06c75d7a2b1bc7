package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/reconcile"
)

func TestEachDifferenceIsOneSentenceWithWhatRepairsIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 10, 2, 11, 0, time.UTC)
	amount := func(n int64) reconcile.Side { return reconcile.Side{Amount: &n, Currency: "EUR"} }
	status := func(s string) reconcile.Side { return reconcile.Side{Status: s, Until: at} }
	of := reconcile.Difference{Payment: "pay_1", User: "u 7\x1b", At: at, Repair: "do it"}
	for want, change := range map[string]func(*reconcile.Difference){
		`shop has payment pay_1 of EUR 12.00, made 2026-11-03 10:02:11Z for user "u 7\x1b", and the tables do not: its event was not received. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Provider = reconcile.MissingPayment, amount(1200)
		},
		`shop has payment pay_1 of EUR 12.00, made 2026-11-03 10:02:11Z for user "u 7\x1b", and the tables do not: its event evt_1 is rejected unknown_product. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Provider, d.Event, d.Outcome, d.Reason = reconcile.MissingPayment, amount(1200), "evt_1", "rejected", "unknown_product"
		},
		`the tables have payment pay_1 of EUR 12.00 for user "u 7\x1b", and shop does not know it. It came with event evt_1 at 2026-11-03 10:02:11Z. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Tables, d.Event = reconcile.UnknownPayment, amount(1200), "evt_1"
		},
		`payment pay_1 for user "u 7\x1b", made 2026-11-03 10:02:11Z, is EUR 19.00 at shop and EUR 12.00 in the tables. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Provider, d.Tables = reconcile.OtherAmount, amount(1900), amount(1200)
		},
		`shop has subscription sub_1, active until 2026-11-03 10:02:11Z for user "u 7\x1b", and the tables do not. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Subscription, d.Provider = reconcile.MissingSubscription, "sub_1", status("active")
		},
		`the tables have subscription sub_1, active until 2026-11-03 10:02:11Z for user "u 7\x1b", and shop does not know it. It came with event evt_1 at 2026-11-03 10:02:11Z. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Subscription, d.Tables, d.Event = reconcile.UnknownSubscription, "sub_1", status("active"), "evt_1"
		},
		`subscription sub_1 for user "u 7\x1b" is canceled until 2026-11-03 10:02:11Z at shop and active until 2026-11-03 10:02:11Z in the tables, since event evt_1. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Subscription, d.Provider, d.Tables, d.Event = reconcile.OtherStatus, "sub_1", status("canceled"), status("active"), "evt_1"
		},
		`shop has paid back EUR 3.00 of payment pay_1 for user "u 7\x1b", refund re_1, made 2026-11-03 10:02:11Z, and the tables do not know it: its event was not received. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Refund, d.Provider = reconcile.MissingRefund, "re_1", amount(300)
		},
		`the tables have refund re_1 of EUR 3.00 of payment pay_1 for user "u 7\x1b", and shop does not know it. It came with event evt_1 at 2026-11-03 10:02:11Z. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Refund, d.Tables, d.Event = reconcile.UnknownRefund, "re_1", amount(300), "evt_1"
		},
		`of payment pay_1 for user "u 7\x1b", shop has paid back EUR 3.00, refund re_1, made 2026-11-03 10:02:11Z, and the tables say EUR 2.00. Repair: do it`: func(d *reconcile.Difference) {
			d.What, d.Refund, d.Provider, d.Tables = reconcile.OtherRefund, "re_1", amount(300), amount(200)
		},
		`payment pay_1 for user "u 7\x1b", made 2026-11-03 10:02:11Z, is EUR 19.00 at shop and an unknown amount in the tables. On its way: the provider changed it less than 1h0m0s ago.`: func(d *reconcile.Difference) {
			d.What, d.Provider, d.Lagging = reconcile.OtherAmount, amount(1900), reconcile.Young
		},
	} {
		d := of
		change(&d)
		var out bytes.Buffer
		require.NoError(t, Reconciled(&out, reconcile.Result{Provider: "shop", Found: []reconcile.Difference{d}}, false))
		require.Equal(t, want, strings.Split(out.String(), "\n")[0])
	}
}

func TestWhatWasComparedIsCounted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result := reconcile.Result{Provider: "shop", Since: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Payments: 2, Subscriptions: 0, Refunds: 1}
	require.NoError(t, Reconciled(&out, result, false))
	require.Equal(t, "Compared with shop since 2026-11-01 00:00:00Z: 2 payments, 0 subscriptions and 1 refund.\nThe tables have what shop has.\n", out.String())
}

func TestAStrangersKeyIsSaidInsteadOfDifferences(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result := reconcile.Result{
		Provider: "shop", Stranger: true, Asked: 10,
	}
	require.NoError(t, Reconciled(&out, result, false))
	require.Equal(t, "shop knows none of 10 payments of the tables that it was asked for: "+
		"is the key one of another store, or of the other mode? Nothing else was compared.\n", out.String())
}

func TestDifferencesAreJSONLinesWithTheResultLast(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	amount := int64(300)
	found := []reconcile.Difference{{
		What: reconcile.MissingRefund, Payment: "pay_1",
		Provider: reconcile.Side{Amount: &amount}, Repair: "do it",
	}}
	require.NoError(t, Reconciled(&out, reconcile.Result{Provider: "shop", Refunds: 1, Differences: 1, Found: found},
		true))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.JSONEq(t, `{"difference":"missing_refund","payment":"pay_1","provider":{"amount":300},"tables":{},"repair":"do it"}`, lines[0])
	var last struct {
		Provider    string
		Differences int
		Stranger    bool
	}
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &last))
	require.Equal(t, "shop", last.Provider)
	require.Equal(t, 1, last.Differences)
}
