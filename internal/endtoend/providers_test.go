package endtoend

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

// One ingest, one log and one set of tables have the events of all providers, and of the same users. What the tables
// have is the sum of what each scenario wants.
func TestAShopMayUseAllProvidersAtOnce(t *testing.T) {
	t.Parallel()
	shop := scenariosOfAll(t)
	w := setupProviders(t, providers.Names()...)
	w.settings = append(w.settings, "CATALOGUE_FILE="+mergedCatalogue(t, shop))
	w.startProjector(t)
	for _, d := range interleaved(shop) {
		status, answer := w.deliverTo(t, d.provider, d.id, d.body)
		require.Equal(t, http.StatusOK, status, "%s: %s", d.id, answer)
	}
	w.awaitProjected(t)
	w.requireWanted(t, shop)

	w.requireSendWorksForEach(t, shop)
	w.awaitProjected(t)
	w.requireWanted(t, shop)
	w.requireExplained(t)

	own := mustQuery[int64](t, w.database, `select count(*) from portal.processed_event where provider = 'payfold'`)
	require.Positive(t, own)
	allSigned := fmt.Sprintf(`"signed":%d,"own":%d,"pulled":0,"faults":0,`, w.head(t), own)
	require.Contains(t, w.verify(t, 0, "--strict", "--json"), allSigned)
	before := w.derivedRows(t)
	require.Contains(t, w.promote(t, "rebuild", "--promote"), "portal_next is live as portal")
	w.awaitProjected(t)
	require.Contains(t, w.verify(t, 0, "--strict", "--json"), allSigned)
	require.Equal(t, before, w.derivedRows(t))
}

// scenarioNames are the scenarios that are sent of each provider, as far as it has them. The ids of some are the same;
// of these the first is sent. The last one has events of unknown types, and Stripe's thin event, which names its object
// and does not have it. Each provider that has files of its own and types of others must have it.
var scenarioNames = []string{"refund-partial", "refund-full", "dispute-lost", "license", "pack", "first-payment", "unknown"}

// fewest is how many of them each provider has at least.
const fewest = 4

const scenarioFiles = "../providers/testdata/scenarios"

// scenario is a part of a customer's life with one provider, and the rows that it makes.
type scenario struct {
	provider *providers.Provider
	name     string

	Want struct {
		Payments []struct {
			ID, Order, Checkout, Subscription, User, Kind, Product, Currency string
			Amount, Credits, Refunded                                        int64
		}
		Subscriptions []struct {
			ID, User, Product, Status string
		}
		Credits  map[string]int64
		Ledger   map[string]struct{ Granted, Reversed int64 }
		Licenses map[string]struct{ Status, GitHub string }
	}
	Events []struct {
		Name string
		Body json.RawMessage
	}
}

func scenariosOfAll(t *testing.T) (shop []scenario) {
	t.Helper()
	for _, p := range providers.All {
		had, payments := 0, map[string]bool{}
		for _, name := range scenarioNames {
			s, has := readScenario(t, p, name)
			for _, payment := range s.Want.Payments {
				has = has && !payments[payment.ID]
				payments[payment.ID] = true
			}
			if has {
				had++
				shop = append(shop, s)
			}
		}
		require.GreaterOrEqual(t, had, fewest, p.Name())
		if p.Name() == folderOf(p) && p.Name() != "payfold" { // whose types are all known
			require.Equal(t, "unknown", shop[len(shop)-1].name, p.Name())
		}
	}
	return shop
}

func readScenario(t *testing.T, p *providers.Provider, name string) (s scenario, has bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(scenarioFiles, folderOf(p), name+".json"))
	if os.IsNotExist(err) {
		return s, false
	}
	require.NoError(t, err)
	s.provider, s.name = p, name
	require.NoError(t, json.Unmarshal(distinct(text, p.Name()+"_"+name), &s))
	for _, e := range s.Events {
		if p.Name() == "provider" && !bytes.Contains(e.Body, []byte(`"eventType":`)) {
			return s, false // Creem's other envelope
		}
	}
	return s, true
}

// folderOf is where a provider's scenarios are: the bodies of payfold's specification are those of Creem.
func folderOf(p *providers.Provider) string {
	if p.Name() == "provider" {
		return "creem"
	}
	return p.Name()
}

