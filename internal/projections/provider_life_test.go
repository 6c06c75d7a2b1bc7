package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// life is a part of a customer's life with one provider: its events in the order in which the provider usually sends
// them, and what the tables have at the end. It was written by hand from the provider's documentation.
type life struct {
	Want   lifeEnd
	Events []struct {
		Name string
		Body json.RawMessage
	}
}

// lifeEnd is what the tables have at the end. Rejected has the reasons of rejections in the usual order.
type lifeEnd struct {
	Payments      []endPayment          `json:"payments,omitempty"`
	Subscriptions []endSubscription     `json:"subscriptions,omitempty"`
	Shown         map[string]endShown   `json:"shown,omitempty"`
	Credits       map[string]int64      `json:"credits,omitempty"`
	Ledger        map[string]endLedger  `json:"ledger,omitempty"`
	Licenses      map[string]endLicense `json:"licenses,omitempty"`
	Rejected      map[string]string     `json:"rejected,omitempty"`
}

type endPayment struct {
	ID           string `json:"id"`
	Order        string `json:"order,omitempty"`
	Checkout     string `json:"checkout,omitempty"`
	Subscription string `json:"subscription,omitempty"`
	User         string `json:"user,omitempty"`
	Kind         string `json:"kind,omitempty"`
	Product      string `json:"product,omitempty"`
	Amount       *int64 `json:"amount,omitempty"`
	Currency     string `json:"currency,omitempty"`
	Credits      int64  `json:"credits,omitempty"`
	Refunded     int64  `json:"refunded,omitempty"`
}

type endSubscription struct {
	ID          string `json:"id"`
	User        string `json:"user,omitempty"`
	Product     string `json:"product,omitempty"`
	Status      string `json:"status,omitempty"`
	PeriodStart string `json:"period_start,omitempty"`
	PeriodEnd   string `json:"period_end,omitempty"`
	CanceledAt  string `json:"canceled_at,omitempty"`
}

type endShown struct {
	Subscription string `json:"subscription,omitempty"`
	Status       string `json:"status,omitempty"`
}

type endLedger struct {
	Granted  int64 `json:"granted"`
	Reversed int64 `json:"reversed"`
}

type endLicense struct {
	Status string `json:"status"`
	GitHub string `json:"github,omitempty"`
}

const lives = "../providers/testdata/scenarios"

func TestEachProvidersOrdinaryLifeGivesTheRightRows(t *testing.T) {
	t.Parallel()
	eachLife(t, func(t *testing.T, rules Rules, of life, log []events.Event) {
		s := NewState()
		for _, e := range log {
			rules.Fold(s, e)
		}
		got := endingOf(s)
		for i, e := range log {
			if row := recorded(t, s, e.ID); row.Outcome == string(Rejected) {
				got.Rejected[of.Events[i].Name] = row.Reason
			}
		}
		require.Equal(t, indented(t, of.Want), indented(t, got))
	})
}

// ordersOfALife is how many orders are folded of one life. make test-arrivals folds more of them.
func ordersOfALife() int {
	if os.Getenv("ARRIVAL_ROUNDS") != "" {
		return 120
	}
	return 30
}

func TestEachProvidersEventsGiveTheSameMoneyInEveryOrder(t *testing.T) {
	t.Parallel()
	eachLife(t, func(t *testing.T, rules Rules, of life, log []events.Event) {
		random, want := rand.New(rand.NewPCG(1, 2)), indented(t, moneyOf(of.Want))
		for range ordersOfALife() {
			order := slices.Clone(log)
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			s := NewState()
			names := ""
			for i, e := range order {
				e.Seq = uint64(i + 1)
				names += e.ID + " " + e.Type + "\n"
				rules.Fold(s, e)
			}
			got := endingOf(s)
			got.Rejected = of.Want.Rejected // depends on the order
			require.Equal(t, want, indented(t, moneyOf(got)), names)
		}
	})
}

// moneyOf leaves out what may depend on the order of arrival: with which of its names a payment was seen first.
func moneyOf(e lifeEnd) lifeEnd {
	e.Payments = slices.Clone(e.Payments)
	for i := range e.Payments {
		e.Payments[i].ID, e.Payments[i].Order = "", ""
	}
	slices.SortFunc(e.Payments, func(a, b endPayment) int { return cmp.Compare(a.text(), b.text()) })
	return e
}

func (p endPayment) text() string {
	amount := orZero(p.Amount)
	p.Amount = nil // a pointer has no order
	return fmt.Sprint(p, amount)
}

