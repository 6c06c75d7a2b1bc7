package projections

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// A world has every shape that an event of one shop's payments can have.
type world struct {
	name   string
	rules  Rules
	kind   Kind
	ending func(*State) string // what must not depend on the order
	shapes []events.Event
	has    map[string]bool
}

const catalogueOfArrivals = `
version: 1
products:
  plan: {kind: subscription, credits: 30, drip: monthly, months: 3, valid_months: 2}
  pack: {kind: one_time, credits: 200}
  tool: {kind: pro}
  plain: {kind: subscription}
`

func worlds(t require.TestingT, payments int) []world {
	catalogue, err := catalogue.Parse([]byte(catalogueOfArrivals))
	require.NoError(t, err)
	var all []world
	for kind, product := range map[Kind]string{KindSubscription: "plan", KindOneTime: "pack", KindPro: "tool"} {
		plain := world{name: kind, rules: anyMode, kind: kind, ending: ending, has: map[string]bool{}}
		mixed := world{name: kind + " of a subscription that names another kind, too", rules: anyMode, kind: kind, ending: ending, has: map[string]bool{}}
		foreign := world{name: kind + " of a subscription of another user", rules: anyMode, kind: kind, ending: ending, has: map[string]bool{}}
		sold := world{name: kind + " of a catalogue", rules: Rules{Mode: ModeAny, Catalogue: catalogue}, kind: kind, ending: ending, has: map[string]bool{}}
		for _, other := range []Kind{KindSubscription, KindOneTime, KindPro} {
			mixed.add("subscription.update", `"id":"s1","metadata":{"kind":"`+other+`"}`)
		}
		for payment := 1; payment <= payments; payment++ {
			plain.claims(payment, `"credits":200,"key":"p1","github":"bob"`, `"credits":100,"key":"p2","github":"ada"`)
			plain.others(payment)
			mixed.renewals(payment)
			sold.claims(payment, `"key":"`+product+`","github":"ada"`, `"key":"nothing"`)
			sold.others(payment)
			foreign.ofAnotherUser(payment, `"kind":"`+kind+`","credits":200`, `"credits":200`, `"kind":"`+kind+`"`, ``)
		}
		all = append(all, plain, mixed, sold, foreign)
	}
	products := world{name: "several products of a catalogue", rules: Rules{Mode: ModeAny, Catalogue: catalogue}, ending: ending, has: map[string]bool{}}
	foreign := world{name: "several products of a subscription of another user", rules: Rules{Mode: ModeAny, Catalogue: catalogue}, ending: ending, has: map[string]bool{}}
	for payment := 1; payment <= payments; payment++ {
		products.products(payment)
		foreign.ofAnotherUser(payment, `"key":"plan"`, `"key":"pack"`, `"key":"tool"`, `"key":"nothing"`)
	}
	all = append(all, products, foreign)
	if payments == 1 {
		all = append(all, worldsOfLives()...)
	}
	slices.SortFunc(all, func(a, b world) int { return strings.Compare(a.name, b.name) })
	return all
}

// claims adds every combination of the fields of a claim.
func (w *world) claims(payment int, sales ...string) {
	for _, names := range []string{"t", "o", "to"} {
		for _, user := range []string{`"user_id":"u1"`, ``} {
			for _, kind := range []string{`"kind":"` + w.kind + `"`, ``} {
				for _, sale := range append(sales, ``) {
					for _, amount := range []string{`"amount_paid":1000`, `"amount_paid":1210,"currency":"EUR"`, `"amount_paid":0,"amount_due":1000`, `"amount_paid":0`} {
						metadata := `"metadata":{` + joined(user, kind, sale) + `}`
						for _, subscription := range []string{`"subscription":"s1"`, ``} {
							w.add("checkout.completed", joined(subscription, named(payment, names, amount), metadata))
						}
						w.add("subscription.paid", joined(`"id":"s1"`, named(payment, names, amount), metadata))
						w.add("subscription.paid", joined(named(payment, names, amount), metadata))
					}
				}
			}
		}
	}
}

