package endtoend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

const adopting = "../../docs/adopting.md"

// TestTheExampleOfAdoptingIntroducesASubscriber runs the commands of docs/adopting.md with
// its catalogue, and then delivers later events of the provider. One renewal is delivered
// before: it waits until the subscriber is introduced.
func TestTheExampleOfAdoptingIntroducesASubscriber(t *testing.T) {
	t.Parallel()
	w := setup(t, "CREEM_WEBHOOK_SECRET="+secret, "PAYFOLD_EVENT_SECRET="+secret)
	w.sendAs(t, "creem", renewal("evt_before", "tran_13", "2026-02-10", "2026-03-10"))
	catalogue := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(catalogue, []byte(catalogueOf(t, adopting)), 0o600))
	w.startProjector(t, "CATALOGUE_FILE="+catalogue, "PROVIDER_MODE=live")
	w.awaitProjected(t)
	require.EqualValues(t, 0, mustQuery[int64](t, w.database, "select count(*) from portal.credit_ledger"), "nobody is known yet")

	blocks := shellBlocks(t, adopting)
	output := w.shell(t, blocks[0])
	require.Contains(t, output, "Import 3 lines: 1 subscription, 1 balance with 350 credits in all, 1 licence.")
	require.Contains(t, output, "sent: 3 of 3 lines")
	w.awaitProjected(t)
	require.Equal(t, "sub_77 active prod_plan 2026-03-10", w.subscription(t))
	require.EqualValues(t, 350, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_77'"))
	require.EqualValues(t, 1, mustQuery[int64](t, w.database, "select count(*) from portal.pro_license where user_id = 'u_77' and status = 'active' and github_username = 'octocat'"))
	require.EqualValues(t, 100, w.granted(t), "the renewal that waited, and nothing for the introduction")

	w.shell(t, blocks[0]) // duplicates
	w.sendAs(t, "creem", renewal("evt_after", "tran_14", "2026-03-10", "2026-04-10"),
		`{"id":"evt_refund","eventType":"refund.created","created_at":"2026-03-12T00:00:00Z","object":{"status":"succeeded","customer":"cust_77","transaction":{"id":"tran_12"},"mode":"prod"}}`)
	w.awaitProjected(t)
	require.Equal(t, "sub_77 active prod_plan 2026-04-10", w.subscription(t))
	require.EqualValues(t, 350, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_77'"), "introduced once")
	require.EqualValues(t, 200, w.granted(t))
	require.EqualValues(t, 1, mustQuery[int64](t, w.database, "select count(*) from portal.pro_license where user_id = 'u_77' and status = 'revoked'"), "the refund finds the payment")
	require.EqualValues(t, 0, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where outcome = 'rejected'"))

	balance := mustQuery[string](t, w.database, "select provider_payment_id from portal.payment where user_id = 'u_77' and kind = 'one_time'")
	require.Contains(t, w.shell(t, "BALANCE="+balance+"\n"+blocks[2]), "takes back 100 credits, and no money. It took back 100 credits.")
	w.awaitProjected(t)
	require.EqualValues(t, 250, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_77'"), "the refund of a payment from before the adoption")
	require.EqualValues(t, 0, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where outcome = 'rejected'"))
	require.Equal(t, "creem", mustQuery[string](t, w.database, "select provider from portal.subscription_state where subscription_id = 'sub_77'"))

	explained := w.shell(t, blocks[3])
	require.Contains(t, explained, "sub_77")
	require.Contains(t, explained, balance)
}

// renewal returns the event of a monthly payment. It names a product and no user.
func renewal(event, transaction, from, until string) string {
	return `{"eventType":"subscription.paid","created_at":"` + from + `T06:00:00Z","object":{"object":"subscription","id":"sub_77",` +
		`"product":{"id":"prod_plan","name":"Plan","billing_type":"recurring"},"customer":{"id":"cust_77","email":"buyer@example.com"},` +
		`"status":"active","last_transaction_id":"` + transaction + `","current_period_start_date":"` + from + `T00:00:00Z",` +
		`"current_period_end_date":"` + until + `T00:00:00Z","mode":"prod"},"id":"` + event + `"}`
}

func (w *world) subscription(t testing.TB) string {
	return mustQuery[string](t, w.database, `select concat_ws(' ', subscription_id, status, product_key, (current_period_end at time zone 'UTC')::date)
		from portal.subscription where user_id = 'u_77'`)
}

// granted returns the sum of the user's subscription credits.
func (w *world) granted(t testing.TB) int64 {
	return mustQuery[int64](t, w.database, "select coalesce(sum(delta), 0)::bigint from portal.credit_ledger where user_id = 'u_77' and kind = 'subscription'")
}

// sendAs sends bodies of a provider, signed with its secret.
func (w *world) sendAs(t testing.TB, provider string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		w.shell(t, "bin/ingest send --provider "+provider+" - <<'JSON'\n"+body+"\nJSON")
	}
}

// shell runs commands of a document in a new folder, as repeat does.
func (w *world) shell(t testing.TB, script string) (output string) {
	t.Helper()
	script = strings.ReplaceAll(script, "ingest send", "ingest send --url http://"+w.listen)
	return w.repeat(t, withPrograms(t), ownCommand.ReplaceAllString(script, "$0 --yes --url http://"+w.listen))
}

// ownCommand matches the commands that ask before they send.
var ownCommand = regexp.MustCompile(`ingest (give|take|extend|complete|import)\b`)

// repeat runs commands again until they succeed: a busy machine may refuse a delivery.
func (w *world) repeat(t testing.TB, dir, script string) (output string) {
	t.Helper()
	wait.Until(t, func() bool {
		out, err := w.script(t, dir, script).CombinedOutput()
		output = string(out)
		if err != nil {
			t.Logf("%v\n%s", err, out)
		}
		return err == nil
	})
	return output
}

// withPrograms returns a folder with the programs in bin.
func withPrograms(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.Symlink(filepath.Dir(testenv.Binary(t, "ingest")), filepath.Join(dir, "bin")))
	return dir
}

// secrets are those of the providers in the documents.
var secrets = []string{"PROVIDER_WEBHOOK_SECRET=" + secret, "CREEM_WEBHOOK_SECRET=" + secret, "PAYFOLD_EVENT_SECRET=" + secret}

// script returns the command that runs a script in a folder, with the variables of both programs.
func (w *world) script(t testing.TB, dir, script string, env ...string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.WaitDelay = dir, time.Minute
	command.Env = append(append(append([]string{"PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + w.database}, secrets...), w.env()...), env...)
	return command
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func catalogueOf(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	match := yamlBlock.FindSubmatch(text)
	require.NotNil(t, match)
	return string(match[1])
}
