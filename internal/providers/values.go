package providers

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// values are the values of one body, or of one element of a list in it, found in one pass. They are valid as long as
// the body is. Each fact is read from the first of its places that has it.
type values struct {
	trie   *trie
	slots  []scalar
	seen   []bool               // by node.number: its value was read
	times  [maxRequired + 1]int // how often each path came that must be there, by node.required
	within int                  // the metadata object that is used, in trie.metadata
	unit   time.Duration
	facts  [][]*place // the places of each fact
	of     *compiled  // the meaning of the event; nil for an element
	event  events.Event
}

// read fills the values. The error is a *SyntaxError.
func (v *values) read(body []byte) error {
	v.times = [maxRequired + 1]int{}
	clear(v.seen)
	d := &decoder{body: body}
	if d.peek() != '{' {
		return d.notJSON()
	}
	v.node(d, v.trie.root)
	switch {
	case d.failed:
		return d.notJSON()
	case !d.atEnd():
		return &SyntaxError{"the body continues after its JSON object"}
	}
	v.within = 0
	for i, n := range v.trie.metadata {
		if v.slots[n.slot].kind == '{' {
			v.within = i
			break
		}
	}
	return nil
}

// node reads the current value. If a key comes twice, the last value counts. The root clears the slots for the others.
func (v *values) node(d *decoder, n *node) {
	v.times[n.required]++
	if n == v.trie.root || v.seen[n.number] {
		clear(v.slots[n.from:n.to])
	}
	v.seen[n.number] = true
	switch {
	case n.children != nil && d.open('{'):
		kind := byte('}')
		for d.next() {
			kind = '{'
			if below := n.child(d.key); below != nil {
				v.node(d, below)
			} else {
				d.skip()
			}
		}
		if n.slot >= 0 {
			v.slots[n.slot].kind = kind
		}
	case n.first != nil && d.peek() == '[':
		v.array(d, n)
	case n.slot >= 0:
		v.slots[n.slot].read(d)
	default:
		d.skip()
	}
}

// array reads the current value, an array, of whose first element a path names a value.
func (v *values) array(d *decoder, n *node) {
	begin := d.at
	d.open('[')
	for i := 0; d.element(); i++ {
		if i == 0 {
			v.node(d, n.first)
		} else {
			d.skip()
		}
	}
	if n.slot >= 0 && !d.failed {
		v.slots[n.slot] = scalar{text: d.body[begin:d.at], kind: '['}
	}
}

func (d *decoder) notJSON() error {
	return &SyntaxError{fmt.Sprintf("the body is not one JSON object: truncated or invalid near byte %d", d.at)}
}

// at returns the value at a place.
func (v *values) at(p *place) scalar {
	n := p.nodes[0]
	if len(p.nodes) > 1 {
		n = p.nodes[v.within]
	}
	s := v.slots[n.slot]
	if p.prefix != "" && s.isText() {
		s.text, s.kind = slices.Concat([]byte(p.prefix), s.text, []byte(p.suffix)), '"'
	}
	return s
}

// text returns the first text; none if there is none.
func (v *values) text(f fact) scalar {
	for _, p := range v.facts[f] {
		if s := v.at(p); s.isText() {
			return s
		}
	}
	return none
}

// word returns the first text, for functions that decide; empty if there is none, or if no table can store it.
func (v *values) word(f fact) string {
	s := v.text(f)
	if !s.fits() {
		return ""
	}
	return string(s.text)
}

// written returns the first text that a program of the shop did not write in the place of an absent value.
func (v *values) written(f fact) scalar {
	for _, p := range v.facts[f] {
		if s := v.at(p); s.isText() && !isPlaceholder(s.text) {
			return s
		}
	}
	return none
}

// login returns the first GitHub login.
func (v *values) login(f fact) scalar {
	for _, p := range v.facts[f] {
		if s := asLogin(v.at(p)); s.kind != 0 {
			return s
		}
	}
	return none
}

