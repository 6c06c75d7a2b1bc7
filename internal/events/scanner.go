package events

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON (RFC 8259) from front to back, once, and checks every byte
// that it passes; that the body is UTF-8 and not too deep, Parse has made sure
// of before. It goes from value to value: next or element to each in turn, and
// then one of open, value and skip has to pass it. Where the body is not JSON it
// stops for good: failed is set, and every loop over next or element ends.
//
// It is our own because decoding is the largest cost of a rebuild, and jsontext
// takes half as long again. That it agrees with jsontext, down to the byte that
// a refusal names, is what the differential tests are for.
type scanner struct {
	body    []byte
	at      int    // where the value at hand begins
	end     int    // where the last sound token ended, for the refusal
	key     []byte // of the value at hand, unescaped
	escaped bool   // the string that was passed last holds escapes
	failed  bool
}

func newScanner(body []byte) scanner {
	s := scanner{body: body}
	s.at = s.space(0)
	return s
}

// open passes the bracket if the value at hand begins with it.
func (s *scanner) open(bracket byte) bool {
	if s.peek(s.at) != bracket {
		return false
	}
	s.pass(s.at + 1)
	return true
}

// next goes on to the next field of the object that was opened; false at its end.
func (s *scanner) next() bool {
	if !s.more('{', '}') {
		return false
	}
	start := s.at
	if s.text(); s.failed {
		return false
	}
	s.key, _ = s.unquote(s.body[start:s.end])
	colon := s.space(s.end)
	s.at = s.space(colon + 1)
	s.failed = s.peek(colon) != ':'
	return !s.failed
}

// element goes on to the next element of the array that was opened; false at its end.
func (s *scanner) element() bool { return s.more('[', ']') }

// more passes the closing bracket, or the comma that is due unless the opening
// bracket is what came last.
func (s *scanner) more(opening, closing byte) bool {
	if s.failed {
		return false
	}
	s.at = s.space(s.end)
	if s.peek(s.at) == closing {
		s.pass(s.at + 1)
		return false
	}
	if s.body[s.end-1] != opening {
		s.failed = s.peek(s.at) != ','
		s.at = s.space(s.at + 1)
	}
	return !s.failed
}

// value passes the value at hand as one token; nil where it is none.
func (s *scanner) value() []byte {
	start, end := s.at, s.end
	if s.skip(); s.failed {
		s.end = end
		return nil
	}
	return s.body[start:s.end]
}

// skip passes the value at hand.
func (s *scanner) skip() {
	switch s.peek(s.at) {
	case '{':
		for s.pass(s.at + 1); s.next(); {
			s.skip()
		}
	case '[':
		for s.pass(s.at + 1); s.element(); {
			s.skip()
		}
	case '"':
		s.text()
	case 'n':
		s.literal("null")
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	default:
		s.number()
	}
}

// unquote is the text of the string that was passed last, and whether it holds
// a lone surrogate. It is a part of the body where nothing in it is escaped.
func (s *scanner) unquote(raw []byte) (text []byte, broken bool) {
	if !s.escaped {
		return raw[1 : len(raw)-1], false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return text, err != nil
}

func (s *scanner) text() {
	s.escaped = false
	if s.failed = s.peek(s.at) != '"'; s.failed {
		return
	}
	i := s.plain(s.at + 1)
	for s.peek(i) == '\\' && isEscape(s.body[i:]) {
		s.escaped = true
		i = s.plain(i + 2) // what follows \u are letters and digits
	}
	if s.failed = s.peek(i) != '"'; !s.failed {
		s.pass(i + 1)
	}
}

// plain is where the next byte is that does not stand for itself in a string:
// a quote, a backslash or a control character. It looks at eight at a time.
func (s *scanner) plain(i int) int {
	for rest := s.body[i:]; len(rest) >= 8; rest = rest[8:] {
		if found := special(binary.LittleEndian.Uint64(rest)); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(s.body) && s.body[i] >= ' ' && s.body[i] != '"' && s.body[i] != '\\' {
		i++
	}
	return i
}

// special sets the high bit of the first byte in x that is not plain.
func special(x uint64) uint64 {
	const each = 0x0101010101010101
	quote, backslash := x^each*'"', x^each*'\\'
	return ((x-each*' ')&^x | (quote-each)&^quote | (backslash-each)&^backslash) & (each * 0x80)
}

// isEscape says whether the text begins with an escape sequence. Surrogates
// need not be in pairs: unquote tells.
func isEscape(text []byte) bool {
	if len(text) >= 2 && text[1] == 'u' {
		return len(text) >= 6 && isHex(text[2]) && isHex(text[3]) && isHex(text[4]) && isHex(text[5])
	}
	return len(text) >= 2 && strings.IndexByte(`"\/bfnrt`, text[1]) >= 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func (s *scanner) number() {
	i := s.at
	if s.peek(i) == '-' {
		i++
	}
	if s.peek(i) == '0' {
		i++
	} else {
		i = s.digits(i)
	}
	if s.peek(i) == '.' {
		i = s.digits(i + 1)
	}
	if c := s.peek(i); c == 'e' || c == 'E' {
		if c := s.peek(i + 1); c == '+' || c == '-' {
			i++
		}
		i = s.digits(i + 1)
	}
	if !s.failed {
		s.pass(i)
	}
}

// digits is the end of the digits at i, of which there must be one.
func (s *scanner) digits(i int) int {
	s.failed = s.failed || !isDigit(s.peek(i))
	for isDigit(s.peek(i)) {
		i++
	}
	return i
}

func (s *scanner) literal(want string) {
	if s.failed = !bytes.HasPrefix(s.body[s.at:], []byte(want)); !s.failed {
		s.pass(s.at + len(want))
	}
}

// pass ends the token at hand.
func (s *scanner) pass(end int) { s.at, s.end = end, end }

// peek is the byte at i; 0, which no token begins with, behind the last one.
func (s *scanner) peek(i int) byte {
	if i < len(s.body) {
		return s.body[i]
	}
	return 0
}

func (s *scanner) space(i int) int {
	for i < len(s.body) && (s.body[i] == ' ' || s.body[i] == '\t' || s.body[i] == '\r' || s.body[i] == '\n') {
		i++
	}
	return i
}
