package events

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"
)

// SyntaxError says why a body is not an event. Its text may be sent to the caller: it never
// contains a part of the body.
type SyntaxError struct{ Detail string }

func (e *SyntaxError) Error() string { return e.Detail }

// MaxDepth bounds how deeply objects and arrays nest in a body.
const MaxDepth = 100

// Parse decodes one body. The body must be exactly one JSON object in valid UTF-8, at most
// MaxDepth deep. It must have id, eventType and object exactly once; id and eventType must be
// non-empty strings, and object an object. The error is a *SyntaxError.
func Parse(body []byte) (Event, error) {
	if !utf8.Valid(body) {
		return Event{}, &SyntaxError{"the body is not valid UTF-8"}
	}
	if tooDeep(body) {
		return Event{}, &SyntaxError{fmt.Sprintf("the body nests deeper than %d", MaxDepth)}
	}
	var e envelope
	if err := e.read(body); err != nil {
		return Event{}, err
	}
	return e.event(), nil
}

type envelope struct {
	id, eventType, createdAt scalar
	object                   object
}

func (e *envelope) read(body []byte) error {
	d := newDecoder(body)
	defer d.free()
	if !d.open('{') {
		return d.notJSON()
	}
	var ids, eventTypes, objects int
	for d.next() {
		switch string(d.key) {
		case "id":
			ids++
			e.id.read(d)
		case "eventType":
			eventTypes++
			e.eventType.read(d)
		case "created_at":
			e.createdAt.read(d)
		case "object":
			objects++
			e.object.read(d)
		default:
			d.skip()
		}
	}
	switch {
	case d.failed:
		return d.notJSON()
	case !d.atEnd():
		return &SyntaxError{"the body continues after its JSON object"}
	}
	return cmp.Or(once("id", ids), once("eventType", eventTypes), once("object", objects), e.check())
}

func once(name string, times int) error {
	switch times {
	case 0:
		return &SyntaxError{name + " is missing"}
	case 1:
		return nil
	default:
		return &SyntaxError{name + " is given twice"}
	}
}

func (e *envelope) check() error {
	switch {
	case !e.id.isUnicode():
		return &SyntaxError{"id is not a non-empty string of Unicode text"}
	case !e.eventType.isUnicode():
		return &SyntaxError{"eventType is not a non-empty string of Unicode text"}
	case !e.object.whole:
		return &SyntaxError{"object is not a JSON object"}
	}
	return nil
}

func (d *decoder) notJSON() error {
	return &SyntaxError{fmt.Sprintf("the body is not one JSON object: truncated or invalid near byte %d", d.offset())}
}

// tooDeep counts the brackets outside of strings. It does not check the syntax; the decoder
// does that later.
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
