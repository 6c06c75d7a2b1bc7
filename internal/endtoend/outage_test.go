package endtoend

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

// Ingest is down for a day. A payment, a refund and the end of a subscription are lost: the provider has given up. Each is
// a difference whose sentence names the command that repairs it, and after these commands nothing differs.
func TestADayThatIngestWasDownIsPulledAndThenNothingDiffers(t *testing.T) {
	t.Parallel()
	for _, name := range providerapi.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseADay(t, name)
		})
	}
}

func loseADay(t *testing.T, name string) {
	now, api, says := time.Now().UTC().Truncate(time.Second), payapi.New(t, name), payapi.Dialects[name]
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	w := setupProviders(t, name)
	w.startProjector(t).WaitFor(t, "msg=projecting")
	deliver := func(e payapi.Event) error {
		p := providers.Named(name)
		secret, err := p.NewSecret(secretOf(name))
		require.NoError(t, err)
		status, answer, err := w.provider.Post(t.Context(), w.pathOf(p), p.Sign(secret, e.ID, []byte(e.Body), time.Now()), []byte(e.Body))
		if err == nil {
			require.Equal(t, http.StatusOK, status, answer)
		}
		return err
	}

	sold := []payapi.Made{
		says.Payment(1, 1200, ago(50)), says.Payment(2, 1200, ago(49)),
		says.Subscription(1, "active", now.AddDate(0, 0, 10), ago(48)),
	}
	before := happened(t, api, secretOf(name), sold...)
	for _, e := range before {
		require.NoError(t, deliver(e))
	}
	w.awaitProjected(t)
	require.EqualValues(t, 20, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"))

	w.ingest.Kill()
	w.ingest.Exit(t)
	missed := happened(t, api, secretOf(name),
		says.Payment(3, 700, ago(22)), says.Refund(sold[1], 1, 600, ago(12)), says.Subscription(1, "canceled", now.AddDate(0, 0, 10), ago(2)))
	for _, e := range missed {
		require.Error(t, deliver(e), "nobody listens")
	}

	variable := strings.ToUpper(name)
	w.settings = append(w.settings, variable+"_API_KEY="+payapi.Key, variable+"_API_URL="+api.URL, "CREEM_WEBHOOK_ID="+payapi.WebhookID)
	repaired := time.Now()
	w.startIngest(t, "PULL_INTERVAL=0")
	said := w.runWithExit(t, 3, "reconcile", name)
	found := time.Since(repaired)
	require.Contains(t, said, name+" has payment ")
	require.Contains(t, said, " of EUR 7.00, made ")
	require.Contains(t, said, name+" has paid back EUR 6.00 of payment ")
	require.Contains(t, said, " for user u_1 is canceled")
	require.Contains(t, said, "3 differences.")

	commands := regexp.MustCompile(`ingest (pull `+name+`(?: --since [^\s;]+)?)`).FindAllStringSubmatch(said, -1)
	require.Len(t, commands, 3)
	appended := 0
	for _, command := range commands {
		pull := testenv.Start(t, "ingest", append(w.env(), "ADMIN_ADDR="+adminOf(t, w.ingest)), strings.Fields(command[1])...)
		require.Zero(t, pull.Exit(t), pull.Output())
		appended += counted(t, pull.Output(), "appended")
	}
	pulled := time.Since(repaired)
	require.Equal(t, len(missed), appended, "each event once")
	w.awaitProjected(t)
	require.Contains(t, w.runWithExit(t, 0, "reconcile", name), "The tables have what "+name+" has.")
	t.Logf("%s: after ingest began to start again: %.1f s until the differences were shown, %.1f s until all was pulled, %.1f s until nothing differed",
		name, found.Seconds(), pulled.Seconds(), time.Since(repaired).Seconds())
	w.requireAllAccounted(t)
}

// happened makes objects at the provider, and returns their events, which its feed has from now on, signed with secretText.
func happened(t *testing.T, api *payapi.Server, secretText string, all ...payapi.Made) (list []payapi.Event) {
	t.Helper()
	name, p := api.Provider, providers.Named(api.Provider)
	secret, err := p.NewSecret(secretText)
	require.NoError(t, err)
	for _, made := range all {
		for i, sent := range made.Events {
			id := fmt.Sprintf("evt_%d_%d", made.At.Unix(), i)
			e := payapi.Event{ID: id, At: made.At, Body: payapi.Dialects[name].Body(id, sent.Type, made.At, sent.Object), Headers: map[string]string{}}
			for header, values := range p.Sign(secret, id, []byte(e.Body), made.At) {
				e.Headers[header] = values[0]
			}
			list = append(list, e)
		}
	}
	api.Has(all...)
	api.Add(list...)
	return list
}

// counted returns a count of the line with which ingest pull ends.
func counted(t *testing.T, output, what string) (n int) {
	t.Helper()
	match := regexp.MustCompile(`(\d+) ` + what + `, \d+ already there`).FindStringSubmatch(output)
	require.NotNil(t, match, output)
	_, err := fmt.Sscan(match[1], &n)
	require.NoError(t, err)
	return n
}