// distinct makes counted ids, such as "pay_10", those of the scenario. Users remain the same.
func distinct(text []byte, scenario string) []byte {
	return countedID.ReplaceAllFunc(text, func(id []byte) []byte {
		if bytes.HasPrefix(id, []byte(`"u_`)) || id[len(id)-1] == ':' {
			return id
		}
		return fmt.Appendf(nil, `"%s_%s"`, bytes.Trim(id, `"`), scenario)
	})
}

var countedID = regexp.MustCompile(`"[a-z]+_[0-9]+":?`)

// mergedCatalogue writes a catalogue with the products of all providers.
func mergedCatalogue(t *testing.T, shop []scenario) (file string) {
	t.Helper()
	merged := struct {
		Version  int                        `json:"version"`
		Products map[string]json.RawMessage `json:"products"`
	}{}
	for _, s := range shop {
		text, err := os.ReadFile(filepath.Join(scenarioFiles, folderOf(s.provider), "catalogue.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &merged)) // adds to the map
	}
	text, err := json.Marshal(merged)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "catalogue.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// toDeliver is one event of a scenario.
type toDeliver struct {
	provider *providers.Provider
	id       string // for a provider that sends it in a header
	body     []byte
}

// interleaved returns the events of all scenarios, one of each provider in turn. Those of one provider keep their order.
func interleaved(shop []scenario) (out []toDeliver) {
	queues := map[*providers.Provider][]toDeliver{}
	for _, s := range shop {
		for _, e := range s.Events {
			queues[s.provider] = append(queues[s.provider], toDeliver{s.provider, "msg_" + s.name + "_" + e.Name, e.Body})
		}
	}
	for sent := true; sent; {
		sent = false
		for _, p := range providers.All {
			if queue := queues[p]; len(queue) > 0 {
				out, queues[p], sent = append(out, queue[0]), queue[1:], true
			}
		}
	}
	return out
}

// setupProviders is setup with an ingest that has the secrets of these providers only.
func setupProviders(t testing.TB, served ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t), database: testenv.Database(t)}
	for _, name := range served {
		w.settings = append(w.settings, secretVariable(name)+"="+secretOf(name))
	}
	w.ingest = testenv.Start(t, "ingest", append(w.env(), "LISTEN_ADDR="+w.listen, "PUBLISH_TIMEOUT=4500ms")) // a disk may be busy
	w.ingest.WaitFor(t, `msg="receiving deliveries"`)
	return w
}

// secretVariable is the variable of a provider's secret.
func secretVariable(provider string) string {
	if provider == "payfold" {
		return "PAYFOLD_EVENT_SECRET"
	}
	return strings.ToUpper(provider) + "_WEBHOOK_SECRET"
}

// secretOf returns another secret for each provider. Each provider accepts the form.
func secretOf(provider string) string {
	if provider == "provider" {
		return secret
	}
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte("the secret of "+provider))
}

// deliverTo signs a body as the provider does, and posts it to the provider's path, until ingest answers with another
// status than 503.
func (w *world) deliverTo(t *testing.T, p *providers.Provider, id string, body []byte) (status int, answer string) {
	t.Helper()
	secret, err := p.NewSecret(secretOf(p.Name()))
	require.NoError(t, err)
	for status = http.StatusServiceUnavailable; status == http.StatusServiceUnavailable; {
		status, answer, err = w.provider.Post(t.Context(), w.pathOf(p), p.Sign(secret, id, body, time.Now()), body)
		require.NoError(t, err)
	}
	return status, answer
}

// pathOf is where the deliveries of a provider go.
func (w *world) pathOf(p *providers.Provider) string { return "http://" + w.listen + p.Path() }