// renewals adds claims whose payment may take its kind from its subscription, and events that tell that kind.
func (w *world) renewals(payment int) {
	for _, names := range []string{"t", "o", "to"} {
		for _, metadata := range []string{`"user_id":"u1","credits":200`, `"kind":"` + w.kind + `","github":"bob"`, ``} {
			object := joined(named(payment, names, ""), `"metadata":{`+metadata+`}`)
			w.add("subscription.paid", `"id":"s1",`+object)
			w.add("checkout.completed", `"subscription":"s1",`+object)
			w.add("checkout.completed", object)
		}
		for _, other := range []Kind{KindSubscription, KindPro} {
			w.add("subscription.update", joined(`"id":"s1"`, named(payment, names, ""), `"metadata":{"kind":"`+other+`"}`))
		}
		w.add("refund.created", taking(payment, names, ""))
	}
}

// products adds claims of several products, which the provider or only the metadata names.
func (w *world) products(payment int) {
	for _, product := range []string{"plan", "pack", "tool", "plain", "nothing", ""} {
		for _, sale := range []string{`"product":"` + product + `","metadata":{"user_id":"u1","github":"ada"}`, `"metadata":{"user_id":"u1","key":"` + product + `"}`, `"metadata":{"kind":"pro","key":"` + product + `"}`, `"metadata":{"kind":"one_time","key":"` + product + `"}`} {
			for _, names := range []string{"t", "o", "to"} {
				object := joined(named(payment, names, ""), sale)
				w.add("checkout.completed", object)
				w.add("checkout.completed", `"subscription":"s1",`+object)
				w.add("subscription.paid", `"id":"s1",`+object)
				w.add("subscription.paid", object)
			}
		}
	}
	for _, names := range []string{"t", "o", "to"} {
		w.add("refund.created", taking(payment, names, ""))
		w.add("subscription.update", joined(`"id":"s1"`, named(payment, names, "")))
	}
	w.add("subscription.canceled", `"id":"s1"`)
}

// ofAnotherUser adds claims of one user, and status events of their subscription that name another user.
func (w *world) ofAnotherUser(payment int, sales ...string) {
	for _, names := range []string{"t", "o", "to"} {
		for _, sale := range sales {
			object := joined(named(payment, names, ""), `"metadata":{`+joined(`"user_id":"u1"`, sale)+`}`)
			w.add("checkout.completed", object)
			w.add("checkout.completed", `"subscription":"s1",`+object)
			w.add("subscription.paid", `"id":"s1",`+object)
		}
		for _, user := range []string{`"metadata":{"user_id":"u2"}`, ``} {
			w.add("subscription.active", joined(`"id":"s1"`, named(payment, names, ""), user))
		}
		w.add("refund.created", taking(payment, names, ""))
		w.add("refund.created", joined(`"amount":500`, taking(payment, names, `,"amount_paid":1000`)))
	}
	w.add("subscription.active", `"id":"s1","metadata":{"user_id":"u2"}`)
}

// others adds the lifecycle events and the reversals.
func (w *world) others(payment int) {
	for _, status := range []string{"active", "past_due", "canceled", "expired", "update"} {
		for _, names := range []string{"", "t", "to"} {
			for _, metadata := range []string{`"metadata":{"user_id":"u1"}`, `"metadata":{"kind":"` + w.kind + `","github":"cy"}`, `"customer":{"external_id":"u1"}`, ``} {
				w.add("subscription."+status, joined(`"id":"s1"`, named(payment, names, ""), metadata))
			}
		}
	}
	for _, status := range []string{"trialing", "unknown", "merged"} {
		for _, metadata := range []string{`"metadata":{"user_id":"u1"}`, ``} {
			w.add("subscription.update", joined(`"id":"s1","status":"`+status+`"`, metadata))
		}
	}
	for _, reversal := range []string{"refund.created", "dispute.created"} {
		for _, names := range []string{"t", "o", "to"} {
			for _, paid := range []string{`,"amount_paid":1000`, ``} {
				for _, amount := range []string{``, `"amount":250`, `"amount":1000`, `"amount":250,"status":"succeeded"`, `"amount":250,"status":"requiresAction"`} {
					w.add(reversal, joined(amount, taking(payment, names, paid)))
				}
				w.add(reversal, taking(payment, names, paid+`,"refunded_amount":500`))
				w.add(reversal, taking(payment, names, paid+`,"refunded_amount":1000`))
			}
		}
	}
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ",")
}

