package providers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/golden"
)

const document = "../../docs/providers.md"

// docs/providers.md has a section for each provider, with what payfold reads of its bodies as the table has it.
func TestWhatIsReadOfEachProviderIsPrinted(t *testing.T) {
	for _, p := range All {
		printed := describe(p)
		if p == specification { // the other rows are those of Creem
			ofCreem := strings.SplitAfter(describe(creem), "\n")
			printed = strings.Join(slices.DeleteFunc(strings.SplitAfter(printed, "\n"), func(line string) bool {
				return strings.Contains(line, "`") && slices.Contains(ofCreem, line)
			}), "")
		}
		golden.RequirePrinted(t, document, p.name, printed)
	}
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	for _, p := range All {
		require.Contains(t, string(text), "| `"+p.name+"` | `"+p.Path()+"` |", "the table of providers")
	}
}

// docs/event.schema.json has a property for each path of the shop's own events, and no other.
func TestTheSchemaOfOwnEventsHasEveryPath(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/event.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	paths := []string{payfold.id, payfold.kind, payfold.time}
	for _, of := range payfold.facts {
		paths = append(paths, strings.Fields(of)...)
	}
	for _, m := range payfold.events {
		for _, of := range m.facts {
			paths = append(paths, strings.Fields(of)...)
		}
	}
	for _, s := range payfold.sums {
		paths = append(paths, s.amount, s.currency)
	}
	slices.Sort(paths)
	require.Equal(t, slices.Compact(paths), slices.Sorted(maps.Keys(schema.Properties)))
	require.ElementsMatch(t, slices.Collect(maps.Keys(payfold.events)), schema.Properties[payfold.kind].Enum)
	require.Subset(t, schema.Required, []string{payfold.id, payfold.kind})
	for name, property := range schema.Properties {
		require.NotEmpty(t, property.Description, name)
	}
}

// describe returns what payfold reads of the provider's bodies, as Markdown.
func describe(p *Provider) string {
	out := &strings.Builder{}
	out.WriteString("| event types | action | |\n|---|---|---|\n")
	for _, group := range grouped(slices.SortedFunc(maps.Keys(p.events), p.byAction), func(name string) string {
		return describeMeaning(p.events[name])
	}) {
		fmt.Fprintf(out, "| %s | %s|\n", describePaths(strings.Join(group.types, " ")), group.text)
	}
	fmt.Fprintf(out, "| any other | %s | |\n", map[bool]string{true: "refused with 400", false: "`none`"}[p.closed])
	out.WriteString("\n| what | where; the first that is present counts |\n|---|---|\n")
	row := func(what, where string) {
		if where != "" {
			fmt.Fprintf(out, "| %s | %s |\n", what, where)
		}
	}
	row("event id", describeID(p.id))
	row("event type", code(p.kind))
	row("time", describePaths(p.time)+map[bool]string{true: "; the newest of them counts"}[p.newest]+map[bool]string{true: "; numbers are seconds"}[p.seconds])
	row("repeats a delivery", describeRetries(p))
	row("refused without", describePaths(p.marks))
	row("other names", describeAliases(p.aliases))
	row("metadata", describePaths(p.metadata))
	for f := range numFacts {
		row(describedFacts[f].what, p.describeEach(describedFacts[f].actions, func(m meaning) string { return describePaths(p.paths(m, f)) }))
	}
	row("amount and currency", p.describeEach(ofPayment, func(m meaning) string { return describeSums(cmpSlice(m.sums, p.sums)) }))
	row("what was sold", p.describeEach(ofSale, func(m meaning) string {
		if m.items != nil {
			return describeItems(*m.items)
		}
		return describeItems(p.items)
	}))
	row("custom fields", p.describeAnswers())
	row("words for a status", describeWords(p.statuses))
	if p.arrived != nil {
		row("words for money that has arrived", code(p.arrived...)+"; any other means that it has not")
	}
	row("words for the status of a reversal", describeWords(p.reversed))
	return out.String()
}

func describeRetries(p *Provider) string {
	if p.GivesUpAfter() == 0 {
		return p.retries.when
	}
	return p.retries.when + "; it gives up " + p.GivesUpAfter().String() + " after the first try"
}

// The actions whose events use a fact.
var (
	everyAction = []events.Action{events.Payment, events.Checkout, events.Subscription, events.Reverse, events.None}
	ofEffect    = everyAction[:4]
	ofSale      = everyAction[:3]
	ofPayment   = everyAction[:1]
	ofStatus    = everyAction[1:3]
	ofReversal  = everyAction[3:4]
)