// requireWanted compares the tables with the sums of what the scenarios want.
func (w *world) requireWanted(t *testing.T, shop []scenario) {
	t.Helper()
	var payments, subscriptions []string
	credits, granted, reversed, licenses := map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]string{}
	for _, s := range shop {
		for _, p := range s.Want.Payments {
			payments = append(payments, fmt.Sprintf("%s %s order %s checkout %s of %s: %s bought %s %s for %d %s, %d credits, %d refunded",
				s.provider.Name(), p.ID, p.Order, p.Checkout, p.Subscription, p.User, p.Kind, p.Product, p.Amount, p.Currency, p.Credits, p.Refunded))
		}
		for _, of := range s.Want.Subscriptions {
			subscriptions = append(subscriptions, fmt.Sprintf("%s %s of %s: %s %s", s.provider.Name(), of.ID, of.User, of.Product, of.Status))
		}
		for user, balance := range s.Want.Credits {
			credits[user] += balance
		}
		for user, sum := range s.Want.Ledger {
			granted[user] += sum.Granted
			reversed[user] += sum.Reversed
		}
		for user, license := range s.Want.Licenses {
			licenses[user] = license.Status + " " + license.GitHub
		}
	}
	slices.Sort(payments)
	slices.Sort(subscriptions)
	require.Equal(t, payments, w.lines(t, `
		select format('%s %s order %s checkout %s of %s: %s bought %s %s for %s %s, %s credits, %s refunded', provider, provider_payment_id, order_id,
			provider_checkout_id, subscription_id, user_id, kind, product_key, coalesce(amount, 0), currency, coalesce(credits, 0), coalesce(refunded_amount, 0))
		from portal.payment where user_id is not null`))
	require.Equal(t, subscriptions, w.lines(t, `
		select format('%s %s of %s: %s %s', provider, subscription_id, user_id, product_key, status)
		from portal.subscription_state`))
	require.Equal(t, linesOf(credits), w.lines(t, `select format('%s %s', user_id, balance) from portal.credits where granted > 0`))
	require.Equal(t, linesOf(granted), w.lines(t, `
		select format('%s %s', user_id, sum(case when entry = 'grant' or entry = 'correction' and delta < 0 then delta else 0 end))
		from portal.credit_ledger group by user_id`))
	require.Equal(t, linesOf(reversed), w.lines(t, `
		select format('%s %s', user_id, sum(case when entry = 'grant' or entry = 'correction' and delta < 0 then 0 else -delta end))
		from portal.credit_ledger group by user_id`))
	require.Equal(t, linesOf(licenses), w.lines(t, `select format('%s %s %s', user_id, status, github_username) from portal.pro_license`))
	require.Equal(t, []string{"false"}, w.lines(t, `
		select distinct (e.provider is distinct from p.provider)::text
		from portal.processed_event e join portal.payment p using (provider_payment_id)`), "an event is about a payment of its own provider")
	require.Equal(t, []string{"ignored"}, w.lines(t, `select distinct outcome from portal.processed_event where action = 'none'`))
	require.Zero(t, mustQuery[int64](t, w.database, `select count(*) from portal.processed_event where outcome = 'rejected'`))
}

func linesOf[V any](of map[string]V) (out []string) {
	for user, value := range of {
		out = append(out, fmt.Sprint(user, " ", value))
	}
	slices.Sort(out)
	return out
}

// lines returns the texts that a query reads, sorted as Go sorts.
func (w *world) lines(t *testing.T, sql string) []string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	defer connection.Close(t.Context())
	rows, err := connection.Query(t.Context(), sql)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	slices.Sort(out)
	return out
}

func (w *world) derivedRows(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, table := range tables.NameList() {
		out[table] = rowsOf(t, w.database, table)
	}
	return out
}

// requireSendWorksForEach sends the event of each provider's licence again. A provider that has no id in its bodies
// sends it as another event then, which changes no payment.
func (w *world) requireSendWorksForEach(t *testing.T, shop []scenario) {
	t.Helper()
	for _, s := range shop {
		if s.name != "license" {
			continue
		}
		file := filepath.Join(t.TempDir(), "event.json")
		require.NoError(t, os.WriteFile(file, s.Events[len(s.Events)-1].Body, 0o600))
		program := testenv.Start(t, "ingest", w.settings, "send", "--url=http://"+w.listen, "--provider="+s.provider.Name(), file)
		require.Zero(t, program.Exit(t), program.Output())
		want := `200 {"status":"duplicate"`
		if s.provider.IDInHeader() {
			want = `200 {"status":"accepted","id":"msg_`
		}
		require.True(t, strings.HasPrefix(program.Output(), want), "%s: %s", s.provider.Name(), program.Output())
	}
}

// requireExplained: the same sentence explains the payment of each provider.
func (w *world) requireExplained(t *testing.T) {
	t.Helper()
	for _, p := range providers.All {
		event := mustQuery[string](t, w.database, `select event_id from portal.payment where provider = $1 and kind = 'pro'`, p.Name())
		require.Regexp(t, `It says that payment \S+ of user u_[12] arrived\. `, w.run(t, "explain", event), p.Name())
	}
}
