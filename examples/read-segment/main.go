// Command read-segment prints the messages of segments of an archive, one JSON object a line.
//
//	go run ./examples/read-segment data/archive/*/*.seg
//
// It uses no package of payfold: a reader needs only docs/archive.md. It finds damage only by
// decompressing; ingest compares the checksums, too.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := printSegment(os.Stdout, path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

type message struct {
	Seq       uint64            `json:"seq"`
	StoredAt  time.Time         `json:"stored_at"`
	Partition uint32            `json:"partition"`
	Headers   map[string]string `json:"headers"`
	Body      string            `json:"body"`
}

// printSegment prints every message of a segment. Header, heads of frames and footer are
// skippable frames, which the decompressor skips.
func printSegment(out io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	frames, err := zstd.NewReader(file)
	if err != nil {
		return err
	}
	defer frames.Close()
	records := bufio.NewReader(frames)
	for {
		record, err := nextRecord(records)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := parse(record)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(m); err != nil {
			return err
		}
	}
}

var (
	little    = binary.LittleEndian
	errRecord = errors.New("a record is invalid")
	errForm   = errors.New("the body is stored in a form that this program cannot read")
)

// maxRecord is more than a server accepts. It limits the memory for a damaged length.
const maxRecord = 65 << 20

// nextRecord returns a record without its length; io.EOF if there is none.
func nextRecord(from io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	size := little.Uint32(length[:])
	if size > maxRecord {
		return nil, errRecord
	}
	record := make([]byte, size)
	if _, err := io.ReadFull(from, record); err != nil {
		return nil, fmt.Errorf("%w: %v", errRecord, err)
	}
	return record, nil
}

func parse(record []byte) (message, error) {
	const fixed = 8 + 8 + 4 + 4 + 1
	if len(record) < fixed {
		return message{}, errRecord
	}
	m := message{
		Seq: little.Uint64(record), StoredAt: time.Unix(0, int64(little.Uint64(record[8:]))).UTC(),
		Partition: little.Uint32(record[16:]), Headers: map[string]string{},
	}
	if form := record[24]; form != 0 {
		return message{}, fmt.Errorf("seq %d: %w (%d)", m.Seq, errForm, form)
	}
	headers, rest := little.Uint32(record[20:]), record[fixed:]
	if uint64(headers) > uint64(len(rest)) {
		return message{}, errRecord
	}
	m.Body, rest = string(rest[headers:]), rest[:headers]
	for len(rest) > 0 {
		name, after, ok := text(rest, 2)
		value, after, valid := text(after, 4)
		if !ok || !valid {
			return message{}, errRecord
		}
		m.Headers[name], rest = value, after
	}
	return m, nil
}

// text reads a text after its length, a number of lengthBytes bytes.
func text(from []byte, lengthBytes int) (out string, rest []byte, ok bool) {
	if len(from) < lengthBytes {
		return "", nil, false
	}
	size := uint64(little.Uint16(from))
	if lengthBytes == 4 {
		size = uint64(little.Uint32(from))
	}
	from = from[lengthBytes:]
	if size > uint64(len(from)) {
		return "", nil, false
	}
	return string(from[:size]), from[size:], true
}
