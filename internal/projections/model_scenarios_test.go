package projections_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
)

// scenario is a part of a customer's life with one provider.
type scenario struct {
	name string // provider/file
	log  []events.Event
}

// scenarios reads the scenarios of all providers, and one catalogue with the products of all.
var scenarios = sync.OnceValues(func() (all []scenario, sold *catalogue.Catalogue) {
	const folder = "../providers/testdata/scenarios"
	files, _ := filepath.Glob(folder + "/*/*.json")
	products := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		var read struct {
			Products map[string]any
			Events   []struct {
				Name string
				Body json.RawMessage
			}
		}
		if err != nil || json.Unmarshal(text, &read) != nil {
			panic(file)
		}
		maps.Copy(products, read.Products)
		s := scenario{name: strings.TrimSuffix(strings.TrimPrefix(file, folder+"/"), ".json")}
		for i, e := range read.Events {
			s.log = append(s.log, providers.Decode(events.Message{
				Seq: uint64(i + 1), Provider: filepath.Base(filepath.Dir(file)), ID: e.Name, Body: e.Body,
				ReceivedAt: time.Date(2027, 12, 1, 0, 0, 0, 0, time.UTC),
			}))
		}
		if len(s.log) > 0 {
			all = append(all, s)
		}
	}
	text, _ := json.Marshal(map[string]any{"version": 1, "products": products})
	sold, err := catalogue.Parse(text)
	if err != nil || len(all) == 0 {
		panic(fmt.Sprint("scenarios: ", err))
	}
	return all, sold
})

func TestEachScenarioGivesTheTablesOfTheModel(t *testing.T) {
	t.Parallel()
	all, sold := scenarios()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			requireModel(t, projections.ModeAny, sold, s.log)
		})
	}
}

// Some customers of some providers, in any order, with repetitions, gaps and refunds.
func TestMixedScenariosGiveTheTablesOfTheModel(t *testing.T) {
	t.Parallel()
	all, sold := scenarios()
	rapid.Check(t, func(t *rapid.T) {
		var logs [][]events.Event
		for i, of := range rapid.SliceOfN(rapid.SampledFrom(all), 1, 6).Draw(t, "scenarios") {
			user := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user")
			logs = append(logs, renamed(of.log, fmt.Sprintf("%d-", i), user))
		}
		log := disturbed(t, withRefunds(t, interleaved(t, logs)))
		requireModel(t, projections.ModeAny, sold, log)
	})
}

// String names the scenario in the output of rapid.
func (s scenario) String() string { return s.name }

// renamed puts the prefix before all ids of the scenario, so that no two scenarios meet, and gives its users to
// one user.
func renamed(log []events.Event, prefix, user string) []events.Event {
	log = slices.Clone(log)
	for i := range log {
		e := &log[i]
		for _, id := range []*string{&e.ID, &e.Transaction, &e.Order, &e.Checkout, &e.SubscriptionID, &e.Reversal.ID} {
			if *id != "" {
				*id = prefix + *id
			}
		}
		if e.UserID != "" {
			e.UserID = user
		}
	}
	return log
}

func interleaved(t *rapid.T, logs [][]events.Event) (log []events.Event) {
	var turns []int
	for i, one := range logs {
		turns = append(turns, slices.Repeat([]int{i}, len(one))...)
	}
	for _, i := range rapid.Permutation(turns).Draw(t, "turns") {
		log, logs[i] = append(log, logs[i][0]), logs[i][1:]
	}
	return log
}

// withRefunds adds refunds and disputes of some payments of the log. Several events can be about one of them.
func withRefunds(t *rapid.T, log []events.Event) []events.Event {
	for i, e := range slices.Clone(log) {
		if e.Action != events.Payment || e.PaymentID() == "" {
			continue
		}
		for n := range max(0, rapid.IntRange(-3, 3).Draw(t, "refunds")) {
			r := events.Event{
				ID: fmt.Sprintf("refund-%d-%d", i, n), Provider: e.Provider, Action: events.Reverse, Mode: e.Mode,
				Transaction: e.Transaction, Order: e.Order,
				OccurredAt: e.OccurredAt.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "hours")) * time.Hour),
			}
			r.Reversal = events.Reversal{
				ID:    rapid.SampledFrom([]string{"", r.ID, fmt.Sprintf("refund-%d-0", i)}).Draw(t, "id"),
				Cause: events.Refund,
				Status: rapid.SampledFrom([]events.ReversalStatus{
					events.Succeeded, events.Succeeded, events.Pending,
					events.Failed,
				}).Draw(t, "status"),
				Amount: someNumber(t, "amount", 1500), Total: someNumber(t, "total", 1500), Paid: someNumber(t, "paid",
					3000),
			}
			r.Reversal.Currency = rapid.SampledFrom([]string{"", "EUR", "USD"}).Draw(t, "currency")
			switch rapid.IntRange(0, 5).Draw(t, "of credits") {
			case 4:
				r.Reversal.Amount, r.Reversal.Total, r.Reversal.Paid = events.Number{}, events.Number{}, events.Number{}
				r.Reversal.Credits = someNumber(t, "credits", 60)
			case 5: // only the tax
				r.Reversal.Total, r.Reversal.Credits = events.Number{}, events.Number{Present: true}
			}
			log = append(log, r)
		}
	}
	return log
}