var describedFacts = [numFacts]struct {
	what    string
	actions []events.Action
}{
	customer:        {"customer", ofEffect},
	user:            {"user", ofSale},
	kind:            {"kind", ofSale},
	productKey:      {"product key, if there is no product", ofSale},
	product:         {"product", ofSale},
	credits:         {"credits", ofSale},
	expires:         {"when a gift expires", ofPayment},
	units:           {"units of the event", ofSale},
	github:          {"GitHub user", ofSale},
	mode:            {"mode", ofSale},
	testMode:        {"true in test mode", ofSale},
	transaction:     {"transaction", everyAction},
	order:           {"order", everyAction},
	checkout:        {"checkout", ofSale},
	writtenName:     {"the payment, if it has no other name", ofSale},
	subscription:    {"subscription", ofSale},
	paid:            {"whether the money has arrived", ofPayment},
	due:             {"due before discounts; 0 can begin a trial", ofPayment},
	discount:        {"discount; with it, 0 due is a payment", ofPayment},
	status:          {"status of the subscription", ofSale},
	ending:          {"ends with its period: true, a time or `cancel`", ofStatus},
	pauseEnd:        {"until when it is paused", ofStatus},
	periodStart:     {"begin of the period", ofSale},
	periodEnd:       {"end of the period", ofSale},
	canceledAt:      {"cancelled at", ofStatus},
	extended:        {"extended until", ofStatus},
	reversal:        {"id of the reversal", ofReversal},
	cause:           {"cause: `chargeback…`, otherwise a refund", ofReversal},
	reversalStatus:  {"status of the reversal", ofReversal},
	reversalAmount:  {"amount of the reversal", ofReversal},
	reversalIn:      {"its currency", ofReversal},
	reversalTotal:   {"total of reversals so far", ofReversal},
	reversalPaid:    {"what was paid, with taxes", ofReversal},
	reversalCredits: {"credits taken back, instead of money", ofReversal},
	cut:             {"true: the list goes on, so it says nothing", ofSale},
	variant:         {"decides a case above", ofEffect},
	detail:          {"also decides such a case", ofEffect},
	begin:           {"begin, for such a case", ofEffect},
}

// group is a list of event types about which the same can be said.
type group struct {
	types []string
	text  string
}

func grouped(types []string, textOf func(string) string) (groups []group) {
	for _, name := range types {
		text := textOf(name)
		at := slices.IndexFunc(groups, func(g group) bool { return g.text == text })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{text: text})
		}
		groups[at].types = append(groups[at].types, name)
	}
	return groups
}

func (p *Provider) byAction(a, b string) int {
	order := func(name string) int { return slices.Index(everyAction, p.events[name].action) }
	return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
}

func describeMeaning(m meaning) string {
	var says []string
	switch m.action {
	case events.Subscription, events.Checkout:
		says = append(says, map[bool]string{true: "the body says the status", false: "`" + m.status + "`"}[m.status == ""])
	case events.Reverse:
		says = append(says, map[bool]string{true: "the body says the cause", false: "`" + string(m.cause) + "`"}[m.cause == ""])
		if m.reversal != "" {
			says = append(says, "`"+string(m.reversal)+"`")
		}
	}
	if m.decide != nil {
		says = append(says, "see above")
	}
	text := code(string(m.action)) + " | "
	if len(says) > 0 {
		text += strings.Join(says, ", ") + " "
	}
	return text
}

// describeEach describes a fact: first where most events have it, then the events that have it elsewhere.
func (p *Provider) describeEach(actions []events.Action, textOf func(meaning) string) string {
	types := slices.DeleteFunc(slices.SortedFunc(maps.Keys(p.events), p.byAction), func(name string) bool {
		return !slices.Contains(actions, p.events[name].action)
	})
	groups := grouped(types, func(name string) string { return textOf(p.events[name]) })
	usual := textOf(meaning{})
	var out []string
	for _, g := range groups {
		switch {
		case g.text == usual && len(g.types) == len(types):
			return usual
		case g.text == usual && usual != "":
			out = slices.Insert(out, 0, usual)
		case usual != "" && strings.HasPrefix(g.text, usual+", "):
			out = append(out, ofTypes(p.namesOf(g.types, actions))+" also: "+strings.TrimPrefix(g.text, usual+", "))
		case g.text != "":
			out = append(out, ofTypes(p.namesOf(g.types, actions))+": "+g.text)
		case usual != "":
			out = append(out, ofTypes(p.namesOf(g.types, actions))+": nowhere")
		}
	}
	return strings.Join(out, "; ")
}

func ofTypes(names string) string {
	if strings.HasPrefix(names, "every ") {
		return names
	}
	return "of " + names
}

