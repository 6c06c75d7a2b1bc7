package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
	"unicode/utf8"
)

// maxDepth bounds how deeply objects and arrays nest in a body.
const maxDepth = 100

// Parse decodes one body. The body must be exactly one JSON object in valid UTF-8, at most
// maxDepth deep. It must have id, eventType and object exactly once; id and eventType must be
// non-empty strings without lone surrogates, and object an object. The error is a *SyntaxError.
//
// Ingest needs only the id, the type and the partition key. It calls the same function as a
// projector, so that it accepts exactly what a projector can read.
func Parse(body []byte) (Event, error) {
	if !utf8.Valid(body) {
		return Event{}, &SyntaxError{"the body is not valid UTF-8"}
	}
	if tooDeep(body) {
		return Event{}, &SyntaxError{fmt.Sprintf("the body nests deeper than %d", maxDepth)}
	}
	var e envelope
	if err := e.read(body); err != nil {
		return Event{}, err
	}
	return e.event(), nil
}

// Decode reads a message of the log. It never fails.
func Decode(m Message) Event {
	event, err := m.Parse()
	if err != nil {
		event = Event{ID: idWithoutBody(m), Unreadable: true}
	}
	event.Seq, event.ReceivedAt = m.Seq, m.ReceivedAt.UTC().Truncate(time.Microsecond)
	event.OccurredAt = event.ReceivedAt
	if plausible(event.createdAt, event.ReceivedAt) {
		event.OccurredAt = event.createdAt
	}
	return event
}

func idWithoutBody(m Message) string {
	if isClean(m.ID) {
		return m.ID
	}
	sum := sha256.Sum256(m.Body)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// An event before this time, or more than clockSkew in the future, has a wrong clock.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const clockSkew = 5 * time.Minute

func plausible(t, receivedAt time.Time) bool {
	return !t.Before(earliest) && !t.After(receivedAt.Add(clockSkew))
}

// tooDeep counts the brackets outside of strings. It does not check the syntax; the decoder
// does that later.
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