func someNumber(t *rapid.T, name string, most int64) events.Number {
	n := rapid.Int64Range(-most, most).Draw(t, name)
	return events.Number{Value: max(0, n), Present: n >= 0}
}

// disturbed may leave out events, send some again, and change their order.
func disturbed(t *rapid.T, log []events.Event) []events.Event {
	if rapid.Bool().Draw(t, "drops") {
		log = slices.DeleteFunc(log, func(events.Event) bool { return rapid.IntRange(0, 9).Draw(t, "drop") == 9 })
	}
	if rapid.Bool().Draw(t, "disorderly") {
		log = rapid.Permutation(log).Draw(t, "order")
	}
	for range rapid.IntRange(0, 2).Draw(t, "retries") {
		if len(log) > 0 {
			log = append(log, log[rapid.IntRange(0, len(log)-1).Draw(t, "retry")])
		}
	}
	return log
}

// requireModel folds the log and compares the tables with those of the model.
func requireModel(t require.TestingT, mode projections.Mode, sold *catalogue.Catalogue, log []events.Event) {
	s := projections.NewState()
	rules := projections.Rules{Mode: mode, Catalogue: sold}
	var told strings.Builder
	for i, e := range log {
		e.Seq = uint64(i + 1)
		told.WriteString(eventLine(e))
		reach := reachOf(s, rules, e)
		rules.Fold(s, e)
		reach.requireCovers(t, s, &told)
	}
	m := newNaive(mode, sold, log)
	want := m.tablesOf()
	got := slices.DeleteFunc(foldedTables(s), func(row string) bool { return isFormerLicence(row, want) })
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"),
		"the model is expected, the fold is actual; the log:\n%s", &told)
}

// isFormerLicence reports whether it is a revoked licence of a user who has no payment for one. It is there only if a
// payment was a licence of this user before later events, so it depends on the order of arrival.
func isFormerLicence(row string, want []string) bool {
	user, status, is := strings.Cut(row, ": revoked")
	return is && status != "" && strings.HasPrefix(user, "licence of") && !slices.ContainsFunc(want,
		func(w string) bool { return strings.HasPrefix(w, user+":") })
}

// eventLine writes the facts that an event has.
func eventLine(e events.Event) string {
	line := fmt.Sprintf("%s %s %s", e.OccurredAt.Format(time.DateTime), e.ID, e.Action)
	add := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "false" && text != "[]" {
			line += " " + name + "=" + text
		}
	}
	number := func(name string, n events.Number) {
		if n.Bad {
			add(name, "unreadable")
		} else if n.Present {
			add(name, n.Value)
		}
	}
	if e.Mode != events.Live {
		add("mode", e.Mode)
	}
	add("illegible", e.InvalidText)
	add("user", e.UserID)
	add("tx", e.Transaction)
	add("order", e.Order)
	add("sub", e.SubscriptionID)
	add("recurring", e.Recurring)
	add("kind", e.Kind)
	add("product", e.Product)
	add("key", e.ProductKey)
	add("items", e.Items)
	number("credits", e.Credits)
	number("units", e.Units)
	number("amount", e.Amount)
	add("of_transaction", e.AmountOfTransaction)
	add("unpaid", e.Unpaid)
	add("trial", e.Trial)
	add("prorated", e.Prorated)
	add("status", e.Status)
	add("start", moment(e.PeriodStart))
	add("end", moment(e.PeriodEnd))
	add("canceled_at", moment(e.CanceledAt))
	add("github", e.GitHubUser)
	if e.Action == events.Reverse {
		add("reversal", e.Reversal.ID)
		add("status", e.Reversal.Status)
		number("amount", e.Reversal.Amount)
		add("currency", e.Reversal.Currency)
		number("total", e.Reversal.Total)
		number("paid", e.Reversal.Paid)
		number("credits", e.Reversal.Credits)
	}
	return line + "\n"
}
