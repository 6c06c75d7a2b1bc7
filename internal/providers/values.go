package providers

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// values are the values of one body that the table names, found in one pass. They are valid as long as the body is.
type values struct {
	trie   *trie
	slots  []scalar
	times  [maxRequired + 1]int // how often each path came that must be there, by node.required
	within int                  // the metadata object that is used, in trie.metadata
	unit   time.Duration
	of     *compiled // the meaning of the event
	event  events.Event
}

// word returns a fact as text; empty if it is absent, or if no table can store it. It is for functions that decide.
func (v *values) word(f fact) string {
	s := v.text(v.of.facts[f])
	if !s.fits() {
		return ""
	}
	return string(s.text)
}

// amountOf returns a fact as a number, likewise.
func (v *values) amountOf(f fact) events.Number { return v.number(v.of.facts[f]) }

// momentOf returns a fact as a time, likewise.
func (v *values) momentOf(f fact) time.Time { return v.moment(v.of.facts[f]) }

// isTrue reports whether a fact is true, likewise.
func (v *values) isTrue(f fact) bool {
	s := v.any(v.of.facts[f])
	return s.kind == 't'
}

// read fills the values. The error is a *SyntaxError.
func (v *values) read(body []byte) error {
	clear(v.slots)
	v.times = [maxRequired + 1]int{}
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

// node reads the current value. If a key comes twice, the last value counts.
func (v *values) node(d *decoder, n *node) {
	v.times[n.required]++
	clear(v.slots[n.from:n.to])
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
func (v *values) text(places []place) scalar {
	for i := range places {
		if s := v.at(&places[i]); s.isText() {
			return s
		}
	}
	return none
}

// written returns the first text that a program of the shop did not write in the place of an absent value.
func (v *values) written(places []place) scalar {
	for i := range places {
		if s := v.at(&places[i]); s.isText() && !isPlaceholder(s.text) {
			return s
		}
	}
	return none
}

// login returns the first GitHub login.
func (v *values) login(places []place) scalar {
	for i := range places {
		if s := asLogin(v.at(&places[i])); s.kind != 0 {
			return s
		}
	}
	return none
}

// any returns the first value that is not null.
func (v *values) any(places []place) scalar {
	for i := range places {
		if s := v.at(&places[i]); s.kind != 0 {
			return s
		}
	}
	return none
}

func (v *values) number(places []place) events.Number {
	for i := range places {
		s := v.at(&places[i])
		if s.kind == 0 {
			continue
		}
		n := s.number()
		if plus := places[i].plus; plus != nil && !n.Bad {
			s = v.at(plus)
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
func (v *values) money(places []place) events.Number {
	n := v.number(places)
	if s := v.any(places); n.Value != 0 && s.kind == '"' && bytes.IndexByte(s.text, '.') >= 0 {
		return events.Number{Present: true, Bad: true}
	}
	return n
}

func (v *values) moment(places []place) time.Time {
	for i := range places {
		s := v.at(&places[i])
		if t := s.moment(v.unit); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// newest returns the newest time.
func (v *values) newest(places []place) (newest time.Time) {
	for i := range places {
		if t := v.moment(places[i : i+1]); t.After(newest) {
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

// each calls do for each element of the list, with its values.
func (v *values) each(l *compiledList, do func(element *values)) {
	if l.reader == nil {
		return
	}
	array := v.any(l.array)
	if array.kind != '[' {
		return
	}
	element := l.reader.pool.Get().(*values)
	defer l.reader.pool.Put(element)
	element.unit = v.unit
	d := &decoder{body: array.text}
	d.open('[')
	for n := 0; d.element(); n++ {
		if n >= maxElements || d.peek() != '{' {
			d.skip()
			continue
		}
		clear(element.slots)
		element.node(d, l.reader.root)
		do(element)
	}
}

// answer returns the GitHub login in the answers to custom fields.
func (v *values) answer(l *compiledList) (found scalar) {
	v.each(l, func(element *values) {
		key, value := element.text(l.product), element.text(l.price)
		if found.kind == 0 && strings.HasPrefix(strings.ToLower(string(key.text)), "github") {
			found = asLogin(value)
		}
	})
	return found
}
