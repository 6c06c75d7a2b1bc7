package events

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scalar is a string or a number of the body. Other values count as absent. But kind distinguishes
// a boolean, array or object from null, because such a value makes a number invalid.
type scalar struct {
	text   []byte // a part of the body itself if the string has no escapes
	kind   byte   // '"' for a string, '0' for a number, 'x' for other values; 0 if absent
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
	case '{', '[', 't', 'f':
		s.kind = 'x'
	default:
		s.text, s.kind = raw, '0'
	}
}

// isText reports whether the scalar is a string or a number.
func (s *scalar) isText() bool { return s.kind == '"' || s.kind == '0' }

// isUnicode reports whether the scalar is a non-empty string without a lone surrogate.
func (s *scalar) isUnicode() bool { return s.kind == '"' && !s.broken }

// Number is a whole number in the body. Its field determines the unit.
type Number struct {
	Value   int64
	Present bool
	Bad     bool // present, but not a whole number of 64 bits
}

// Pointer returns the value, or nil if it is absent. The value of a bad number is 0.
func (n Number) Pointer() *int64 {
	if !n.Present {
		return nil
	}
	return &n.Value
}

// number reads a JSON number or a numeric string. 200, "200", 200.0 and 2e2 are
// the same number; 0.5, 1e400 and "ten" are Bad.
func (s *scalar) number() Number {
	if s.kind == 0 {
		return Number{}
	}
	bad := Number{Present: true, Bad: true}
	if !s.isText() || slices.ContainsFunc(s.text, notOfNumber) {
		return bad
	}
	if value, err := strconv.ParseInt(string(s.text), 10, 64); err == nil {
		return Number{Value: value, Present: true}
	}
	if _, err := strconv.ParseFloat(string(s.text), 64); err != nil {
		return bad
	}
	value, err := strconv.ParseInt(plainDigits(string(s.text)), 10, 64)
	if err != nil {
		return bad
	}
	return Number{Value: value, Present: true}
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

// maxTime is the last time that RFC 3339 can express; Postgres can store later ones.
var maxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// moment reads epoch milliseconds or an RFC 3339 time. The result is in UTC and truncated to
// microseconds; it is the zero time if the value is neither.
func (s *scalar) moment() time.Time {
	if !s.isText() || s.broken {
		return time.Time{}
	}
	var t time.Time
	if n := s.number(); !n.Bad {
		t = time.UnixMilli(n.Value)
	} else if parsed, err := time.Parse(time.RFC3339, string(s.text)); err == nil {
		t = parsed
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < 1 || t.After(maxTime) {
		return time.Time{}
	}
	return t
}

// ref is a field in which a provider writes either an object's id or the whole object.
type ref struct {
	asID  scalar
	whole bool // the field is the whole object
}

// open reads the id, or opens the object.
func (r *ref) open(d *decoder) {
	if r.whole = d.open('{'); !r.whole {
		r.asID.read(d)
	}
}

// none is an absent scalar.
var none scalar

func first(places ...*scalar) *scalar {
	for _, place := range places {
		if place.isText() {
			return place
		}
	}
	return &none
}

func firstNumber(places ...*scalar) Number {
	for _, place := range places {
		if place.kind != 0 {
			return place.number()
		}
	}
	return Number{}
}

func firstMoment(places ...*scalar) time.Time {
	for _, place := range places {
		if t := place.moment(); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
