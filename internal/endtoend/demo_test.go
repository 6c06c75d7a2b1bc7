package endtoend

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// The demo shows each outcome and each kind of row, and its tables are what its log gives. A second run changes
// nothing, also when ingest has forgotten the ids of the first.
func TestTheDemoFillsEveryTable(t *testing.T) {
	t.Parallel()
	demo := buildDemo(t)
	trial := []string{"DUPLICATE_WINDOW=1s"}
	for _, name := range []string{"STRIPE_WEBHOOK", "PADDLE_WEBHOOK", "CREEM_WEBHOOK", "PAYFOLD_EVENT"} {
		trial = append(trial, name+"_SECRET=whsec_local_development")
	}
	w := setup(t, trial...)
	catalogue, err := filepath.Abs("../../deploy/demo/catalogue.yaml")
	require.NoError(t, err)
	w.settings = append(trial[1:], "CATALOGUE_FILE="+catalogue)
	w.startProjector(t)
	run := func() string {
		command := exec.CommandContext(t.Context(), demo, "-url", "http://"+w.listen, "-console", "http://console")
		command.Env = []string{"DATABASE_URL=" + w.database}
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	w.awaitProjected(t) // the tables are there

	output := run()
	require.Contains(t, output, "Refused on purpose: 4 unreadable bodies (400) and a forged signature (401).")
	require.NotContains(t, output, "before")
	for what, list := range map[string]string{
		"outcome from processed_event": "applied, duplicate_payment, ignored, rejected, stale",
		"reason from processed_event": "invalid_text, kind_mismatch, missing_credits, missing_payment_id, missing_user, " +
			"out_of_range, payment_conflict, unknown_kind, unknown_product, unpaid",
		"action from processed_event":                     "checkout, none, payment, reversal, subscription",
		"provider from processed_event":                   "creem, paddle, payfold, stripe",
		"note from processed_event":                       "amount_and_units_unreadable, amount_unreadable, units_unreadable",
		"kind from payment":                               "none, one_time, pro, subscription",
		"currency from payment":                           "EUR, GBP, JPY, USD",
		"'waits' from payment where user_id is null":      "waits",
		"status from subscription":                        "active, canceled, past_due, scheduled_cancel, trialing",
		"status from pro_license":                         "active, revoked",
		"active from entitlement":                         "false, true",
		"kind from entitlement":                           "pro, subscription",
		"entry from credit_ledger":                        "chargeback, correction, grant, refund",
		"kind from credit_grant":                          "one_time, subscription",
		"status from reversal where cause = 'refund'":     "failed, pending, succeeded",
		"status from reversal where cause = 'chargeback'": "failed, succeeded",
	} {
		value, from, _ := strings.Cut(what, " from ")
		require.Equal(t, list, mustQuery[string](t, w.database, "select string_agg(v, ', ' order by v) from "+
			"(select distinct ("+value+")::text as v from portal."+from+") as listed"), what)
	}
	w.verify(t, 0)

	var before [][]string
	for _, table := range tables.NameList() {
		before = append(before, rowsOf(t, w.database, table))
	}
	wait.Until(t, func() bool {
		output = run()
		w.awaitProjected(t)
		return mustQuery[int64](t, w.database, "select count(*) from portal.duplicate_event") > 0
	})
	require.Contains(t, output, "The tables had all of its events before, so this changed nothing.")
	for i, table := range tables.NameList() {
		if table != "duplicate_event" {
			require.Equal(t, before[i], rowsOf(t, w.database, table), table)
		}
	}
	views := []string{"payment", "subscription_state", "entitlement", "credit_balance", "credit_grant"}
	for _, name := range slices.Concat(tables.NameList(), views) {
		require.NotEmpty(t, rowsOf(t, w.database, name), name)
	}
	w.verify(t, 0)
}

// The demo must not fill the log of a shop with secrets of its own.
func TestTheDemoSaysWhyItCannotRun(t *testing.T) {
	t.Parallel()
	demo := buildDemo(t)
	refused := func(reason string, env []string, address string) {
		t.Helper()
		p := testenv.StartCommand(t, exec.Command(demo, "-url", "http://"+address), env)
		require.Equal(t, 1, p.Exit(t))
		require.Contains(t, p.Output(), reason)
		require.Equal(t, 1, strings.Count(p.Output(), "\n"), p.Output())
	}
	nobody := ports.Free(t)
	refused("nothing listens on http://"+nobody+": start payfold with make run", nil, nobody)

	w := setup(t)
	refused("answers 404 to stripe, so it has signing secrets of its own", nil, w.listen)
	w = setup(t, "STRIPE_WEBHOOK_SECRET="+secret)
	refused("answers 401 to stripe, so it has signing secrets of its own", nil, w.listen)
}

var demoBuild sync.Once

// buildDemo builds the demo beside the programs, once.
func buildDemo(t *testing.T) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(testenv.Binary(t, "ingest")), "demo")
	demoBuild.Do(func() {
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-o", file, "../../deploy/demo")
		output, err := build.CombinedOutput()
		require.NoError(t, err, "%s", output)
	})
	return file
}