// namesOf names event types; an action for all of its types.
func (p *Provider) namesOf(types []string, actions []events.Action) string {
	var names, rest []string
	for _, action := range actions {
		all, have := 0, []string{}
		for name, m := range p.events {
			if m.action == action {
				all++
				if slices.Contains(types, name) {
					have = append(have, name)
				}
			}
		}
		if len(have) == all && all > 1 {
			names = append(names, "every `"+string(action)+"`")
		} else {
			rest = append(rest, slices.Sorted(slices.Values(have))...)
		}
	}
	for len(rest) > 0 { // those of one object together, such as charge.dispute.*
		prefix := rest[0][:strings.LastIndexAny(rest[0], "._")+1]
		same := func(name string) bool { return prefix != "" && strings.HasPrefix(name, prefix) }
		all := 0
		for name := range p.events {
			if same(name) {
				all++
			}
		}
		have := 0
		for have < len(rest) && same(rest[have]) {
			have++
		}
		if have == all && all > 1 {
			names, rest = append(names, code(prefix+"*")), rest[have:]
			continue
		}
		have = max(have, 1)
		names, rest = append(names, describePaths(strings.Join(rest[:have], " "))), rest[have:]
	}
	return strings.Join(names, ", ")
}

func describeID(path string) string {
	switch path {
	case inHeader:
		return "the header `webhook-id`"
	case ofBody:
		return "the SHA-256 of the body"
	}
	return describePaths(path)
}

// describePaths describes alternatives.
func describePaths(paths string) string {
	var out []string
	all, before := strings.Fields(paths), ""
	for i, path := range all {
		key, ofMetadata := strings.CutPrefix(path, "@")
		if slices.Contains(all[i+1:], strings.TrimSuffix(path, ".id")) { // the object's own place comes next
			continue
		}
		parent := "metadata"
		if !ofMetadata {
			parent = parentOf(path)
		}
		text := describePath(key, slices.Contains(all[:i], path+".id"))
		switch {
		case parent == before && ofMetadata:
		case parent == before:
			text = "`" + text[len(parent)+1:]
		case ofMetadata:
			text = "metadata " + text
		}
		before = parent
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// parentOf returns the object that has the path; empty if the path is a key at the top, or more than a path.
func parentOf(path string) string {
	at := strings.LastIndexByte(path, '.')
	if at < 0 || strings.ContainsAny(path, "{+") {
		return ""
	}
	return path[:at]
}

// describePath describes one path. orID: the path's value is an id, or an object with one.
func describePath(path string, orID bool) string {
	prefix, rest, isTemplate := strings.Cut(path, "{")
	a, b, isSum := strings.Cut(path, "+")
	switch {
	case isTemplate:
		path, suffix, _ := strings.Cut(rest, "}")
		return code(prefix+"…"+suffix) + " with " + code(path)
	case isSum:
		return code(a) + " and " + code(b) + " added up"
	case orID:
		return code(path + "[.id]")
	}
	return code(path)
}

func describeSums(sums []sum) string {
	var out []string
	for _, s := range sums {
		text := describePaths(s.amount)
		if s.currency != "" {
			text += " in " + describePaths(s.currency)
		}
		if s.due != "" {
			text += " (0 is no amount while " + describePaths(s.due) + " is more"
			if s.discount != "" {
				text += " and " + describePaths(s.discount) + " covers neither this nor " + describePaths(s.whole)
			}
			text += ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func describeItems(l list) string {
	if l.path == "" {
		return ""
	}
	out := "in each element of " + describePaths(l.path)
	for _, part := range []struct{ what, paths string }{
		{"product", l.product},
		{"price", l.price},
		{"units", l.units},
		{"amount", l.amount},
		{"whether it is prorated", l.prorated},
		{"begin", l.periodStart},
		{"end", l.periodEnd},
		{"decides a case above", l.variant},
	} {
		if part.paths != "" {
			out += "; " + part.what + ": " + describePaths(part.paths)
		}
	}
	return out
}

func (p *Provider) describeAnswers() string {
	if p.answers.path == "" {
		return ""
	}
	return "the GitHub user is " + describePaths(p.answers.value) + " of the first element of " + describePaths(p.answers.path) + " whose " + describePaths(p.answers.key) + " begins with `github`"
}

func describeAliases(aliases map[string]string) string {
	var out []string
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		out = append(out, code(alias)+" is read as "+code(aliases[alias]))
	}
	return strings.Join(out, ", ")
}

func describeWords[T ~string](words map[string]T) string {
	var out []string
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if ours := string(words[word]); ours != word {
			out = append(out, code(word)+" means "+code(ours))
		}
	}
	return strings.Join(out, ", ")
}

func code(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }

func cmpSlice[T any](own, others []T) []T {
	if own != nil {
		return own
	}
	return others
}
