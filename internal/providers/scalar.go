package providers

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// scalar is a value of the body. Only strings and numbers count as text and as numbers; others count as absent. But kind
// distinguishes them from null, because such a value makes a number invalid.
type scalar struct {
	text   []byte // a part of the body itself if a string has no escapes; the whole of an array
	kind   byte   // '"' for a string, '0' for a number, 't', 'f', '[', '{' for an object, '}' for an empty one; 0 if absent
	broken bool   // the string contains a lone surrogate
}

func (s *scalar) read(d *decoder) {
	*s = scalar{}
	raw := d.value()
	if d.failed {
		return
	}
	switch raw[0] {
	case 'n':
	case '"':
		if s.text, s.broken = unquote(raw); len(s.text) > 0 {
			s.kind = '"'
		}
	case '{', 't', 'f':
		s.kind = raw[0]
	case '[':
		s.text, s.kind = raw, '['
	default:
		s.text, s.kind = raw, '0'
	}
}

// isText reports whether the scalar is a string or a number.
func (s *scalar) isText() bool { return s.kind == '"' || s.kind == '0' }

// isUnicode reports whether the scalar is a non-empty string without a lone surrogate.
func (s *scalar) isUnicode() bool { return s.kind == '"' && !s.broken }

// number reads a JSON number or a numeric string. 200, "200", 200.0 and 2e2 are
// the same number; 0.5, 1e400 and "ten" are Bad.
func (s *scalar) number() events.Number {
	if s.kind == 0 {
		return events.Number{}
	}
	bad := events.Number{Present: true, Bad: true}
	if !s.isText() || slices.ContainsFunc(s.text, notOfNumber) {
		return bad
	}
	if value, err := strconv.ParseInt(string(s.text), 10, 64); err == nil {
		return events.Number{Value: value, Present: true}
	}
	if _, err := strconv.ParseFloat(string(s.text), 64); err != nil {
		return bad
	}
	value, err := strconv.ParseInt(plainDigits(string(s.text)), 10, 64)
	if err != nil {
		return bad
	}
	return events.Number{Value: value, Present: true}
}

// plainDigits returns a number without its point and exponent, such as 2.50e1 as 25. If that is not whole, or longer
// than 64 bits, it is no number.
func plainDigits(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if strings.Trim(digits, "+-0") == "" {
		return "0"
	}
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return ""
	}
	for shift -= len(fraction); shift < 0 && strings.HasSuffix(digits, "0"); shift++ {
		digits = strings.TrimSuffix(digits, "0")
	}
	if shift < 0 || shift > maxDigits {
		return ""
	}
	return digits + strings.Repeat("0", shift)
}

// maxDigits is how many digits 64 bits can have.
const maxDigits = 19

func notOfNumber(c byte) bool {
	return (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' && c != 'e' && c != 'E'
}

// moment reads an RFC 3339 time, or a number of units since 1970. The result is in UTC and truncated to microseconds; it
// is the zero time if the value is neither, and if it is not plausible.
func (s *scalar) moment(unit time.Duration) time.Time {
	if !s.isText() || s.broken {
		return time.Time{}
	}
	var t time.Time
	if n := s.number(); !n.Bad {
		perSecond := int64(time.Second / unit)
		t = time.Unix(n.Value/perSecond, n.Value%perSecond*int64(unit))
	} else if parsed, err := time.Parse(time.RFC3339, string(s.text)); err == nil {
		t = parsed
	}
	if t = t.UTC().Truncate(time.Microsecond); !IsPlausible(t) {
		return time.Time{}
	}
	return t
}

// IsPlausible reports whether the time can be one of a shop that takes payments: it is in the years 2000 to 2099, in UTC.
// Another one is 0, or a number in another unit.
func IsPlausible(t time.Time) bool { return t.UTC().Year() >= 2000 && t.UTC().Year() < 2100 }

// none is an absent scalar.
var none scalar

// MaxText bounds the text of a field, in bytes. An index row of Postgres holds 2.7 kB, and no
// provider's ids are nearly that long.
const MaxText = 255

// fits reports whether a table can store the scalar as text.
func (s *scalar) fits() bool {
	return !s.broken && len(s.text) <= MaxText && bytes.IndexByte(s.text, 0) < 0
}

// texts copies an event's texts into one buffer, until the buffer is full.
type texts struct {
	buffer  strings.Builder
	invalid bool // a text does not fit
}

// of returns the text of value.
func (t *texts) of(value scalar) string {
	t.invalid = t.invalid || !value.fits()
	return t.ofOptional(value)
}

// ofOptional returns the text of value, or nothing if it does not fit.
func (t *texts) ofOptional(value scalar) string {
	if !value.fits() {
		return ""
	}
	return t.copy(value.text)
}

const textBuffer = 256 // bytes; enough for most events

func (t *texts) copy(text []byte) string {
	if t.buffer.Cap() == 0 {
		t.buffer.Grow(textBuffer)
	}
	begin := t.buffer.Len()
	if t.buffer.Cap()-begin < len(text) {
		return string(text)
	}
	t.buffer.Write(text)
	return t.buffer.String()[begin:]
}

// placeholders are what a program writes in the place of a value that it does not have.
var placeholders = [][]byte{
	[]byte("undefined"), []byte("null"), []byte("nan"), []byte("none"), []byte("nil"), []byte("<nil>"),
	[]byte("[object object]"),
}

// isPlaceholder reports whether the text stands for no value.
func isPlaceholder(text []byte) bool {
	text = bytes.TrimSpace(text)
	return slices.ContainsFunc(placeholders, func(one []byte) bool { return bytes.EqualFold(text, one) })
}