// named returns the fields that name a payment, by transaction, order or both, with its amount.
func named(payment int, names, amount string) string {
	switch names {
	case "t":
		return joined(fmt.Sprintf(`"last_transaction":{"id":"t%d"}`, payment), strings.TrimSuffix(`"amount":`+plainAmount(amount), `"amount":`))
	case "o":
		return `"order":{` + joined(fmt.Sprintf(`"id":"o%d"`, payment), amount) + `}`
	case "to":
		return `"order":{` + joined(fmt.Sprintf(`"id":"o%d","transaction":"t%[1]d"`, payment), amount) + `}`
	}
	return ""
}

func plainAmount(amount string) string {
	if amount == `"amount_paid":1000` {
		return "1000"
	}
	return ""
}

func taking(payment int, names, more string) string {
	switch names {
	case "t":
		return fmt.Sprintf(`"transaction":{"id":"t%d"%s}`, payment, more)
	case "o":
		return fmt.Sprintf(`"order":"o%d","transaction":{"order":"o%[1]d"%s}`, payment, more)
	}
	return fmt.Sprintf(`"transaction":{"id":"t%d","order":"o%[1]d"%s}`, payment, more)
}

func (w *world) add(eventType, object string) {
	i, key := len(w.has), eventType+object
	if eventType == "checkout.completed" && i%3 > 0 {
		object = joined(fmt.Sprintf(`"id":"c%d"`, i%3), object)
	}
	body := at(i*37%10007, ofType(eventType, fmt.Sprintf("e%d", i), object)) // the provider's times are in no order
	e := providers.Decode(events.Message{Provider: "provider", Body: []byte(body), ReceivedAt: receivedAt})
	if e.InvalidText || e.Unreadable {
		panic(body)
	}
	if !w.has[key] {
		w.has[key] = true
		w.shapes = append(w.shapes, e)
	}
}

// ends folds the events in that order. It returns the ending.
func (w *world) ends(s *State, set []events.Event, order []int) string {
	s.Reset()
	for i, at := range order {
		e := set[at]
		e.Seq = uint64(i + 1)
		w.rules.Fold(s, e)
	}
	return w.ending(s)
}

