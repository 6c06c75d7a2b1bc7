package events

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// scalar is a string or a number of the body; anything else decodes as absent,
// but a boolean, array or object is remembered for fields that must be numbers.
type scalar struct {
	text   string
	kind   jsontext.Kind // '"', '0', or 'x' for what is neither; 0 when absent
	broken bool          // the string holds a lone surrogate
}

func (s *scalar) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = scalar{}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	s.set(raw)
	return nil
}

func (s *scalar) set(raw jsontext.Value) {
	switch s.kind = raw.Kind(); s.kind {
	case 'n':
		s.kind = 0
	case '0':
		s.text = string(raw)
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		s.text, s.broken = string(text), err != nil
		if s.text == "" {
			s.kind = 0
		}
	default:
		s.kind = 'x'
	}
}

// isText says whether the scalar names something: a string or a number's literal text.
func (s scalar) isText() bool { return s.kind == '"' || s.kind == '0' }

// Number is a whole number of the body, in the unit of its field.
type Number struct {
	Value   int64
	Present bool
	Bad     bool // present, but not a whole number of at most 64 bits
}

// Pointer is the value where it is present, else nil.
func (n Number) Pointer() *int64 {
	if !n.Present {
		return nil
	}
	return &n.Value
}

// Doubles hold whole numbers exactly up to here.
const maxExactFloat = 1 << 53

// number reads a JSON number or a numeric string. 200, "200", 200.0 and 2e2 are
// the same number; 0.5, 1e400 and "ten" are Bad.
func (s scalar) number() Number {
	if s.kind == 0 {
		return Number{}
	}
	bad := Number{Present: true, Bad: true}
	if !s.isText() || strings.Trim(s.text, "0123456789+-.eE") != "" {
		return bad
	}
	if value, err := strconv.ParseInt(s.text, 10, 64); err == nil {
		return Number{Value: value, Present: true}
	}
	float, err := strconv.ParseFloat(s.text, 64)
	if err != nil || float != math.Trunc(float) || math.Abs(float) > maxExactFloat {
		return bad
	}
	return Number{Value: int64(float), Present: true}
}

// A four-digit year is what RFC 3339 can write, and well within Postgres.
var maxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// moment reads epoch milliseconds or an RFC 3339 time, truncated to
// microseconds, in UTC. What is neither is absent: the zero time.
func (s scalar) moment() time.Time {
	if !s.isText() || s.broken {
		return time.Time{}
	}
	var t time.Time
	if n := s.number(); !n.Bad {
		t = time.UnixMilli(n.Value)
	} else if parsed, err := time.Parse(time.RFC3339, s.text); err == nil {
		t = parsed
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < 1 || t.After(maxTime) {
		return time.Time{}
	}
	return t
}

// ref is what a provider writes as an id or as the whole object.
type ref[T any] struct {
	id     scalar
	object T
	whole  bool
}

func (r *ref[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = ref[T]{}
	if dec.PeekKind() != '{' {
		return r.id.UnmarshalJSONFrom(dec)
	}
	r.whole = true
	return json.UnmarshalDecode(dec, &r.object)
}

// list keeps the first element of an array of objects.
type list[T any] struct{ first T }

func (l *list[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = list[T]{}
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if i > 0 || dec.PeekKind() != '{' {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := json.UnmarshalDecode(dec, &l.first); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
