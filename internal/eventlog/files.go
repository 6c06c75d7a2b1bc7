package eventlog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

// readBlocks reads the messages from sequence from to until in the server's files. It can
// fail with blockstore.ErrUnexpectedLayout after any message.
func (l *Log) readBlocks(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return l.files.Read(from, until, func(r blockstore.Record) error {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		m, err := messageOf(r)
		if err != nil {
			return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
		}
		return deliver(m)
	})
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
func plainAttributes(header string) (a attributes, isPlain bool) {
	if header == "" {
		return a, true
	}
	rest, hasVersion := strings.CutPrefix(header, "NATS/1.0\r\n")
	if !hasVersion {
		return a, false
	}
	for rest != "\r\n" {
		end, colon := strings.IndexByte(rest, '\n'), strings.IndexByte(rest, ':')
		if colon < 0 || end < colon+len(": x\r") {
			return a, false
		}
		key, value := rest[:colon], rest[colon+len(": "):end-len("\r")]
		if rest[colon+1] != ' ' || rest[end-1] != '\r' || !isWord(key) || value[0] <= ' ' || value[len(value)-1] <= ' ' {
			return a, false
		}
		rest = rest[end+1:]
		field := a.field(key)
		if field == nil {
			continue
		}
		if *field != "" {
			return a, false
		}
		*field = value
	}
	return a, true
}

func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '-' {
			return false
		}
	}
	return key != ""
}
