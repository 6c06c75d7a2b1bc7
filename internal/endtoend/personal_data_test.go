package endtoend

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// TestAPersonIsErasedWithTheCommandsOfTheDocuments runs the commands of docs/personal-data.md. At the end the new log
// has nothing of the person, the tables are as before, and nobody is invited again.
func TestAPersonIsErasedWithTheCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	w, place, url := setupArchive(t)
	github := testenv.NewGitHub(t, time.Now)
	projector := w.startProjector(t, inviting(github)...)
	ada := func(event, payment, email, metadata string) string {
		return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":%q,`+
			`"customer":{"id":"cust_77","email":%q,"name":"Ada Lovelace"},"metadata":{"user_id":"u_77",%s}}}`, event, payment, email, metadata)
	}
	for i, body := range []string{
		pack("evt_1", "pay_1", "u_1", 10),
		ada("evt_2", "pay_2", "ada@example.com", `"kind":"one_time","credits":200`),
		ada("evt_3", "pay_3", "Ada@Example.com", `"kind":"pro","github_username":"octocat"`),
		licence("evt_4", "pay_4", "u_1", "mona"),
		refund("evt_5", "pay_1"),
	} {
		w.deliver(t, strings.Replace(body, `"object"`, fmt.Sprintf(`"created_at":"2026-01-0%dT00:00:00Z","object"`, i+1), 1))
	}
	w.awaitInvitation(t, "u_1", "invited")
	w.awaitInvitation(t, "u_77", "invited")
	github.Decline(t, "mona")
	w.awaitProjected(t)
	require.True(t, mustQuery[bool](t, w.database, "select wallet.spend('u_77', 30, 'k1', 'for Ada') and wallet.spend('u_77', 5, 'k2')"))
	rows := w.rowsOfUsers(t)

	blocks, dir := shellBlocks(t, "../../docs/personal-data.md"), withPrograms(t)
	run := func(script string, env ...string) string {
		t.Helper()
		output, err := w.script(t, dir, script, env...).CombinedOutput()
		require.NoError(t, err, "%s%s", script, output)
		return string(output)
	}
	run(blocks[0])
	copied, err := os.ReadFile(filepath.Join(dir, "ada.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(copied, []byte("\n")))
	w.awaitArchived(t, url)
	run("rm copy.jsonl\n" + strings.Replace(blocks[1], "URL\n", place+"\n", 1))
	ofArchive, err := os.ReadFile(filepath.Join(dir, "copy.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 5, bytes.Count(ofArchive, []byte("\n")))

	stop(t, projector)
	stop(t, w.ingest)
	run(blocks[2] + blocks[3] + blocks[4])
	here := strings.NewReplacer("127.0.0.1:8099", ports.Free(t), "\nbin/ingest\n", "\nexec bin/ingest\n")
	command := w.script(t, dir, here.Replace(blocks[5]))
	sending := testenv.StartCommand(t, command, command.Env)
	sending.WaitFor(t, `msg="receiving deliveries"`)
	w.repeat(t, dir, here.Replace(blocks[6]))
	stop(t, sending)
	w.dir = filepath.Join(dir, "new")
	w.startIngest(t)
	require.EqualValues(t, 5, w.head(t))

	before := w.database
	w.database = testenv.Database(t)
	output := run(blocks[7], "OLD_DATABASE_URL="+before, "NEW_DATABASE_URL="+w.database, "PATH="+os.Getenv("PG_BIN")+":"+os.Getenv("PATH"))
	require.Contains(t, output, "2 messages were signed with a secret that was not given")
	require.Equal(t, rows, w.rowsOfUsers(t))
	require.Zero(t, mustQuery[int](t, w.database, "select count(note) from wallet.spend"))

	projector = w.startProjector(t, inviting(github)...)
	w.deliver(t, licence("evt_6", "pay_6", "u_6", "hubot"))
	w.awaitInvitation(t, "u_6", "invited") // those of older purchases have priority
	require.Equal(t, 1, github.Sent("mona"))
	require.Equal(t, 1, github.Sent("octocat"))
	stop(t, projector)
	stop(t, w.ingest)
	for path, content := range readTree(t, w.dir) {
		require.NotContains(t, strings.ToLower(content), "ada@example.com", path)
		require.NotContains(t, strings.ToLower(content), "lovelace", path)
	}
}

// rowsOfUsers returns what users have, without sequences.
func (w *world) rowsOfUsers(t *testing.T) string {
	t.Helper()
	return mustQuery[string](t, w.database, `select string_agg(line, E'\n' order by line) from (
		select concat_ws(' ', user_id, balance, granted, reversed) as line from portal.credits
		union all select concat_ws(' ', user_id, status, github_username, provider_payment_id, activated_at) from portal.pro_license
		union all select concat_ws(' ', user_id, key, amount, state, wallet.balance(user_id)) from wallet.spend
		union all select concat_ws(' ', user_id, event_id, line, delta, available_at) from portal.credit_ledger) of`)
}
