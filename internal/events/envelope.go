package events

import (
	"bytes"
	"cmp"
	"fmt"
)

// SyntaxError says why a body is not an event. Its text may be sent to the caller: it never
// contains a part of the body.
type SyntaxError struct{ Detail string }

func (e *SyntaxError) Error() string { return e.Detail }

// envelope is a body, field by field.
type envelope struct {
	id, eventType, createdAt scalar
	object                   object
}

func (e *envelope) read(body []byte) error {
	d := &decoder{body: body}
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
	return &SyntaxError{fmt.Sprintf("the body is not one JSON object: truncated or invalid near byte %d", d.at)}
}

func (e *envelope) objectIsSubscription() bool {
	return bytes.HasPrefix(e.eventType.text, []byte("subscription."))
}
