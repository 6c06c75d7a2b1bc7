package eventlog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

// readBlocks reads the messages from sequence from to until in the server's files. It can
// fail with blockstore.ErrUnexpectedLayout after any message.
func (l *Log) readBlocks(ctx context.Context, from, until uint64, deliver func(events.Message, header) error) error {
	return l.files.Read(from, until, func(r blockstore.Record) error {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		m, err := messageOf(r)
		if err != nil {
			return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
		}
		return deliver(m, header{plain: r.Header})
	})
}

// header is a message's header, in the form in which it was read.
type header struct {
	plain   []byte      // in the server's files
	decoded nats.Header // from the server
}

// list returns the headers sorted by name; those of one name stay in their order.
func (h header) list() ([]events.Header, error) {
	if h.plain != nil {
		if list, isPlain := plainHeaders(string(h.plain)); isPlain {
			return list, nil
		}
		decoded, err := nats.DecodeHeadersMsg(h.plain)
		if err != nil {
			return nil, err
		}
		h.decoded = decoded
	}
	var list []events.Header
	for _, name := range slices.Sorted(maps.Keys(h.decoded)) {
		for _, value := range h.decoded[name] {
			list = append(list, events.Header{Name: name, Value: value})
		}
	}
	return list, nil
}

func messageOf(r blockstore.Record) (events.Message, error) {
	a, isPlain := plainAttributes(string(r.Header))
	if !isPlain {
		header, err := nats.DecodeHeadersMsg(r.Header)
		if err != nil {
			return events.Message{}, err
		}
		a = attributesOf(header)
	}
	return build(r.Seq, string(r.Subject), a, r.Body, time.Unix(0, r.Stored))
}

// plainAttributes parses a header in the form in which ingest writes it, one "Key: value"
// in each line. It is much faster than the library. isPlain is false for a header that the
// library might read differently.
func plainAttributes(header string) (a events.Attributes, isPlain bool) {
	isPlain = plainLines(header, func(name, value string) bool {
		field := a.Field(name)
		if field == nil {
			return true
		}
		known := *field != ""
		*field = value
		return !known
	})
	return a, isPlain
}

// plainHeaders is plainAttributes for all headers; they are sorted by name.
func plainHeaders(header string) (list []events.Header, isPlain bool) {
	list = make([]events.Header, 0, len(message{}.header))
	isPlain = plainLines(header, func(name, value string) bool {
		list = append(list, events.Header{Name: name, Value: value})
		return true
	})
	slices.SortStableFunc(list, func(a, b events.Header) int { return strings.Compare(a.Name, b.Name) })
	return list, isPlain
}

// plainLines calls each until it returns false. It returns false for a header in another form.
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
