package wire

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/events"
)

// A restored message reads like the one that was lost, although the server has stored it at another
// time. The server must not act on the headers of the first delivery: it would drop a second event
// with the same id that was stored days later. So these headers are renamed, and the time is kept
// in a header of payfold. Headers of a restored message that begin with Nats- belong to the restore
// itself.
const (
	headerStoredAt = "Payfold-Stored-At" // makes it a restored message
	headerEventID  = "Payfold-Event-Id"  // instead of events.HeaderID
	serverPrefix   = "Nats-"
	renamedPrefix  = "Payfold-Restored-" // before the name of any other header on which the server or a reader would act
)

// Restored returns a message that reads like the given one. The server refuses it unless seq is the
// next sequence. The headers are sorted by name, as List returns them.
func Restored(seq uint64, partition int, stored time.Time, headers []events.Header, body []byte) *nats.Msg {
	m := &nats.Msg{Subject: Subject(partition), Header: make(nats.Header, len(headers)+2), Data: body}
	for _, h := range headers {
		name := rename(h.Name)
		m.Header[name] = append(m.Header[name], h.Value)
	}
	m.Header.Set(headerStoredAt, stored.UTC().Format(time.RFC3339Nano))
	m.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq-1, 10))
	return m
}

func rename(name string) string {
	switch {
	case name == events.HeaderID:
		return headerEventID
	case name == headerEventID, name == headerStoredAt, hasFold(name, serverPrefix), strings.HasPrefix(name, renamedPrefix):
		return renamedPrefix + name
	default:
		return name
	}
}

// hasFold is strings.HasPrefix for any case of letters: a server may compare so.
func hasFold(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// storedAt parses the time in a restored message. restored is false for a text that Restored does
// not write.
func storedAt(text string) (stored time.Time, restored bool) {
	stored, err := time.Parse(time.RFC3339Nano, text)
	return stored, err == nil && stored.UTC().Format(time.RFC3339Nano) == text
}

// original undoes what Restored does to headers. It returns other headers as they are.
func original(headers []events.Header) (list []events.Header) {
	at := slices.IndexFunc(headers, func(h events.Header) bool { return h.Name == headerStoredAt })
	if at < 0 {
		return headers
	}
	if _, restored := storedAt(headers[at].Value); !restored {
		return headers
	}
	for i, h := range headers {
		kept, renamed := strings.CutPrefix(h.Name, renamedPrefix)
		switch {
		case i == at, hasFold(h.Name, serverPrefix):
			continue
		case h.Name == headerEventID:
			kept = events.HeaderID
		case !renamed:
			kept = h.Name
		}
		list = append(list, events.Header{Name: kept, Value: h.Value})
	}
	slices.SortStableFunc(list, byName)
	return list
}
