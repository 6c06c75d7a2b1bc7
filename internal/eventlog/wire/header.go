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
func (h Header) TraceParent() (value string) {
	if !bytes.Contains(h.Plain, []byte(headerTrace)) {
		return h.Decoded.Get(headerTrace)
	}
	plainLines(string(h.Plain), func(name, text string) bool {
		if name == headerTrace {
			value = text
		}
		return name != headerTrace
	})
	return value
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
	for _, name := range readHeaders {
		*a.field(name) = header.Get(name)
	}
	return a
}

// readHeaders are the headers for which attributes has a field.
var readHeaders = []string{
	events.HeaderID, events.HeaderProvider, events.HeaderSource, events.HeaderSigned, events.HeaderSignature, events.HeaderKey,
	events.HeaderReceivedAt, events.HeaderForm, headerEventID, headerStoredAt,
}

// plainAttributes parses a header in the form in which ingest writes it, one "Key: value"
// in each line. It is much faster than the library. isPlain is false for a header that the
// library might read differently.
func plainAttributes(header string) (a attributes, isPlain bool) {
	isPlain = plainLines(header, func(name, value string) bool {
		field := a.field(name)
		if field == nil {
			return true
		}
		known := *field != ""
		*field = value
		return !known
	})
	return a, isPlain
}

// plainHeaders is plainAttributes for all headers.
func plainHeaders(header string) (list []events.Header, isPlain bool) {
	list = make([]events.Header, 0, maxHeaders)
	isPlain = plainLines(header, func(name, value string) bool {
		list = append(list, events.Header{Name: name, Value: value})
		return true
	})
	return list, isPlain
}

func byName(a, b events.Header) int { return strings.Compare(a.Name, b.Name) }

// plainLines calls each with the name and the value of every line. It ends and returns false if each returns false, or
// at a line in another form than "Key: value".
func plainLines(header string, each func(name, value string) bool) bool {
	if header == "" {
		return true
	}
	rest, hasVersion := strings.CutPrefix(header, "NATS/1.0\r\n")
	if !hasVersion {
		return false
	}
	for rest != "\r\n" {
		end, colon := strings.IndexByte(rest, '\n'), strings.IndexByte(rest, ':')
		if colon < 0 || end < colon+len(": x\r") {
			return false
		}
		key, value := rest[:colon], rest[colon+len(": "):end-len("\r")]
		if rest[colon+1] != ' ' || rest[end-1] != '\r' || !isWord(key) || value[0] <= ' ' || value[len(value)-1] <= ' ' {
			return false
		}
		rest = rest[end+1:]
		if !each(key, value) {
			return false
		}
	}
	return true
}

func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '-' {
			return false
		}
	}
	return key != ""
}
