package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// foreign appends a message that ingest did not write.
func foreign(t *testing.T, l *Log, headers nats.Header, body string) {
	t.Helper()
	_, err := l.conn.RequestMsg(&nats.Msg{Subject: wire.Subject(1), Header: headers, Data: []byte(body)}, 10*time.Second)
	require.NoError(t, err)
}

// reader connects as another process of this machine would.
func reader(t *testing.T, dir string) *Log {
	t.Helper()
	l, err := Connect(Config{DataDir: dir, Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	wait.Until(t, l.conn.IsConnected)
	return l
}

type readRange func(ctx context.Context, from, until uint64, deliver func(events.Message) error) error

// collectRange returns the messages with their digests for bodies.
func collectRange(t *testing.T, read readRange, from, until uint64) (out []events.Message, err error) {
	t.Helper()
	err = read(t.Context(), from, until, func(m events.Message) error {
		m.Body = m.Digest()
		out = append(out, m)
		return nil
	})
	return out, err
}

// inFiles is ReadUntil that reads only the files.
func inFiles(l *Log) readRange {
	return func(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
		info, err := l.Info(ctx)
		if err != nil {
			return err
		}
		r := reading{Log: l, info: info, next: from, deliver: func(m events.Message, _ wire.Header) error { return deliver(m) }}
		return r.fromFiles(ctx, until)
	}
}

// fromServer returns the server's messages, regardless of the files.
func fromServer(t *testing.T, l *Log, from, until uint64) []events.Message {
	t.Helper()
	asking := &Log{conn: l.conn, js: l.js, name: l.name, request: l.request, access: l.access, server: l.server, committer: l.committer}
	out, err := collectRange(t, asking.ReadUntil, from, until)
	require.NoError(t, err)
	require.Len(t, out, int(until-from+1))
	return out
}

// filled creates a log of several blocks with messages of all kinds.
func filled(t *testing.T, dir string) (*Server, *Log, uint64) {
	t.Helper()
	s, l := inSmallBlocks(t, dir)
	add(t, l, "first", 10)
	foreign(t, l, nil, `no headers`)
	foreign(t, l, nats.Header{"nats-msg-id": {"other case"}, "Payfold-Key": {" padded\t ", "second"}, "Payfold-Signature": {""}}, `{}`)
	foreign(t, l, nats.Header{"Payfold-Received-At": {"not a time"}}, `{}`)
	for i := range 40 {
		add(t, l, fmt.Sprint("e", i), 1_700+rand.IntN(1_200))
	}
	add(t, l, "longer than a block", 500_000)
	for i := range 100 {
		add(t, l, fmt.Sprint("small", i), rand.IntN(300))
	}
	require.Greater(t, newestBlock(t, dir), 3)
	info, err := l.Info(t.Context())
	require.NoError(t, err)
	return s, l, info.Last
}

func TestTheFilesGiveWhatTheServerGives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing, last := filled(t, dir)
	defer stop(t, s, writing)
	l := reader(t, dir)
	want := fromServer(t, l, 1, last)
	for range 4 {
		from := 1 + rand.Uint64N(last)
		until := from + rand.Uint64N(last-from+1)
		got, err := collectRange(t, inFiles(l), from, until)
		require.NoError(t, err)
		require.Equal(t, want[from-1:until], got)
	}
}

func TestTheFilesOfALogThatBeginsLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := streamless(t, dir)
	defer stop(t, s, writing)
	late := ordinary
	late.FirstSeq = 500
	ensure(t, writing, late)
	add(t, writing, "a", 10)
	add(t, writing, "b", 10)
	l := reader(t, dir)
	got, err := collectRange(t, inFiles(l), 500, 501)
	require.NoError(t, err)
	require.Equal(t, fromServer(t, l, 500, 501), got)
	_, err = collectRange(t, inFiles(l), 499, 501)
	require.ErrorIs(t, err, blockstore.ErrUnexpectedLayout)
}

func TestFilesAreReadWhileTheServerWritesThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	l := reader(t, dir)
	ended := make(chan error, 1)
	go func() {
		for i := range 300 {
			body := fmt.Appendf(nil, `{"id":"e%d","eventType":"t","object":{"pad":"%0*d"}}`, i, rand.IntN(50_000), 0)
			event, err := specification.Parse(body)
			if err == nil {
				_, err = writing.Append(t.Context(), events.Delivery{Event: event, Body: body})
			}
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for read := 0; read < 300; {
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		got, err := collectRange(t, inFiles(l), uint64(read)+1, info.Last)
		if info.Last > uint64(read) {
			require.NoError(t, err)
		}
		for _, m := range got {
			require.Equal(t, fmt.Sprint("e", read), m.ID)
			read++
		}
	}
	require.NoError(t, <-ended)
}

// A reader that follows the log reads a backlog from the files, and what comes then from the server.
func TestABacklogIsReadFromTheFiles(t *testing.T) {
	t.Parallel()
	const size, bodies = 1000, minBacklog + 500
	dir := t.TempDir()
	s, writing := inSmallBlocks(t, dir)
	defer stop(t, s, writing)
	for i := range bodies {
		foreign(t, writing, nats.Header{"traceparent": {fmt.Sprint("trace", i)}}, fmt.Sprintf("%0*d", size, i))
	}
	l := reader(t, dir)
	want := fromServer(t, l, 1, bodies)
	enough := errors.New("enough")
	follow := func() (fromServer uint64) {
		before := l.conn.Stats().InBytes
		var got []events.Message
		require.ErrorIs(t, l.Read(t.Context(), 1, func(m events.Message, traceParent string) error {
			if m.Seq > bodies {
				return enough
			}
			require.Equal(t, fmt.Sprint("trace", m.Seq-1), traceParent)
			m.Body = m.Digest()
			if got = append(got, m); m.Seq == bodies {
				fromServer = l.conn.Stats().InBytes - before
				foreign(t, writing, nil, "after")
			}
			return nil
		}), enough)
		require.Equal(t, want, got)
		return fromServer
	}
	require.Less(t, follow(), uint64(size*minBacklog/2))
	copied := aside(t, dir)
	edit(t, block(copied, 2), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	l.files = filesIn(copied)
	require.Greater(t, follow(), uint64(size*minBacklog/2))
}

// If anything is wrong with the files, the messages come from the server.
func TestWithUnexpectedFilesTheMessagesComeFromTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing, last := filled(t, dir)
	defer stop(t, s, writing)
	l := reader(t, dir)
	want := fromServer(t, l, 1, last)
	for name, spoil := range map[string]func(dir string){
		"a bit":              func(dir string) { edit(t, block(dir, 1), func(b []byte) []byte { b[len(b)/2] ^= 4; return b }) },
		"the end of a block": func(dir string) { edit(t, block(dir, 1), func(b []byte) []byte { return b[:len(b)-5] }) },
		"a record's length":  func(dir string) { edit(t, block(dir, 2), func(b []byte) []byte { b[2] = 0xff; return b }) },
		"a block":            func(dir string) { require.NoError(t, os.Remove(block(dir, 2))) },
		"all blocks":         func(dir string) { require.NoError(t, os.RemoveAll(filepath.Dir(block(dir, 1)))) },
		"another order":      func(dir string) { require.NoError(t, os.Rename(block(dir, 1), block(dir, 9))) },
		"another stream": func(dir string) {
			l.files = blockstore.New(logFolder(dir), accounts.Writer, "OTHER")
			require.NoError(t, os.Rename(streamFolder(dir, "PAYMENTS"), streamFolder(dir, "OTHER")))
		},
	} {
		copied := aside(t, dir)
		l.files = filesIn(copied)
		_, err := collectRange(t, inFiles(l), 1, last)
		require.NoError(t, err, name)
		spoil(copied)
		_, err = collectRange(t, inFiles(l), 1, last)
		require.ErrorIs(t, err, blockstore.ErrUnexpectedLayout, name)
		got, err := collectRange(t, l.ReadUntil, 1, last)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

// The server's checksum does not cover the header's length. The server would deliver such a
// message with a wrong header and a wrong body.
func TestADamagedHeaderLengthEndsTheRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing, last := filled(t, dir)
	defer stop(t, s, writing)
	l := reader(t, dir)
	for _, spoil := range []func(length uint32) uint32{
		func(length uint32) uint32 { return length ^ 1 },
		func(length uint32) uint32 { return length ^ 64 },
		func(uint32) uint32 { return 0 },
	} {
		copied := aside(t, dir)
		l.files = filesIn(copied)
		edit(t, block(copied, 1), func(b []byte) []byte {
			le, at := binary.LittleEndian, 0
			for le.Uint32(b[at:])&(1<<31) == 0 {
				at += int(le.Uint32(b[at:]))
			}
			length := b[at+22+int(le.Uint16(b[at+20:])):]
			le.PutUint32(length, spoil(le.Uint32(length)))
			return b
		})
		_, err := collectRange(t, l.ReadUntil, 1, last)
		require.ErrorIs(t, err, blockstore.ErrDamaged)
	}
}

// The files belong to a log that replaced the one that the server serves.
func TestFilesOfAnotherLogAreNotRead(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	s2, writing2 := embedded(t, other)
	defer stop(t, s2, writing2)
	for i := range 3 {
		add(t, writing, fmt.Sprint("e", i), 10)
		add(t, writing2, fmt.Sprint("f", i), 10)
	}
	l := reader(t, dir)
	l.files = filesIn(other)
	read, err := collectRange(t, inFiles(l), 1, 3)
	require.ErrorIs(t, err, blockstore.ErrUnexpectedLayout)
	require.Empty(t, read)
	got, err := collectRange(t, l.ReadUntil, 1, 3)
	require.NoError(t, err)
	require.Equal(t, fromServer(t, l, 1, 3), got)
}

func TestABoundedReadReturnsWhyItEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	for i := range 3 {
		add(t, writing, fmt.Sprint("e", i), 10)
	}
	l := reader(t, dir)
	errMine := errors.New("mine")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, files := range []*blockstore.Store{l.files, nil} {
		l.files = files
		require.ErrorIs(t, l.ReadUntil(t.Context(), 1, 3, func(events.Message) error { return errMine }), errMine)
		require.NoError(t, l.ReadUntil(t.Context(), 3, 2, func(events.Message) error { return errMine }))
	}
	for _, files := range []*blockstore.Store{nil, reader(t, dir).files} {
		l.files = files
		err := l.ReadUntil(ctx, 1, 3, func(events.Message) error { cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ErrDisconnected)
	}
	stop(t, s, writing)
	wait.Until(t, func() bool { return !l.conn.IsConnected() })
	require.ErrorIs(t, l.ReadUntil(t.Context(), 1, 3, func(events.Message) error { return nil }), ErrDisconnected)
}

// After a power cut a reader must not have seen more than the log still has.
func TestWhatIsNotDurableIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	l := reader(t, dir)
	s.answers.Close() // nobody answers whether the message is durable
	for _, files := range []*blockstore.Store{l.files, nil} {
		l.files = files
		got, err := collectRange(t, l.ReadUntil, 1, 1)
		require.ErrorIs(t, err, ErrDisconnected)
		require.ErrorContains(t, err, "ask whether seq 1 is durable")
		require.Empty(t, got)
	}
}

// A read ends when its server is replaced; it does not continue with another one.
func TestALogThatIsReplacedWhileItsFilesAreReadIsNotMixed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	s, writing := inSmallBlocks(t, dir)
	for i := range 30 {
		add(t, writing, fmt.Sprint("a", i), 2_000)
	}
	s2, writing2 := embedded(t, other)
	for i := range 60 {
		add(t, writing2, fmt.Sprint("b", i), 10)
	}
	stop(t, s2, writing2)
	l := reader(t, dir)
	second := firstOf(t, dir, 2)
	require.Less(t, second, uint64(30))
	err := l.ReadUntil(t.Context(), 1, 30, func(m events.Message) error {
		require.Equal(t, fmt.Sprint("a", m.Seq-1), m.ID)
		if m.Seq == second-1 {
			stop(t, s, writing)
			require.NoError(t, os.Rename(logFolder(dir), logFolder(dir)+".old"))
			require.NoError(t, os.Rename(logFolder(other), logFolder(dir)))
			s, writing = embedded(t, dir)
			wait.Until(t, func() bool { _, err := l.Info(t.Context()); return err == nil })
		}
		return nil
	})
	require.ErrorIs(t, err, ErrDisconnected)
	stop(t, s, writing)
}

