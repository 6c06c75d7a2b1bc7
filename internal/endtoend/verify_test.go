package endtoend

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// A start of ingest refuses a changed byte anywhere in the log's file. A running server
// still has the messages in memory, but it reads from the file where a header ends.
func TestVerifyFindsAChangedByteOfTheLogsFile(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	for i := range 20 {
		w.deliver(t, testenv.ShopEvent(i))
	}
	w.awaitProjected(t)
	require.Contains(t, w.verify(t, 0), "portal is what the log gives, up to seq 19")
	stop(t, projector)
	stop(t, w.ingest)
	blocks, err := filepath.Glob(filepath.Join(w.dir, "log/jetstream/PAYFOLD/streams/PAYMENTS/msgs/*.blk"))
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	text, err := os.ReadFile(blocks[0])
	require.NoError(t, err)
	flipBit(t, blocks[0], len(text)/2)
	require.Contains(t, w.requireStartRefused(t), "no record of the server begins here, or its checksum does not match")
	flipBit(t, blocks[0], len(text)/2)

	w.startIngest(t)
	flipBit(t, blocks[0], bytes.LastIndex(text[:len(text)/2], []byte("NATS/1.0"))-4) // the lowest byte of the header's length
	require.Contains(t, w.verify(t, 1, "--archive-url=none"), "the length of a message's header is damaged: seq ")
	status, output := w.check(t)
	require.Equal(t, 3, status, output)
	require.Contains(t, output, "the length of a message's header is damaged: seq ")
}

// A process that can write to the log can name any key.
func TestAMessageOfAnUnknownSecretIsAFaultOnlyWithStrict(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1), pack("evt_2", "pay_2", "u_1", 1))
	w.awaitProjected(t)
	require.Contains(t, w.verify(t, 0, "--strict"), "portal is what the log gives, up to seq 2")
	const other = "--provider-webhook-secret=whsec_of_somebody_else"
	require.Contains(t, w.verify(t, 0, other), "2 messages were signed with a secret that was not given; with --strict that counts as wrong")
	require.Contains(t, w.verify(t, 3, other, "--strict"), "2 messages, 0 rows and 0 definitions are wrong")
	require.Contains(t, w.verify(t, 3, other, "--strict", "--json"), `"unverifiable":2,"strict":true`)
	require.Contains(t, w.verify(t, 2, "--provider-webhook-secret=", "--strict"), "no secret is given")
}

func TestVerifyComparesDefinitionsOfTablesLiveOrNot(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	w.run(t, "rebuild")
	require.Contains(t, w.verify(t, 0, "--schema", "portal_next"), "portal_next is what the log gives")
	w.promote(t, "promote", "portal_next")
	require.Contains(t, w.verify(t, 0), "portal is what the log gives, up to seq 1")
	require.Contains(t, w.verify(t, 0, "--schema", "portal_prev"), "portal_prev is what the log gives")

	execute(t, w.database, `create or replace view portal.credit_balance as select user_id, 2 * balance as balance from portal.credits`)
	execute(t, w.database, `alter table portal.payment_facts drop constraint payment_facts_transaction_id_key`)
	execute(t, w.database, `create function public.swallow() returns trigger language plpgsql as 'begin return null; end';
		create trigger swallow before insert on portal.reversal for each row execute function public.swallow()`)
	metrics := filepath.Join(t.TempDir(), "verify.prom")
	output := w.verify(t, 3, "--metrics-file", metrics)
	text, err := os.ReadFile(metrics)
	require.NoError(t, err)
	require.Regexp(t, `(?s)\npayfold_verify_timestamp_seconds [1-9].*\npayfold_verify_wrong 3\n`, string(text))
	for _, line := range []string{
		"view credit_balance: it is", "constraint payment_facts_transaction_id_key on payment_facts: it is missing",
		"trigger swallow on reversal: unexpected; this build does not make it", "0 messages, 0 rows and 3 definitions are wrong",
	} {
		require.Contains(t, output, line)
	}
	output = w.verify(t, 3, "--json")
	require.Contains(t, output, `{"object":"constraint payment_facts_transaction_id_key on payment_facts","fault":"missing","should":"UNIQUE (transaction_id)"}`)
	require.Contains(t, output, `"definitions":3`)
}

// A standby is read with status, explain and the console. It cannot take the tables that other commands make.
func TestACommandThatWritesNamesAStandby(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 10))
	w.awaitProjected(t)
	execute(t, w.database, "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$")
	for _, args := range [][]string{{"verify"}, {"rebuild"}} {
		require.Contains(t, w.runWithExit(t, 1, args...), "as a standby does, and the command also writes: DATABASE_URL must name the primary", args)
	}
	w.runWithExit(t, 0, "status")
	require.Contains(t, w.runWithExit(t, 0, "explain", "--user", "u_1"), "evt_1")
}

func (w *world) verify(t *testing.T, status int, args ...string) string {
	t.Helper()
	command := w.command(t, append([]string{"verify"}, args...)...)
	require.Equal(t, status, command.Exit(t), command.Output())
	return command.Output()
}
