package providers

import (
	"bytes"
	"encoding/binary"
	"encoding/json/jsontext"
	"math/bits"
	"strings"
)

// decoder reads JSON from front to back, once. next or element moves to a value; then open,
// value or skip must read it. If the body is not JSON, the decoder sets failed and stops, and
// every loop over next or element ends.
//
// It accepts JSON as RFC 8259 defines it, also with repeated keys and lone surrogates. The last
// value of a repeated key counts. A lone surrogate makes only its own field invalid. Parse has
// already checked that all bytes are UTF-8, and that nothing nests too deeply for recursion.
type decoder struct {
	body   []byte
	at     int    // the next byte
	first  bool   // nothing of the innermost object or array is read yet
	key    []byte // of the current value, unescaped
	failed bool
}

// open reads the bracket if the current value begins with it; it returns false if it does not.
func (d *decoder) open(bracket byte) bool {
	if d.failed || d.peek() != bracket {
		return false
	}
	d.at++
	d.first = true
	return true
}

// next moves to the next field of the open object; it returns false at the object's end.
func (d *decoder) next() bool {
	if !d.more('}') {
		return false
	}
	name, escaped := d.name()
	if d.key = name; escaped {
		d.key, _ = unescape(name)
	}
	return !d.failed
}

// name reads the name of a field and its colon. It returns the name without its quotes.
func (d *decoder) name() (name []byte, escaped bool) {
	if d.peek() != '"' {
		d.failed = true
		return nil, false
	}
	name, escaped = d.text()
	d.failed = d.failed || d.peek() != ':'
	if !d.failed {
		d.at++
	}
	return name, escaped
}

// element moves to the next element of the open array; it returns false at the array's end.
func (d *decoder) element() bool { return d.more(']') }

// more reports whether a field or an element comes before the closing bracket. If so, it reads the
// comma before it, and otherwise the bracket.
func (d *decoder) more(closing byte) bool {
	if d.failed {
		return false
	}
	first := d.first
	d.first = false
	switch d.peek() {
	case closing:
		d.at++
		return false
	case ',':
		if !first {
			d.at++
			return true
		}
	}
	d.failed = !first
	return first
}

// value reads the current value and returns its part of the body; nil if it is not JSON.
func (d *decoder) value() []byte {
	d.peek()
	begin := d.at
	if d.skip(); d.failed {
		return nil
	}
	return d.body[begin:d.at]
}

// skip reads the current value and discards it.
func (d *decoder) skip() {
	if d.failed {
		return
	}
	switch c := d.peek(); c {
	case '"':
		d.text()
	case '{':
		for d.open('{'); d.more('}'); d.skip() {
			d.name()
		}
	case '[':
		for d.open('['); d.element(); {
			d.skip()
		}
	case 't':
		d.literal("true")
	case 'f':
		d.literal("false")
	case 'n':
		d.literal("null")
	default:
		d.number()
	}
}

func (d *decoder) literal(word string) {
	if rest := d.body[d.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		d.failed = true
		return
	}
	d.at += len(word)
}

func (d *decoder) number() {
	begin := d.at
	d.pass('-')
	valid := d.pass('0') || d.digits()
	if d.pass('.') {
		valid = d.digits() && valid
	}
	if d.pass('e') || d.pass('E') {
		_ = d.pass('+') || d.pass('-')
		valid = d.digits() && valid
	}
	if !valid {
		d.at, d.failed = begin, true
	}
}

// pass reads the byte c if it comes next, and reports whether it did.
func (d *decoder) pass(c byte) bool {
	if d.at == len(d.body) || d.body[d.at] != c {
		return false
	}
	d.at++
	return true
}

// digits reads digits; it returns false if there are none.
func (d *decoder) digits() bool {
	begin := d.at
	for d.at < len(d.body) && d.body[d.at]-'0' <= 9 {
		d.at++
	}
	return d.at > begin
}

// text reads a string. It returns what is between its quotes, and whether that contains an escape.
func (d *decoder) text() (inside []byte, escaped bool) {
	begin := d.at + 1
	for at := begin; ; escaped = true {
		at = plainEnd(d.body, at)
		if at < len(d.body) && d.body[at] == '"' {
			d.at = at + 1
			return d.body[begin:at], escaped
		}
		size := escapeSize(d.body[at:])
		if size == 0 { // a control character, the end of the body, or an invalid escape
			d.failed = true
			return nil, false
		}
		at += size
	}
}

// plainEnd returns the position of the next quote, backslash or control character, or the end of
// the body if there is none.
func plainEnd(body []byte, at int) int {
	for ; at+8 <= len(body); at += 8 {
		if found := specials(binary.LittleEndian.Uint64(body[at:])); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(body) && body[at] >= ' ' && body[at] != '"' && body[at] != '\\' {
		at++
	}
	return at
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
)

// specials sets the high bit of the first of eight bytes that is a quote, a backslash or a control
// character, and no bit before it. Bits after it have no meaning.
func specials(eight uint64) uint64 {
	quote, backslash := eight^'"'*eachByte, eight^'\\'*eachByte
	return ((eight - ' '*eachByte) | (quote - eachByte) | (backslash - eachByte)) & ^eight & highBits
}

// escapeSize returns the length of the escape at the start of a text; 0 if there is none.
func escapeSize(text []byte) int {
	switch {
	case len(text) < 2 || text[0] != '\\':
		return 0
	case strings.IndexByte(`"\/bfnrt`, text[1]) >= 0:
		return 2
	case len(text) >= 6 && text[1] == 'u' && isHex(text[2:6]):
		return 6
	}
	return 0
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		if c-'0' > 9 && (c|0x20)-'a' > 5 {
			return false
		}
	}
	return true
}

// peek skips white space and returns the next byte; 0 at the end of the body.
func (d *decoder) peek() byte {
	if d.at < len(d.body) && d.body[d.at] > ' ' { // as nearly always
		return d.body[d.at]
	}
	return d.peekSlowly()
}

func (d *decoder) peekSlowly() byte {
	for ; d.at < len(d.body); d.at++ {
		switch c := d.body[d.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// atEnd reports whether only white space follows.
func (d *decoder) atEnd() bool {
	d.peek()
	return d.at == len(d.body)
}

// unquote returns the text of a string, and whether it contains a lone surrogate. Without an
// escape, the text is a part of raw.
func unquote(raw []byte) (text []byte, broken bool) {
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, false
	}
	return unescape(inside)
}

// unescape is unquote for the text between the quotes. It always copies the text.
func unescape(inside []byte) (text []byte, broken bool) {
	quoted := append(append([]byte{'"'}, inside...), '"')
	text, err := jsontext.AppendUnquote(nil, quoted)
	return text, err != nil
}

// maxDepth bounds how deeply objects and arrays nest in a body.
const maxDepth = 100

// tooDeep reports whether a body nests deeper than that. It counts the brackets outside of strings, and does not check
// the syntax; the decoder does that later.
func tooDeep(body []byte) bool {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= maxDepth {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
