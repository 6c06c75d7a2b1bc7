package wire

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/events"
)

// Header is a message's header, in the form in which it was read.
type Header struct {
	Plain    []byte          // in the server's files
	Decoded  nats.Header     // from the server
	Archived []events.Header // from the archive: the original headers, sorted
}

// List returns the headers sorted by name; those of one name stay in their order. For a restored
// message it returns the original headers.
func (h Header) List() ([]events.Header, error) {
	if h.Archived != nil {
		return h.Archived, nil
	}
	list, err := h.all()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, byName)
	return original(list), nil
}

// TraceParent returns the trace context of the delivery (traceparent, W3C), "" if it has none.
// Headers from the archive are not looked at.
func (h Header) TraceParent() string {
	if !bytes.Contains(h.Plain, []byte(headerTrace)) {
		return h.Decoded.Get(headerTrace)
	}
	lines, isPlain := plainLines(string(h.Plain))
	for isPlain && lines != endOfLines {
		var name, value string
		if name, value, lines, isPlain = cutLine(lines); isPlain && name == headerTrace {
			return value
		}
	}
	return ""
}

// all returns the headers as they are; those of one name are in their order.
func (h Header) all() (list []events.Header, err error) {
	if h.Plain != nil {
		if list, isPlain := plainHeaders(string(h.Plain)); isPlain {
			return list, nil
		}
		if h.Decoded, err = nats.DecodeHeadersMsg(h.Plain); err != nil {
			return nil, err
		}
	}
	for name, values := range h.Decoded {
		for _, value := range values {
			list = append(list, events.Header{Name: name, Value: value})
		}
	}
	return list, nil
}

// attributes are the values of the headers that payfold reads, as they are in the message.
type attributes struct {
	events.Attributes
	eventID, storedAt string // of a restored message
}

// field returns the field for the value of that header; nil for any other header.
func (a *attributes) field(name string) *string {
	switch name {
	case headerEventID:
		return &a.eventID
	case headerStoredAt:
		return &a.storedAt
	}
	return a.Field(name)
}

// original returns the attributes and the stored time that the message had before a restore.
// Without a restore these are the message's own.
func (a *attributes) original(stored time.Time) (events.Attributes, time.Time) {
	if a.storedAt == "" {
		return a.Attributes, stored
	}
	first, restored := storedAt(a.storedAt)
	if !restored {
		return a.Attributes, stored
	}
	a.ID = a.eventID
	return a.Attributes, first
}

// attributesOf reads a decoded header. If a header has several values, the first counts.
func attributesOf(header nats.Header) (a attributes) {
	for name, values := range header {
		if field := a.field(name); field != nil && len(values) > 0 {
			*field = values[0]
		}
	}
	return a
}

// plainAttributes parses a header in the form in which ingest writes it, one "Key: value"
// in each line. It is much faster than the library. isPlain is false for a header that the
// library might read differently.
func plainAttributes(header string) (a attributes, isPlain bool) {
	lines, isPlain := plainLines(header)
	for isPlain && lines != endOfLines {
		var name, value string
		name, value, lines, isPlain = cutLine(lines)
		if field := a.field(name); field != nil {
			isPlain = isPlain && *field == ""
			*field = value
		}
	}
	return a, isPlain
}

// plainHeaders is plainAttributes for all headers.
func plainHeaders(header string) (list []events.Header, isPlain bool) {
	list = make([]events.Header, 0, maxHeaders)
	lines, isPlain := plainLines(header)
	for isPlain && lines != endOfLines {
		var h events.Header
		h.Name, h.Value, lines, isPlain = cutLine(lines)
		list = append(list, h)
	}
	return list, isPlain
}

func byName(a, b events.Header) int { return strings.Compare(a.Name, b.Name) }

// plainLines returns the lines of a header for cutLine, up to endOfLines.
func plainLines(header string) (lines string, isPlain bool) {
	if header == "" {
		return endOfLines, true
	}
	return strings.CutPrefix(header, "NATS/1.0\r\n")
}

const endOfLines = "\r\n"

// cutLine cuts off the first line. isPlain is false if it has another form than "Key: value".
func cutLine(lines string) (name, value, rest string, isPlain bool) {
	end, colon := strings.IndexByte(lines, '\n'), strings.IndexByte(lines, ':')
	if colon < 0 || end < colon+len(": x\r") {
		return "", "", "", false
	}
	name, value = lines[:colon], lines[colon+len(": "):end-len("\r")]
	isPlain = lines[colon+1] == ' ' && lines[end-1] == '\r' && isWord(name) && value[0] > ' ' && value[len(value)-1] > ' '
	return name, value, lines[end+1:], isPlain
}

func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '-' {
			return false
		}
	}
	return key != ""
}