// any returns the first value that is not null.
func (v *values) any(f fact) scalar {
	for _, p := range v.facts[f] {
		if s := v.at(p); s.kind != 0 {
			return s
		}
	}
	return none
}

// isTrue reports whether the first value that is not null is true.
func (v *values) isTrue(f fact) bool {
	s := v.any(f)
	return s.kind == 't'
}

func (v *values) number(f fact) events.Number {
	for _, p := range v.facts[f] {
		s := v.at(p)
		if s.kind == 0 {
			continue
		}
		n := s.number()
		if p.plus != nil && !n.Bad {
			s = v.at(p.plus)
			more := s.number()
			n.Bad = more.Bad || more.Value > 0 && n.Value > math.MaxInt64-more.Value || more.Value < 0 && n.Value < math.MinInt64-more.Value
			n.Value += more.Value
		}
		if n.Bad {
			n.Value = 0
		}
		return n
	}
	return events.Number{}
}

// money returns a number of minor units. A text with a decimal point is in another unit: "10.00" is not 10 cents.
func (v *values) money(f fact) events.Number {
	n := v.number(f)
	if s := v.any(f); n.Value != 0 && s.kind == '"' && bytes.IndexByte(s.text, '.') >= 0 {
		return events.Number{Present: true, Bad: true}
	}
	return n
}

func (v *values) moment(f fact) time.Time {
	for _, p := range v.facts[f] {
		s := v.at(p)
		if t := s.moment(v.unit); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// newest returns the newest time, wherever it is.
func (v *values) newest(f fact) (newest time.Time) {
	for _, p := range v.facts[f] {
		s := v.at(p)
		if t := s.moment(v.unit); t.After(newest) {
			newest = t
		}
	}
	return newest
}

// amount returns the first amount that says what was paid, with its currency.
func (v *values) amount(sums []compiledSum) (amount events.Number, currency scalar, ofTransaction bool) {
	for i := range sums {
		s := &sums[i]
		if amount = v.money(s.amount); amount.Present && !v.isDue(s, amount) {
			return amount, v.text(s.currency), s.ofTransaction
		}
	}
	return events.Number{}, none, false
}

// isDue reports whether an amount of 0 does not mean that 0 was paid, because the amount is still due. If a discount
// covers the whole amount, 0 was really paid.
func (v *values) isDue(s *compiledSum, paid events.Number) bool {
	if paid.Bad || paid.Value != 0 {
		return false
	}
	due, discount, whole := v.number(s.due), v.number(s.discount), v.number(s.whole)
	return due.Value > 0 && discount.Value < due.Value && (!whole.Present || discount.Value < whole.Value)
}

// maxElements bounds how many elements of an array are read. No provider lists more in a webhook.
const maxElements = 100

// elements yields the values of each element of a list. They are valid until the next one.
func (v *values) elements(l *compiledList) iter.Seq[*values] {
	return func(yield func(*values) bool) {
		if l.reader == nil {
			return
		}
		array := v.any(l.array)
		if array.kind != '[' {
			return
		}
		element := l.reader.pool.Get().(*values)
		defer l.reader.pool.Put(element)
		element.unit, element.facts = v.unit, l.facts
		d := &decoder{body: array.text}
		d.open('[')
		for n := 0; d.element(); n++ {
			if n >= maxElements || d.peek() != '{' {
				d.skip()
				continue
			}
			clear(element.seen)
			element.node(d, l.reader.root)
			if !yield(element) {
				return
			}
		}
	}
}

// answer returns the GitHub login in the answers to custom fields.
func (v *values) answer() scalar {
	for field := range v.elements(&v.of.answers) {
		asked := field.text(question)
		if !strings.HasPrefix(strings.ToLower(string(asked.text)), "github") {
			continue
		}
		if login := asLogin(field.text(reply)); login.kind != 0 {
			return login
		}
	}
	return none
}