// ending returns what the tables have at the end. It leaves out only what the reference says depends on the order of
// arrival: by which of its names a payment is known, the places of events in the log, and licences that were revoked
// because their payment turned out to be of another kind.
func ending(s *State) string {
	out := []string{monthsOf(s)} // all events are of one month
	names := map[string]string{}
	add := func(table string, row any, without ...string) {
		line := lines(table, []any{row})[0] + " "
		for _, column := range append(without, "stream_seq", "reversed_seq", "joined", "facts") {
			line = regexp.MustCompile(" "+column+"=[^ ]* ").ReplaceAllString(line, " ")
		}
		for id, name := range names {
			line = strings.ReplaceAll(line, "provider_payment_id="+id+" ", "provider_payment_id="+name+" ")
		}
		out = append(out, line)
	}
	sums := map[string]int64{}
	for _, p := range s.Payments.All() {
		names[p.ProviderPaymentID] = nameOf(p)
	}
	for _, line := range s.Ledger.Lines() {
		sums["sum of "+names[line.ProviderPaymentID]+" "+line.UserID+" "+line.Kind] += line.Delta
	}
	for what, sum := range sums {
		if sum != 0 {
			out = append(out, fmt.Sprint(what, " ", sum))
		}
	}
	for id, name := range names {
		part, granted, reversed := 0, int64(0), int64(0)
		of := s.Ledger.grants(id)
		if p, _ := s.Payments.Get(id); len(of) > 0 && !sameMonth(of[0].AvailableAt, p.OccurredAt) {
			part = 1 // nothing was granted in the first month
		}
		for i, g := range of {
			granted, reversed = granted+g.left+g.reversed, reversed+g.reversed
			if i+1 < len(of) && sameMonth(g.AvailableAt, of[i+1].AvailableAt) {
				continue
			}
			part++ // as the view credit_grant numbers them
			out = append(out, fmt.Sprintf("part %d of %s: %s %s %d-%d", part, name, g.UserID, g.Kind, granted, reversed))
			granted, reversed = 0, 0
		}
	}
	for _, p := range s.Payments.All() {
		if said := p.Facts.where(func(f *Fact) bool { return f.Says == Paid }); len(said) > 0 || p.UserID != "" || p.RefundedAmount != nil {
			add("payment", p)
		}
	}
	for _, row := range s.Credits.All() {
		if row.Granted != 0 || row.Reversed != 0 {
			add("credits", row)
		}
	}
	for _, row := range s.Subscriptions.All() {
		if row.Status != "" {
			add("subscription_state", row)
		}
	}
	for _, row := range s.Current.All() {
		add("subscription", row)
	}
	for _, row := range s.Licenses.All() {
		if p, _ := s.Payments.Get(row.ProviderPaymentID); p.Kind == KindPro && p.UserID == row.UserID {
			add("pro_license", row)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// nameOf returns a payment's name, which is the same in any order of arrival.
func nameOf(p Payment) string { return p.TransactionID + "/" + p.OrderID }

func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}

// inEveryOrder folds the bodies into empty tables in every order, and calls check with each result.
func inEveryOrder(t *testing.T, rules Rules, bodies []string, check func(s *State, order []int)) {
	t.Helper()
	for _, order := range orders(len(bodies)) {
		s := NewState()
		for _, i := range order {
			foldInto(t, s, rules, bodies[i])
		}
		check(s, order)
	}
}

// disagreement describes two orders of the set with different results; empty if there are none.
func (w *world) disagreement(s *State, set []events.Event, orders [][]int) string {
	first := w.ends(s, set, orders[0])
	for _, order := range orders[1:] {
		if other := w.ends(s, set, order); other != first {
			text := w.name + "\n"
			for i, e := range set {
				text += fmt.Sprintf("%d %s %s\n", i, e.OccurredAt.Format("01-02 15:04"), shapeOf(e))
			}
			return text + fmt.Sprintf("in order %v:\n%s\nin order %v:\n%s\n", orders[0], first, order, other)
		}
	}
	return ""
}

// smallest is disagreement, with as few events as possible.
func (w *world) smallest(s *State, set []events.Event, orders [][]int) string {
	found := w.disagreement(s, set, orders)
	for i := 0; found != "" && i < len(set); i++ {
		fewer := slices.Delete(slices.Clone(set), i, i+1)
		var without [][]int
		for _, order := range orders {
			order = slices.DeleteFunc(slices.Clone(order), func(at int) bool { return at == i })
			for j := range order {
				if order[j] > i {
					order[j]--
				}
			}
			without = append(without, order)
		}
		if less := w.disagreement(s, fewer, without); less != "" {
			set, orders, found, i = fewer, without, less, -1
		}
	}
	return found
}

// shapeOf lists the facts of an event that decide something.
func shapeOf(e events.Event) string {
	e.Type, e.Provider, e.Mode, e.Key, e.Recurring = "", "", "", "", e.Recurring && e.SubscriptionID == ""
	e.OccurredAt, e.ReceivedAt, e.Seq = time.Time{}, time.Time{}, 0
	var text []string
	var list func(of reflect.Value)
	list = func(of reflect.Value) {
		for i := range of.NumField() {
			field, name := of.Field(i), of.Type().Field(i).Name
			switch value := field.Interface().(type) {
			case events.Number:
				if value.Present {
					text = append(text, fmt.Sprintf("%s=%d", name, value.Value))
				}
			case events.Reversal:
				list(field)
			default:
				if !field.IsZero() {
					text = append(text, fmt.Sprintf("%s=%v", name, shown(value)))
				}
			}
		}
	}
	list(reflect.ValueOf(e))
	return strings.Join(text, " ")
}

// A subscription and a payment keep a bounded number of facts.
func TestAnyOrderOfManyEventsGivesTheSameResult(t *testing.T) {
	t.Parallel()
	for _, w := range worlds(t, 1) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			random, s := rand.New(rand.NewPCG(1, 2)), NewState()
			for range 10 {
				var set []events.Event
				for _, i := range random.Perm(len(w.shapes))[:min(len(w.shapes), 24)] {
					set = append(set, w.shapes[i])
				}
				require.Empty(t, w.smallest(s, set, [][]int{random.Perm(len(set)), random.Perm(len(set)), random.Perm(len(set))}))
			}
		})
	}
}

