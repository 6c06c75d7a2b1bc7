package blockstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/highwayhash"
	"github.com/stretchr/testify/require"
)

// world is a log as the server writes it, in small blocks.
type world struct {
	*Store
	t      *testing.T
	places map[uint64]place
	last   uint64
}

// place is where a message lies.
type place struct{ block, from, to int }

const testStream, testLogID = "PAYMENTS", "0123456789abcdef0123456789abcdef"

// build writes a log with that many messages in each block.
func build(t *testing.T, blocks ...int) *world {
	t.Helper()
	return buildFrom(t, 0, blocks...)
}

func buildFrom(t *testing.T, firstSeq uint64, blocks ...int) *world {
	t.Helper()
	w := &world{Store: New(filepath.Join(t.TempDir(), "log"), "PAYFOLD", testStream), t: t, places: map[uint64]place{}}
	require.NoError(t, os.MkdirAll(w.dir, 0o700))
	w.writeMeta(fmt.Sprintf(`{"Created":"2026-11-22T11:59:07.6Z","name":%q,"subjects":["payments.0"],"retention":"limits","max_consumers":-1,`+
		`"max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msgs_per_subject":-1,"storage":"file","num_replicas":1,"compression":"none",`+
		`"first_seq":%d,"metadata":{"format":"2","log_id":%q,"partitions":"64"}}`, testStream, firstSeq, testLogID))
	w.last = max(firstSeq, 1) - 1
	for n, messages := range blocks {
		content := []byte{}
		if firstSeq > 1 && n == 0 {
			content = w.record(n+1, w.last|isTombstone, "", "", "")
		}
		for range messages {
			w.last++
			from := len(content)
			content = append(content, w.message(n+1, w.last)...)
			w.places[w.last] = place{block: n + 1, from: from, to: len(content)}
		}
		w.write(w.block(n+1), content)
	}
	return w
}

func (w *world) writeMeta(text string) {
	key := sha256.Sum256([]byte(testStream))
	sum, err := highwayhash.New64(key[:])
	require.NoError(w.t, err)
	_, _ = sum.Write([]byte(text))
	w.write(filepath.Join(w.folder, metaFile), []byte(text))
	w.write(filepath.Join(w.folder, metaSum), []byte(hex.EncodeToString(sum.Sum(nil))))
}

// changeSettings replaces a text in the stream's settings.
func (w *world) changeSettings(from, to string) {
	w.writeMeta(strings.ReplaceAll(string(w.read(filepath.Join(w.folder, metaFile))), from, to))
}

func (w *world) write(path string, content []byte) {
	require.NoError(w.t, os.WriteFile(path, content, 0o600))
}

func (w *world) read(path string) []byte {
	content, err := os.ReadFile(path)
	require.NoError(w.t, err)
	return content
}

func (w *world) edit(block int, change func(b []byte) []byte) {
	w.write(w.block(block), change(w.read(w.block(block))))
}

func bodyOf(seq uint64) string { return fmt.Sprintf(`{"id":"e%d"}`, seq) }

func (w *world) message(block int, seq uint64) []byte {
	return w.record(block, seq, "payments.0", fmt.Sprintf("NATS/1.0\r\nNats-Msg-Id: e%d\r\n\r\n", seq), bodyOf(seq))
}

// record is written here as the server writes it.
func (w *world) record(block int, seq uint64, subject, header, body string) []byte {
	le, length := binary.LittleEndian, uint32(fixedLength+len(subject)+len(header)+len(body)+checksumLength)
	if header != "" {
		length = (length + 4) | hasHeader
	}
	out := le.AppendUint64(le.AppendUint32(nil, length), seq)
	out = le.AppendUint16(le.AppendUint64(out, 1_700_000_000_000_000_000), uint16(len(subject)))
	out = append(out, subject...)
	if header != "" {
		out = le.AppendUint32(out, uint32(len(header)))
	}
	out = append(append(out, header...), body...)
	sum := w.checksum(block)
	_, _ = sum.Write(out[4:20])
	_, _ = sum.Write([]byte(subject + header + body))
	return le.AppendUint64(out, sum.Sum64())
}

// mark writes the watermark of a log that was killed, up to seq, or closed.
func (w *world) mark(seq uint64, closed bool) *world {
	block := w.places[seq].block
	if block == 0 {
		blocks, err := w.blocks()
		require.NoError(w.t, err)
		block = newestOf(blocks)
	}
	return w.markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: seq, Block: block, Closed: closed})
}

func (w *world) markAs(mark Watermark) *world {
	mark.Format = watermarkFormat
	f, err := w.newWatermark(mark)
	require.NoError(w.t, err)
	require.NoError(w.t, f.file.Close())
	return w
}

// tree is everything below the server's folder, by name.
func (w *world) tree() map[string]string {
	out := map[string]string{}
	require.NoError(w.t, filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(w.t, err)
		name, err := filepath.Rel(w.root, path)
		require.NoError(w.t, err)
		if entry.IsDir() {
			out[name] = "folder"
			return nil
		}
		out[name] = string(w.read(path))
		return nil
	}))
	return out
}

// refused requires that a start says so and changes nothing, and returns what it says.
func (w *world) refused(values ...any) *Report {
	w.t.Helper()
	before := w.tree()
	_, err := w.Recover(w.t.Context(), nil)
	var damaged *DamagedError
	require.ErrorAs(w.t, err, &damaged, values...)
	require.Equal(w.t, before, w.tree(), values...)
	require.NotEmpty(w.t, damaged.Report.Damage[0].Advice)
	return damaged.Report
}

// starts requires that a start takes the log up to seq, and that the next one does, too.
func (w *world) starts(seq uint64, values ...any) *Report {
	w.t.Helper()
	s, err := w.Recover(w.t.Context(), nil)
	require.NoError(w.t, err, values...)
	report := s.Recovered
	require.Equal(w.t, seq, report.Last, values...)
	require.NoError(w.t, s.Close(true), values...)
	next := report.First
	require.NoError(w.t, s.Salvage(w.t.Context(), func(r Record) error {
		require.Equal(w.t, next, r.Seq, values...)
		require.Equal(w.t, bodyOf(next), string(bytes.TrimSpace(r.Body)), values...)
		next++
		return nil
	}))
	require.Equal(w.t, seq+1, next, values...)
	again, err := w.Check(w.t.Context(), false, nil)
	require.NoError(w.t, err)
	require.Empty(w.t, again.Damage, values...)
	require.Equal(w.t, seq, again.Last, values...)
	return report
}
