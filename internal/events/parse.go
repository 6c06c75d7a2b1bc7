package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says why a body is not an event. Its text is fit for the caller:
// it never repeats any of the body.
type SyntaxError struct{ Detail string }

func (e *SyntaxError) Error() string { return e.Detail }

// MaxDepth is how deeply objects and arrays may nest in a body.
const MaxDepth = 100

// lenient: below the envelope the last of two equal keys counts, and a lone
// surrogate spoils only the field that holds it. Raw bytes are checked apart.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Parse decodes one body: exactly one JSON object in valid UTF-8, at most
// MaxDepth deep, with id, eventType and object each exactly once, id and
// eventType non-empty strings, object an object. The error is a *SyntaxError.
func Parse(body []byte) (Event, error) {
	if !utf8.Valid(body) {
		return Event{}, &SyntaxError{"the body is not valid UTF-8"}
	}
	if tooDeep(body) {
		return Event{}, &SyntaxError{fmt.Sprintf("the body nests deeper than %d", MaxDepth)}
	}
	p := parsers.Get().(*parser)
	p.dec.Reset(bytes.NewBuffer(body), lenient)
	var event Event
	err := p.readEnvelope()
	if err == nil {
		event = p.event()
	}
	parsers.Put(p) // not where it panicked
	return event, err
}

// parsers are kept, being larger than most bodies. What they return refers to
// neither them nor the body.
var parsers = sync.Pool{New: func() any { return &parser{dec: new(jsontext.Decoder)} }}

type parser struct {
	envelope
	dec *jsontext.Decoder
}

type envelope struct {
	id, eventType, createdAt scalar
	object                   ref[object]
}

func (p *parser) readEnvelope() error {
	dec, e := p.dec, &p.envelope
	*e = envelope{}
	if dec.PeekKind() != '{' {
		return notJSON(dec)
	}
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(dec)
	}
	seen := map[string]int{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return notJSON(dec)
		}
		key := name.String()
		if err := e.readField(dec, key); err != nil {
			return notJSON(dec)
		}
		seen[key]++
	}
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(dec)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &SyntaxError{"the body goes on after its JSON object"}
	}
	for _, key := range []string{"id", "eventType", "object"} {
		switch seen[key] {
		case 0:
			return &SyntaxError{key + " is missing"}
		case 1:
		default:
			return &SyntaxError{key + " is given twice"}
		}
	}
	return e.check()
}

func (e *envelope) readField(dec *jsontext.Decoder, key string) error {
	switch key {
	case "id":
		return e.id.UnmarshalJSONFrom(dec)
	case "eventType":
		return e.eventType.UnmarshalJSONFrom(dec)
	case "created_at":
		return e.createdAt.UnmarshalJSONFrom(dec)
	case "object":
		return e.object.UnmarshalJSONFrom(dec)
	default:
		return dec.SkipValue()
	}
}

func (e *envelope) check() error {
	for _, field := range []struct {
		name  string
		value scalar
	}{{"id", e.id}, {"eventType", e.eventType}} {
		if field.value.kind != '"' || field.value.broken {
			return &SyntaxError{field.name + " is not a non-empty string of Unicode text"}
		}
	}
	if !e.object.whole {
		return &SyntaxError{"object is not a JSON object"}
	}
	return nil
}

func notJSON(dec *jsontext.Decoder) error {
	return &SyntaxError{fmt.Sprintf("the body is not one JSON object: it breaks off or errs near byte %d", dec.InputOffset())}
}

// tooDeep counts the brackets outside of strings. It need not know JSON: where
// the body is not JSON, the decoder says so.
func tooDeep(body []byte) bool {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= MaxDepth {
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
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