// Money and access do not depend on the order in which events arrive. make test-arrivals folds all pairs of events, and
// all sets of three and four of shapes that are drawn anew in each round. With one round it folds only pairs of drawn
// shapes, too. make test folds a small part of them, because it has the race detector.
func TestEveryOrderOfArrivalGivesTheSameResult(t *testing.T) {
	t.Parallel()
	part := map[int]int{2: 10, 3: 5, 4: 4} // size of the sets → number of shapes they are made of
	rounds, _ := strconv.Atoi(os.Getenv("ARRIVAL_ROUNDS"))
	seed, _ := strconv.Atoi(os.Getenv("ARRIVAL_SEED"))
	switch {
	case rounds == 1:
		part = map[int]int{2: 80, 3: 16, 4: 8}
	case rounds > 1:
		part = map[int]int{2: math.MaxInt, 3: 24, 4: 12}
	}
	for payments := 1; payments <= 2; payments++ {
		for _, w := range worlds(t, payments) {
			t.Run(fmt.Sprintf("%d of %s", payments, w.name), func(t *testing.T) {
				t.Parallel()
				for round := range max(rounds, 1) {
					random := rand.New(rand.NewPCG(uint64(seed+round), uint64(payments)))
					for _, size := range slices.Sorted(maps.Keys(part)) { // the smallest set first
						shapes := part[size]
						if size == 2 && round > 0 {
							continue
						}
						random.Shuffle(len(w.shapes), func(i, j int) { w.shapes[i], w.shapes[j] = w.shapes[j], w.shapes[i] })
						drawn := w.shapes[:min(shapes, len(w.shapes))]
						sets := w.search(t, drawn, size)
						if rounds > 0 {
							t.Logf("round %d: all %d sets of %d of %d shapes, %d orders each, have one result", round+1, sets, size, len(drawn), len(orders(size)))
						}
					}
				}
			})
		}
	}
}

// search folds all sets of that size in all orders. It returns the number of sets.
func (w *world) search(t *testing.T, shapes []events.Event, size int) (sets int) {
	t.Helper()
	s, all, set := NewState(), orders(size), make([]events.Event, size)
	var choose func(from, at int)
	choose = func(from, at int) {
		if at == size {
			sets++
			require.Empty(t, w.disagreement(s, set, all))
			return
		}
		for i := from; i < len(shapes); i++ {
			set[at] = shapes[i]
			choose(i+1, at+1)
		}
	}
	choose(0, 0)
	return sets
}