// A message that the server has deleted may still be in its files.
func TestWhatTheServerHasDeletedIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := streamless(t, dir)
	defer stop(t, s, writing)
	deletable := ordinary.jetstream()
	deletable.DenyDelete = false
	stream, err := writing.js.CreateStream(t.Context(), deletable)
	require.NoError(t, err)
	for i := range 10 {
		foreign(t, writing, nil, fmt.Sprint("e", i)) // ingest confirms nothing there
	}
	l := reader(t, dir)
	require.NoError(t, stream.DeleteMsg(t.Context(), 5))
	_, err = collectRange(t, inFiles(l), 1, 10)
	require.ErrorIs(t, err, blockstore.ErrUnexpectedLayout)
	_, err = collectRange(t, l.ReadUntil, 1, 10)
	require.ErrorContains(t, err, "skips from seq 4 to 6")
}

// A reader can ask whether any sequence is durable, also one that does not exist.
func TestAQuestionAboutWhatIsNotThereChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, writing := streamless(t, dir)
	l := reader(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := l.askDurable(ctx, 1_000_000)
	require.Error(t, err)
	require.NoError(t, writing.committer.failure())
	stop(t, s, writing)

	s, writing = embedded(t, dir)
	defer stop(t, s, writing)
	add(t, writing, "e1", 10)
	_, err = reader(t, dir).askDurable(t.Context(), 1_000_000)
	require.NoError(t, err)
	durable, err := reader(t, dir).askDurable(t.Context(), 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, durable)
	require.ErrorContains(t, reader(t, dir).ReadUntil(t.Context(), 1, 2, func(events.Message) error { return nil }), "ends at seq 1")
}

