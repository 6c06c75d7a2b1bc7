package providers

import (
	"strings"
	"sync"

	"github.com/payfold/payfold/internal/events"
)

// compiled is the meaning of an event type, with its paths as places in the values of a body.
type compiled struct {
	meaning
	known   bool       // the provider's table has the type
	facts   [][]*place // the places of each fact, and after them those that only time, sums and lists name
	time    fact
	sums    []compiledSum
	items   compiledList
	answers compiledList
}

type compiledSum struct {
	amount, currency, due, discount, whole fact
	ofTransaction                          bool
}

// compiledList reads the elements of an array with a trie of their own.
type compiledList struct {
	array  fact
	reader *trie      // nil: the provider has no such list
	facts  [][]*place // in an element
}

// place is where a value is: a node, or one node for each metadata object, and the texts that are put before and after
// it.
type place struct {
	nodes  []*node
	prefix string
	suffix string
	plus   *place // a number that is added; nil for none
}

// compile makes the trie of all paths, and finds the places of each event type's facts.
func (p *Provider) compile() {
	t := newTrie()
	for i, path := range []string{p.id, p.kind, p.object} {
		if path != "" && path != inHeader && path != ofBody {
			t.envelope[i] = t.node(path)
			t.require(path)
		}
	}
	for path := range strings.FieldsSeq(p.marks) {
		t.require(path)
	}
	for _, path := range strings.Fields(p.metadata) {
		t.metadata = append(t.metadata, t.node(path))
	}
	p.known = map[string]*compiled{}
	for name, m := range p.events {
		p.known[name] = p.compileMeaning(t, m)
		p.known[name].known = true
	}
	p.other = p.compileMeaning(t, meaning{action: events.None})
	for alias, key := range p.aliases {
		t.root.children[alias] = t.root.children[key]
	}
	t.number(t.root)
	p.reader = t
}

func (p *Provider) compileMeaning(t *trie, m meaning) *compiled {
	c := &compiled{meaning: m, facts: make([][]*place, numNamed)}
	for f := range numFacts {
		c.facts[f] = t.places(p.metadata, p.paths(m, f))
	}
	c.time = c.add(t, p.time)
	sums := p.sums
	if m.sums != nil {
		sums = m.sums
	}
	for _, s := range sums {
		c.sums = append(c.sums, compiledSum{
			amount: c.add(t, s.amount), currency: c.add(t, s.currency), ofTransaction: s.ofTransaction,
			due: c.add(t, s.due), discount: c.add(t, s.discount), whole: c.add(t, s.whole),
		})
	}
	items := p.items
	if m.items != nil {
		items = *m.items
	}
	c.items = c.compileList(t, items.path, facts{
		product: items.product, price: items.price, units: items.units, amount: items.amount, prorated: items.prorated,
		periodStart: items.periodStart, periodEnd: items.periodEnd, variant: items.variant,
	})
	c.answers = c.compileList(t, p.answers.path, facts{question: p.answers.key, reply: p.answers.value})
	return c
}

// add adds a fact that has no name in the table.
func (c *compiled) add(t *trie, paths string) fact {
	c.facts = append(c.facts, t.places("", paths))
	return fact(len(c.facts) - 1)
}

// compileList makes the trie of the elements of an array.
func (c *compiled) compileList(t *trie, path string, ofElement facts) compiledList {
	if path == "" {
		return compiledList{}
	}
	l := compiledList{array: c.add(t, path), reader: newTrie(), facts: make([][]*place, numNamed)}
	for f, paths := range ofElement {
		l.facts[f] = l.reader.places("", paths)
	}
	l.reader.number(l.reader.root)
	return l
}

// trie finds the slots of a body's values by their paths. Slots are numbered from the top down, so those below a node
// are neighbours.
type trie struct {
	root     *node
	envelope [3]*node // of the id, the type and the object; nil where no path names it
	required []string // the paths that must be there, those of the envelope first
	metadata []*node
	size     int // how many slots there are
	nodes    int
	pool     sync.Pool // of *values
}

// maxRequired bounds how many paths a provider requires.
const maxRequired = 5

type node struct {
	children map[string]*node
	byLength [][]child // the children again, by the length of their keys: this finds a key faster than the map
	first    *node     // of the first element of an array; nil if no path asks for it
	required int       // the place of the node's path in trie.required, from 1; 0 if the path may be missing
	slot     int       // of the node's own value; -1: it is not read
	from, to int       // the slots of the node and of all below it
	number   int       // in its trie
	read     bool
}

type child struct {
	key  string
	node *node
}

// child returns the child of that key; nil if there is none.
func (n *node) child(key []byte) *node {
	if len(key) < len(n.byLength) {
		for _, c := range n.byLength[len(key)] {
			if c.key == string(key) {
				return c.node
			}
		}
	}
	return nil
}

func newTrie() *trie {
	t := &trie{root: &node{slot: -1}}
	t.pool.New = func() any { return &values{trie: t, slots: make([]scalar, t.size), seen: make([]bool, t.nodes)} }
	return t
}

// node returns the node of a path, and makes it if it is new.
func (t *trie) node(path string) *node {
	at := t.root
	for key := range strings.SplitSeq(path, ".") {
		key, ofFirst := strings.CutSuffix(key, "[0]")
		if at.children == nil {
			at.children = map[string]*node{}
		}
		if at.children[key] == nil {
			at.children[key] = &node{slot: -1}
		}
		if at = at.children[key]; !ofFirst {
			continue
		}
		if at.first == nil {
			at.first = &node{slot: -1}
		}
		at = at.first
	}
	at.read = true
	return at
}

// require adds a path to those that must be there.
func (t *trie) require(path string) {
	t.required = append(t.required, path)
	t.node(path).required = len(t.required)
}

// places returns the places of some paths.
func (t *trie) places(metadata, paths string) []*place {
	var out []*place
	for path := range strings.FieldsSeq(paths) {
		path, added, isSum := strings.Cut(path, "+")
		at := &place{}
		if prefix, templated, isTemplate := strings.Cut(path, "{"); isTemplate {
			at.prefix = prefix
			path, at.suffix, _ = strings.Cut(templated, "}")
		}
		if key, ofMetadata := strings.CutPrefix(path, "@"); ofMetadata {
			for base := range strings.FieldsSeq(metadata) {
				at.nodes = append(at.nodes, t.node(base+"."+key))
			}
		} else {
			at.nodes = []*node{t.node(path)}
		}
		if isSum {
			at.plus = &place{nodes: []*node{t.node(added)}}
		}
		out = append(out, at)
	}
	return out
}

// number gives the nodes and the slots their final numbers.
func (t *trie) number(n *node) {
	n.number, n.from = t.nodes, t.size
	t.nodes++
	if n.read {
		n.slot = t.size
		t.size++
	}
	numbered := map[*node]bool{}
	for key, below := range n.children {
		if !numbered[below] { // an alias leads to the same node
			numbered[below] = true
			t.number(below)
		}
		for len(n.byLength) <= len(key) {
			n.byLength = append(n.byLength, nil)
		}
		n.byLength[len(key)] = append(n.byLength[len(key)], child{key, below})
	}
	if n.first != nil {
		t.number(n.first)
	}
	n.to = t.size
}