func eachLife(t *testing.T, check func(*testing.T, Rules, life, []events.Event)) {
	t.Helper()
	files, err := filepath.Glob(lives + "/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		provider, name := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "catalogue" || providers.Named(provider) == nil {
			continue
		}
		t.Run(provider+"/"+name, func(t *testing.T) {
			t.Parallel()
			var of life
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &of))
			text, err = os.ReadFile(filepath.Join(filepath.Dir(file), "catalogue.json"))
			require.NoError(t, err)
			sold, err := catalogue.Parse(text)
			require.NoError(t, err)
			var log []events.Event
			for i, event := range of.Events {
				log = append(log, providers.Decode(events.Message{
					Seq: uint64(i + 1), Provider: provider, ID: event.Name, Body: event.Body, ReceivedAt: receivedAt.AddDate(1, 0, 0),
				}))
				require.False(t, log[i].Unreadable, event.Name)
			}
			check(t, Rules{Mode: ModeAny, Catalogue: sold}, of, log)
		})
	}
}

func endingOf(s *State) lifeEnd {
	e := lifeEnd{
		Shown: map[string]endShown{}, Credits: map[string]int64{}, Ledger: map[string]endLedger{},
		Licenses: map[string]endLicense{}, Rejected: map[string]string{},
	}
	for _, p := range s.Payments.Inserted() {
		if p.Known {
			e.Payments = append(e.Payments, endPayment{
				p.ProviderPaymentID, p.OrderID, p.ProviderCheckoutID, p.SubscriptionID, p.userOrBuyer(), p.Kind, p.ProductKey, p.Amount, p.Currency, orZero(p.Credits), orZero(p.RefundedAmount),
			})
		}
	}
	slices.SortFunc(e.Payments, func(a, b endPayment) int { return cmp.Compare(a.ID, b.ID) })
	for _, row := range s.Subscriptions.Inserted() {
		if row.Status != "" {
			e.Subscriptions = append(e.Subscriptions, endSubscription{
				row.SubscriptionID, row.UserID, row.ProductKey, row.Status, moment(row.CurrentPeriodStart), moment(row.CurrentPeriodEnd), moment(row.CanceledAt),
			})
		}
	}
	slices.SortFunc(e.Subscriptions, func(a, b endSubscription) int { return cmp.Compare(a.ID, b.ID) })
	for _, row := range s.Current.Inserted() {
		e.Shown[row.UserID] = endShown{row.SubscriptionID, row.Status}
	}
	for _, row := range s.Credits.Inserted() {
		if row.Granted != 0 || row.Reversed != 0 {
			e.Credits[row.UserID] = row.Balance
		}
	}
	for _, line := range s.Ledger.Inserted() {
		sum := e.Ledger[line.UserID]
		switch {
		case line.Entry == entryGrant, line.Entry == entryCorrection && line.Delta < 0:
			sum.Granted += line.Delta
		default:
			sum.Reversed -= line.Delta
		}
		e.Ledger[line.UserID] = sum
	}
	maps.DeleteFunc(e.Ledger, func(_ string, sum endLedger) bool { return sum == endLedger{} })
	for _, row := range s.Licenses.Inserted() {
		e.Licenses[row.UserID] = endLicense{row.Status, row.GitHubUsername}
	}
	return e
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func indented(t *testing.T, of lifeEnd) string {
	t.Helper()
	if len(of.Ledger) > 0 {
		maps.DeleteFunc(of.Ledger, func(_ string, sum endLedger) bool { return sum == endLedger{} })
	}
	text, err := json.MarshalIndent(of, "", " ")
	require.NoError(t, err)
	return string(text)
}

// userOrBuyer returns the user whom the payment's events name, or who has claimed it.
func (p *Payment) userOrBuyer() string {
	if users := p.Users(); len(users) > 0 {
		return users[0]
	}
	return ""
}

// docs/providers.md says what becomes of the event of the dashboard's test button, with a catalogue and without one.
func TestWithoutACatalogueATestProductIsOfNoKind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(lives + "/creem/test-button.json")
	require.NoError(t, err)
	var of life
	require.NoError(t, json.Unmarshal(text, &of))
	s := by(t, anyMode, [2]string{"creem", string(of.Events[0].Body)})
	require.Equal(t, map[string]string{"evt_test_button": "rejected unknown_kind"}, outcomes(s))
}

// The seller can bill something once beside the plan: its line has a moment, and not a period.
func TestALineOfOneMomentIsOfNoPeriod(t *testing.T) {
	t.Parallel()
	invoice := func(at int, id string, from, until int) [2]string {
		return [2]string{"stripe", fmt.Sprintf(`{"id":"evt_%[2]s","type":"invoice.paid","created":%[1]d,"data":{"object":{"id":"in_%[2]s","object":"invoice","status":"paid",
			"created":%[1]d,"amount_paid":900,"currency":"eur","parent":{"subscription_details":{"subscription":"sub_1","metadata":{"user_id":"u1"}}},
			"lines":{"data":[{"amount":900,"quantity":1,"period":{"start":%[3]d,"end":%[4]d},"pricing":{"price_details":{"price":"price_%[2]s","product":"prod_%[2]s"}}}]}}}}`,
			at, id, from, until)}
	}
	const begin, month = 1_772_359_200, 31 * 86_400
	s := by(t, anyMode, invoice(begin, "plan", begin, begin+month), invoice(begin+86_400, "extra", begin+86_400, begin+86_400))
	shown, _ := s.Current.Get("u1")
	require.Equal(t, time.Unix(begin+month, 0).UTC(), shown.CurrentPeriodEnd)
}

