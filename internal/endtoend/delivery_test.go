package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func pack(event, payment, user string, credits int) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":%q,"metadata":{"kind":"one_time","user_id":%q,"credits":%d}}}`,
		event, payment, user, credits)
}

func TestADeliveryBecomesARow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)

	answer, first := w.deliverForAnswer(t, pack("evt_1", "pay_1", "u_1", 200))
	if first {
		require.JSONEq(t, `{"status":"accepted","id":"evt_1"}`, answer)
	}
	answer, _ = w.deliverForAnswer(t, pack("evt_1", "pay_1", "u_1", 200))
	require.JSONEq(t, `{"status":"duplicate","id":"evt_1"}`, answer)
	w.deliver(t, pack("evt_2", "pay_1", "u_1", 200))

	w.awaitProjected(t)
	w.requireAllAccounted(t)
	require.EqualValues(t, 200, mustQuery[int64](t, w.database, "select balance from portal.credits where user_id = 'u_1'"))
	require.Equal(t, "duplicate_payment", mustQuery[string](t, w.database, "select outcome from portal.processed_event where event_id = 'evt_2'"))
}

// hostile has bodies that broke other receivers. For ingest all of them are valid events.
var hostile = map[string]string{
	"a zero byte in a text":       `{"id":"h1","eventType":"checkout.completed","object":{"provider_payment_id":"p\u0000","metadata":{"kind":"one_time","user_id":"u","credits":1}}}`,
	"lone surrogates":             `{"id":"h2","eventType":"checkout.completed","object":{"provider_payment_id":"p2","metadata":{"kind":"one_time","user_id":"u\ud800","credits":1}}}`,
	"a number past floats":        `{"id":"h3","eventType":"checkout.completed","object":{"provider_payment_id":"p3","amount":1e400,"metadata":{"kind":"one_time","user_id":"u","credits":1e400}}}`,
	"a number past 64 bits":       `{"id":"h4","eventType":"checkout.completed","object":{"provider_payment_id":"p4","amount":99999999999999999999999,"metadata":{"kind":"one_time","user_id":"u","credits":18446744073709551617}}}`,
	"credits past the range":      `{"id":"h5","eventType":"checkout.completed","object":{"provider_payment_id":"p5","units":9223372036854775807,"metadata":{"kind":"one_time","user_id":"u","credits":1000000000000}}}`,
	"a hundred levels":            `{"id":"h6","eventType":"checkout.completed","object":{"deep":` + strings.Repeat("[", 98) + strings.Repeat("]", 98) + `}}`,
	"nested duplicate keys":       `{"id":"h7","eventType":"checkout.completed","object":{"provider_payment_id":"p7","provider_payment_id":"p7b","metadata":{"kind":"pro","kind":"one_time","user_id":"u","credits":1,"credits":2}}}`,
	"an id of any text":           `{"id":"h8 \u0000 ü\n  ","eventType":"checkout.completed","object":{}}`,
	"an id like those in tables":  `{"id":"sha256:00","eventType":"checkout.completed","object":{}}`,
	"a very long id":              `{"id":"` + strings.Repeat("x", 5000) + `","eventType":"checkout.completed","object":{}}`,
	"a type of any text":          `{"id":"h9","eventType":"\u0000\r\nNats-Msg-Id: x","object":{}}`,
	"a very long type":            `{"id":"h10","eventType":"` + strings.Repeat("x", 5000) + `","object":{}}`,
	"a time before the calendar":  `{"id":"h11","eventType":"subscription.paid","created_at":-99999999999999999,"object":{"current_period_end_date":"0000-00-00T00:00:00Z"}}`,
	"a time past the calendar":    `{"id":"h12","eventType":"subscription.paid","created_at":1e300,"object":{"id":"s","last_transaction_id":"p12","metadata":{"user_id":"u"},"current_period_end_date":"9999999-01-01T00:00:00Z"}}`,
	"everything of a wrong shape": `{"id":"h13","eventType":"subscription.paid","created_at":[],"object":{"metadata":"x","customer":[1],"order":7,"transaction":{"id":{}},"subscription":false,"product":null,"items":{"0":1}}}`,
	"long texts in every field":   `{"id":"h14","eventType":"checkout.completed","object":{"provider_payment_id":"` + strings.Repeat("é", 4000) + `","metadata":{"kind":"pro","user_id":"` + strings.Repeat("u", 4000) + `"}}}`,
}

func TestAHostileBodyNeitherStopsNorDelaysOthers(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	for name, body := range hostile {
		_, err := w.provider.DeliverUntilAccepted(t.Context(), body)
		require.NoError(t, err, name)
	}
	w.deliver(t, pack("evt_good", "pay_good", "u_good", 7))
	wait.Until(t, func() bool {
		balance, err := query[int64](t, w.database, "select balance from portal.credits where user_id = 'u_good'")
		return err == nil && balance == 7
	})
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	require.EqualValues(t, len(hostile)+1, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event"))
}

func TestSendReplaysFilesUnchanged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	padded := " \n" + pack("evt_sent", "pay_sent", "u_sent", 5) + "\r\n\t"
	file := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(file, []byte(padded), 0o600))

	code, output := w.send(t, file, file)
	require.Zero(t, code, output)
	require.Equal(t, `200 {"status":"accepted","id":"evt_sent"}`+"\n"+`200 {"status":"duplicate","id":"evt_sent"}`+"\n", output)

	code, output = w.send(t, "/dev/null")
	require.Equal(t, 1, code, "an answer other than 2xx is a failure")
	require.Contains(t, output, "400")
	code, output = w.send(t, filepath.Join(t.TempDir(), "missing.json"))
	require.Equal(t, 1, code)
	require.Contains(t, output, "missing.json")
}

func TestSendSaysWhatIsWrongWithAnAddressOrAFile(t *testing.T) {
	t.Parallel()
	body := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(body, []byte(pack("evt_sent", "pay_sent", "u_sent", 5)), 0o600))
	for _, c := range []struct {
		args []string
		exit int
		said string
	}{
		{[]string{"--url=127.0.0.1:1", body}, 2, "--url cannot be read: it is like http://"},
		{[]string{"--url=localhost:1", body}, 2, "--url must begin with http:// or https://"},
		{[]string{"--url=http:///api", body}, 2, "--url names no host"},
		{[]string{"--url=http://127.0.0.1:1/api", body}, 1, "connection refused; does ingest run, and is this its LISTEN_ADDR?"},
		{[]string{"--url=http://127.0.0.1:1/api", "--salvaged", body}, 1, body + ": it is not a file of ingest check --salvage"},
	} {
		program := testenv.Start(t, "ingest", []string{"PROVIDER_WEBHOOK_SECRET=" + secret}, append([]string{"send"}, c.args...)...)
		require.Equal(t, c.exit, program.Exit(t), program.Output())
		require.Contains(t, program.Output(), c.said)
	}
}

func (w *world) send(t *testing.T, files ...string) (code int, output string) {
	t.Helper()
	program := testenv.Start(t, "ingest", []string{"PROVIDER_WEBHOOK_SECRET=" + secret},
		append([]string{"send", "--url", w.provider.URL}, files...)...)
	code = program.Exit(t)
	return code, program.Output()
}
