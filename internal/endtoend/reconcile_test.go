package endtoend

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A payment whose event was lost is found by a timer, and is gone from the answer when the event has come.
func TestALostEventIsFoundByReconcileAndThenSent(t *testing.T) {
	t.Parallel()
	paid := time.Now().Add(-48 * time.Hour).Unix()
	invoice := fmt.Sprintf(`{"id":"in_1","object":"invoice","status":"paid","amount_due":1200,"amount_paid":1200,"currency":"eur",
		"created":%d,"status_transitions":{"paid_at":%[1]d},"metadata":{"user_id":"u_7","kind":"one_time","credits":50}}`, paid)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := ""
		switch {
		case r.Header.Get("Authorization") != "Bearer rk_test_1":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/invoices/in_1":
			_, _ = w.Write([]byte(invoice))
			return
		case r.URL.Path == "/v1/invoices":
			list = invoice
		}
		fmt.Fprintf(w, `{"object":"list","has_more":false,"data":[%s]}`, list)
	}))
	defer api.Close()

	w := setup(t, secretVariable("stripe")+"="+secretOf("stripe"))
	w.startProjector(t).WaitFor(t, "msg=projecting")

	metrics := filepath.Join(t.TempDir(), "reconcile.prom")
	args := []string{"reconcile", "stripe", "--stripe-api-url", api.URL, "--metrics-file", metrics}
	require.Contains(t, w.runWithExit(t, 2, args...), "STRIPE_API_KEY is missing")
	said := w.runWithExit(t, 1, append(args, "--stripe-api-key", "rk_live_wrong")...)
	require.Contains(t, said, "STRIPE_API_KEY is wrong")
	require.NotContains(t, said, "rk_live_wrong")
	require.NoFileExists(t, metrics, "nothing is known")

	kept := func(sql string) string {
		text, err := query[string](t, w.database, "select "+sql+" from payfold.reconciled where provider = 'stripe'")
		require.NoError(t, err)
		return text
	}
	require.Contains(t, kept("error"), "STRIPE_API_KEY is wrong", "the console shows it")
	args = append(args, "--stripe-api-key", "rk_test_1")
	said = w.runWithExit(t, 3, args...)
	require.Contains(t, said, "stripe has payment in_1 of EUR 12.00")
	require.Contains(t, said, "for user u_7, and the tables do not: its event was not received. Repair: ingest pull stripe --since ")
	text, err := os.ReadFile(metrics)
	require.NoError(t, err)
	require.Contains(t, string(text), `payfold_reconcile_differences{provider="stripe"} 1`)

	const found = `[{"count": 1, "amount": 1200, "currency": "EUR", "difference": "missing_payment"}]`
	require.Equal(t, found, kept("found::text"))
	require.Empty(t, kept("coalesce(error, '')"))
	w.runWithExit(t, 0, append(args, "--since", time.Now().Add(-time.Hour).Format(time.RFC3339))...)
	require.Equal(t, found, kept("found::text"), "a short comparison hides nothing")

	event := fmt.Sprintf(`{"id":"evt_1","object":"event","type":"invoice.paid","created":%d,"livemode":true,"data":{"object":%s}}`, paid, invoice)
	status, answer := w.deliverTo(t, providers.Named("stripe"), "evt_1", []byte(event))
	require.Equal(t, http.StatusOK, status, answer)
	wait.Until(t, func() bool {
		payments, err := query[int64](t, w.database, "select count(*) from portal.payment")
		return err == nil && payments == 1
	})
	require.Contains(t, w.runWithExit(t, 0, args...), "The tables have what stripe has.")
	require.Equal(t, "[]", kept("found::text"))
	text, err = os.ReadFile(metrics)
	require.NoError(t, err)
	require.Contains(t, string(text), `payfold_reconcile_differences{provider="stripe"} 0`)
}