// What was changed earlier in the month can be in the invoice of a later change. Each line has the seats after its change.
func TestSeveralChangesInOneInvoiceAreNoSum(t *testing.T) {
	t.Parallel()
	const begin, end = 1_772_359_200, 1_775_037_600
	line := func(amount, seats, from int, prorated bool) string {
		return fmt.Sprintf(`{"amount":%d,"quantity":%d,"period":{"start":%d,"end":%d},"parent":{"subscription_item_details":{"proration":%v}},
			"pricing":{"price_details":{"price":"seat","product":"prod_seat"}}}`, amount, seats, from, end, prorated)
	}
	invoice := func(at int, lines ...string) [2]string {
		return [2]string{"stripe", fmt.Sprintf(`{"id":"evt_%[1]d","type":"invoice.paid","created":%[1]d,"data":{"object":{"id":"in_%[1]d","status":"paid","created":%[1]d,
			"subtotal":900,"amount_paid":900,"currency":"eur","parent":{"subscription_details":{"subscription":"sub_1","metadata":{"user_id":"u1"}}},
			"lines":{"data":[%[2]s]}}}}`, at, strings.Join(lines, ","))}
	}
	const first, second = begin + 9*86_400, begin + 19*86_400
	log := [][2]string{
		invoice(begin, line(2000, 2, begin, false)),
		invoice(second, line(-1000, 3, second, true), line(1600, 5, second, true), line(-1400, 2, first, true), line(2100, 3, first, true)),
	}
	sold := catalogueOf("version: 1\nproducts:\n  seat: {kind: subscription, credits: 100}")
	for _, order := range orders(len(log)) {
		s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, log[order[0]], log[order[1]])
		require.Equal(t, map[string]int64{"u1 subscription": 500}, leftOf(s), order)
	}
	yearly := strings.ReplaceAll(line(2100, 3, second, true), `"price":"seat"`, `"price":"seat_yearly"`)
	sold = catalogueOf("version: 1\nproducts:\n  prod_seat: {kind: subscription, credits: 100}")
	s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, invoice(second, line(1600, 5, second, true), yearly))
	require.Equal(t, map[string]int64{"u1 subscription": 800}, leftOf(s), "each price has seats of its own")
}

// A payment grants one product. If the catalogue sells another of its items, too, the event says so.
func TestAPaymentOfSeveralProductsGrantsOneAndSaysSo(t *testing.T) {
	t.Parallel()
	item := func(price, amount, more string) string {
		return `{"quantity":1,"price":{"id":"` + price + `","unit_price":{"amount":"` + amount + `"}}` + more + `}`
	}
	const change = `,"proration":{"rate":"0.5"}`
	for name, c := range map[string]struct {
		items []string
		note  Note
		left  map[string]int64
	}{
		"a plan and a pack":      {[]string{item("plan", "900", ""), item("pack", "2900", "")}, OneOfSeveral, map[string]int64{"u1 one_time": 50}},
		"a plan":                 {[]string{item("plan", "900", "")}, "", map[string]int64{"u1 subscription": 100}},
		"a plan, twice":          {[]string{item("plan", "900", ""), item("plan", "900", "")}, "", map[string]int64{"u1 subscription": 200}},
		"a plan and a fee":       {[]string{item("plan", "900", ""), item("fee", "2900", "")}, "", map[string]int64{"u1 subscription": 100}},
		"a plan and what is not": {[]string{item("plan", "900", ""), item("other", "2900", "")}, "", map[string]int64{"u1 subscription": 100}},
		"a plan after a change":  {[]string{item("plan", "900", ""), item("small", "500", change)}, "", map[string]int64{"u1 subscription": 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sold := catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100}\n  small: {kind: subscription, credits: 10}\n" +
				"  pack: {kind: one_time, credits: 50}\n  fee: {kind: none}")
			s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, [2]string{"paddle", `{"event_id":"evt_1","event_type":"transaction.completed","data":{"id":"txn_1",
				"origin":"web","status":"completed","subscription_id":"sub_1","currency_code":"EUR","custom_data":{"user_id":"u1"},
				"details":{"totals":{"grand_total":"3800"}},"items":[` + strings.Join(c.items, ",") + `]}}`})
			require.Equal(t, c.left, leftOf(s))
			require.Equal(t, string(c.note), recorded(t, s, "evt_1").Note)
		})
	}
}
