package proof

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// world is a log and a key for its checkpoints.
type world struct {
	t   *testing.T
	log *testenv.Log
	reader
	key       string // the key's file
	verifiers Verifiers
}

// reader reads the log of a world, and shows it changed.
type reader struct {
	Log
	info   func(*eventlog.Info)
	change func(*events.Message) // may be nil
}

func (r reader) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := r.Log.Info(ctx)
	if r.info != nil {
		r.info(&info)
	}
	return info, err
}

func (r reader) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return r.Log.ReadUntil(ctx, from, until, func(m events.Message) error {
		if r.change != nil {
			r.change(&m)
		}
		return deliver(m)
	})
}

func setup(t *testing.T, messages int) *world {
	t.Helper()
	w := &world{t: t, log: testenv.NewLog(t, 4), key: filepath.Join(t.TempDir(), "checkpoint.key")}
	w.deliver(1, messages)
	w.reader = reader{Log: w.log.Reader(t)}
	wait.Until(t, func() bool { // until it is connected
		_, err := w.reader.Info(t.Context())
		return err == nil
	})
	key, err := NewKey(w.key, "shop.example/payments")
	require.NoError(t, err)
	w.verifiers, err = ParseVerifiers(key)
	require.NoError(t, err)
	return w
}

func (w *world) deliver(from, to int) {
	w.t.Helper()
	for n := from; n <= to; n++ {
		w.log.Deliver(w.t, fmt.Sprintf(`{"id":"evt_%d","eventType":"any","object":{"user_id":"u_%d"}}`, n, n))
	}
}

// sign signs a checkpoint, as one command does.
func (w *world) sign() ([]byte, Checkpoint) {
	w.t.Helper()
	signed, err := w.trySign()
	require.NoError(w.t, err)
	c, err := w.verifiers.Open(signed)
	require.NoError(w.t, err)
	return signed, c
}

func (w *world) trySign() ([]byte, error) {
	w.t.Helper()
	signer, err := OpenSigner(w.key)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, signer.Close()) }()
	return signer.Sign(w.t.Context(), w.reader, nil)
}

func (w *world) compare(c Checkpoint) error { return Compare(w.t.Context(), w.reader, c, nil) }

// requireRefused: err says that somebody was deceived, with these words.
func requireRefused(t require.TestingT, err error, words string) {
	require.ErrorAs(t, err, new(RefusedError))
	require.ErrorContains(t, err, words)
}

// alterations are what may happen to a log of four messages, and the words with which it is
// refused.
var alterations = map[string]struct {
	info   func(*eventlog.Info)
	change func(*events.Message)
	words  string
}{
	"a byte of a body": {change: func(m *events.Message) {
		if m.Seq == 2 {
			m.Body = append([]byte(nil), m.Body...)
			m.Body[len(m.Body)-5] ^= 1
		}
	}, words: "a message was changed, moved, added or removed"},
	"the time of arrival": {change: func(m *events.Message) {
		if m.Seq == 3 {
			m.ReceivedAt = m.ReceivedAt.Add(1)
		}
	}, words: "a message was changed, moved, added or removed"},
	"two messages swapped": {change: func(m *events.Message) {
		if m.Seq == 2 || m.Seq == 3 {
			m.Seq = 5 - m.Seq
		}
	}, words: "a message was changed, moved, added or removed"},
	"the last message is lost":  {info: func(i *eventlog.Info) { i.Last-- }, words: "the log is too short: the checkpoint covers 4 messages up to seq 4, and the log ends at seq 3"},
	"the first message is lost": {info: func(i *eventlog.Info) { i.First++ }, words: "the checkpoint begins at seq 1, and the log begins at seq 2"},
	"the log is empty":          {info: func(i *eventlog.Info) { i.First, i.Last = 1, 0 }, words: "the log is too short"},
	"another log":               {info: func(i *eventlog.Info) { i.LogID = "other" }, words: "and this is log other"},
}
