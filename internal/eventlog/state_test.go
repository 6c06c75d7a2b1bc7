package eventlog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// While an event is made durable, somebody can change the stream, or replace it.
func TestAnEventIsNotConfirmedWhereTheStreamBecameUnsafeMeanwhile(t *testing.T) {
	t.Parallel()
	s, l, release := unflushed(t)
	ended := make(chan error, 1)
	go func() {
		_, err := l.Append(t.Context(), example(t, "e1", 10))
		ended <- err
	}()
	wait.Until(t, func() bool {
		info, err := l.Info(t.Context())
		return err == nil && info.Last == 2
	}, "the server has it")
	unsafe := &UnsafeError{}
	changed := *l.state.Load()
	changed.unsafe = unsafe
	l.state.Store(&changed)
	close(release)
	require.ErrorIs(t, <-ended, unsafe)
	stop(t, s, l)
}

// The administrator has repaired the stream, and no Watch has noticed it.
func TestAnOldAnswerAboutTheStreamIsNotUsed(t *testing.T) {
	t.Parallel()
	s, l := embedded(t, t.TempDir())
	defer stop(t, s, l)
	add(t, l, "e1", 10)
	old := *l.state.Load()
	old.unsafe, old.asked = &UnsafeError{}, time.Now().Add(-maxStateAge)
	l.state.Store(&old)
	add(t, l, "e2", 10)
}