func streamFolder(dir, stream string) string {
	return filepath.Join(logFolder(dir), "jetstream", accounts.Writer, "streams", stream)
}

func block(dir string, number int) string {
	return filepath.Join(streamFolder(dir, "PAYMENTS"), "msgs", fmt.Sprint(number)+".blk")
}

// newestBlock is the number of the newest block, and of all blocks: the server counts from 1.
func newestBlock(t *testing.T, dir string) int {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(filepath.Dir(block(dir, 1)), "*.blk"))
	require.NoError(t, err)
	return len(blocks)
}

// firstOf is the sequence of a block's first message.
func firstOf(t *testing.T, dir string, number int) uint64 {
	t.Helper()
	content, err := os.ReadFile(block(dir, number))
	require.NoError(t, err)
	return binary.LittleEndian.Uint64(content[4:])
}

func filesIn(dir string) *blockstore.Store {
	return blockstore.New(logFolder(dir), accounts.Writer, "PAYMENTS")
}

// aside copies the log, so that the server keeps its own.
func aside(t *testing.T, dir string) (copied string) {
	t.Helper()
	copied = t.TempDir()
	require.NoError(t, os.CopyFS(logFolder(copied), os.DirFS(logFolder(dir))))
	return copied
}

func edit(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, change(content), fs.FileMode(0o600)))
}
