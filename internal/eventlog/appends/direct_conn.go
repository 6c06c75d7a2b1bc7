package appends

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/wire"
)

// directConn is one connection of Direct. It publishes messages and receives their answers,
// in the protocol of https://docs.nats.io/reference/reference-protocols/nats-protocol.
type directConn struct {
	net.Conn
	input *bufio.Reader
	inbox string // prefix of the answers' subjects; ends with a dot, and a message's number follows
	max   int    // of a message's header and body
}

// readBytes is far more than the server's longest answer.
const readBytes = 64 << 10

var errProtocol = errors.New("the log's server does not answer as expected")

// greet logs in and subscribes to the answers.
func greet(conn net.Conn, token string) (*directConn, error) {
	c := &directConn{Conn: conn, input: bufio.NewReaderSize(conn, readBytes), inbox: nats.NewInbox() + "."}
	if err := c.SetDeadline(time.Now().Add(InsideTimeout)); err != nil {
		return nil, err
	}
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	info, isInfo := bytes.CutPrefix(line, []byte("INFO "))
	var limits struct {
		MaxPayload int `json:"max_payload"`
	}
	if err := json.Unmarshal(info, &limits); err != nil || !isInfo {
		return nil, errors.Join(errProtocol, err)
	}
	c.max = limits.MaxPayload
	options, err := json.Marshal(map[string]any{
		"auth_token": token, "name": "payfold appends", "lang": "go", "version": nats.Version, "protocol": 1,
		"verbose": false, "pedantic": false, "headers": true, "no_responders": true,
	})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s\r\nSUB %s* 1\r\nPING\r\n", options, c.inbox); err != nil {
		return nil, err
	}
	for {
		line, err := c.line()
		switch {
		case err != nil:
			return nil, err
		case bytes.HasPrefix(line, []byte("INFO ")):
		case string(line) == "PONG":
			return c, c.SetDeadline(time.Time{})
		default:
			return nil, fmt.Errorf("%w: %s", errProtocol, line)
		}
	}
}

func (c *directConn) line() ([]byte, error) {
	line, err := c.input.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

const (
	headerBegin = "NATS/1.0\r\n"
	lineEnd     = "\r\n"
)

// headerSize returns the length of the message's header as append writes it.
func headerSize(m *wire.Message) int {
	size := len(headerBegin) + len(lineEnd)
	for _, f := range m.Header {
		if f.Value != "" {
			size += len(f.Name) + len(": ") + len(f.Value) + len(lineEnd)
		}
	}
	return size
}

// append appends the message to b, as the server reads it.
func (c *directConn) append(b []byte, m *wire.Message, number uint64) []byte {
	header := headerSize(m)
	b = append(append(append(b, "HPUB "...), m.Subject...), ' ')
	b = append(strconv.AppendUint(append(b, c.inbox...), number, 10), ' ')
	b = append(strconv.AppendInt(b, int64(header), 10), ' ')
	b = append(strconv.AppendInt(b, int64(header+len(m.Body)), 10), lineEnd...)
	b = append(b, headerBegin...)
	for _, f := range m.Header {
		if f.Value != "" {
			b = append(append(append(append(b, f.Name...), ": "...), f.Value...), lineEnd...)
		}
	}
	return append(append(append(b, lineEnd...), m.Body...), lineEnd...)
}

// read calls answered for each answer, until the connection fails. The answer is valid during
// the call.
func (c *directConn) read(answered func(number uint64, status string, answer []byte)) error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		verb, arguments, _ := bytes.Cut(line, []byte(" "))
		switch string(verb) {
		case "MSG", "HMSG":
			number, header, all, err := c.arguments(arguments)
			if err != nil {
				return fmt.Errorf("%w: %s", errProtocol, line)
			}
			data, err := c.input.Peek(all)
			if err != nil {
				return err
			}
			answered(number, statusOf(data[:header]), data[header:])
			if _, err = c.input.Discard(all + len(lineEnd)); err != nil {
				return err
			}
		case "PING":
			// Concurrently with the reads: the server may wait for them before it reads what is
			// written.
			go func() { _, _ = c.Write([]byte("PONG\r\n")) }()
		case "PONG", "INFO":
		default:
			return fmt.Errorf("%w: %s", errProtocol, line)
		}
	}
}

// arguments reads: inbox and number, the subscription, the length of the header if there is
// one, and the length of header and answer.
func (c *directConn) arguments(text []byte) (number uint64, header, all int, err error) {
	subject, text, _ := bytes.Cut(text, []byte(" "))
	_, lengths, _ := bytes.Cut(text, []byte(" "))
	first, second, hasHeader := bytes.Cut(lengths, []byte(" "))
	if hasHeader {
		if header, err = strconv.Atoi(string(first)); err != nil {
			return 0, 0, 0, err
		}
		first = second
	}
	if all, err = strconv.Atoi(string(first)); err != nil {
		return 0, 0, 0, err
	}
	if header < 0 || header > all {
		return 0, 0, 0, errProtocol
	}
	number, err = strconv.ParseUint(string(bytes.TrimPrefix(subject, []byte(c.inbox))), 10, 64)
	return number, header, all, err
}

// statusOf returns the number in the first line of a header; empty if there is none.
func statusOf(header []byte) string {
	line, _, _ := bytes.Cut(header, []byte("\r\n"))
	_, status, _ := bytes.Cut(line, []byte(" "))
	status, _, _ = bytes.Cut(status, []byte(" "))
	return string(status)
}
