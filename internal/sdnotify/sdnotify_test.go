package sdnotify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/sdnotify"
	"github.com/payfold/payfold/internal/testenv/supervisor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	more    = "\nEXTEND_TIMEOUT_USEC=600000000"
	isReady = "READY=1\nSTATUS="
)

// program says through reason why it is not ready; "" means that it is.
type program struct{ reason atomic.Value }

func (p *program) ready(context.Context) error {
	if reason := p.reason.Load().(string); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// The environment is a process's own: the tests cannot be parallel.
func setup(t *testing.T, socket, reason string) (*supervisor.Supervisor, *program, func()) {
	t.Helper()
	systemd := supervisor.Listen(t, socket)
	t.Setenv("NOTIFY_SOCKET", socket)
	p := &program{}
	p.reason.Store(reason)
	ctx, stop := context.WithCancel(context.Background())
	var log bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sdnotify.Run(ctx, p.ready, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		require.Empty(t, log.String())
	})
	return systemd, p, stop
}

func TestSystemdIsToldHowTheStartGoesWhenItIsDoneAndOfTheEnd(t *testing.T) {
	for name, socket := range map[string]string{
		"a socket in a folder": filepath.Join(t.TempDir(), "notify"),
		"an abstract socket":   fmt.Sprintf("@payfold-test-%p", t),
	} {
		t.Run(name, func(t *testing.T) {
			systemd, p, stop := setup(t, socket, "checking 1 of 2")
			require.Equal(t, "STATUS=checking 1 of 2"+more, systemd.Next(t))
			p.reason.Store("checking 2 of 2")
			require.Equal(t, "STATUS=checking 2 of 2"+more, systemd.Next(t))
			p.reason.Store("")
			require.Equal(t, isReady, systemd.Next(t))
			p.reason.Store("the database is away")
			stop()
			require.Equal(t, "STOPPING=1", systemd.Next(t), "what happens after the start is not of the start")
		})
	}
}

func TestAStopDuringTheStartIsTold(t *testing.T) {
	systemd, _, stop := setup(t, filepath.Join(t.TempDir(), "notify"), "starting")
	require.Equal(t, "STATUS=starting"+more, systemd.Next(t))
	stop()
	require.Equal(t, "STOPPING=1", systemd.Next(t))
}

func TestAReasonIsOneShortLine(t *testing.T) {
	systemd, _, _ := setup(t, filepath.Join(t.TempDir(), "notify"), "the first\nREADY=1\r\n"+strings.Repeat("ü", 5000)+"\xff")
	told := systemd.Next(t)
	require.True(t, strings.HasPrefix(told, "STATUS=the first; READY=1; üüü"), told)
	require.True(t, utf8.ValidString(told))
	require.Less(t, len(told), 2000)
	require.Equal(t, 1, strings.Count(told, "\n"))
}

func TestTheErrorThatEndsAProgramIsItsStatus(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd := supervisor.Listen(t, socket)
	t.Setenv("NOTIFY_SOCKET", socket)
	sdnotify.Failed(errors.New("two are wrong:\n  LISTEN_ADDR\n  LOG_KEEP\n"))
	require.Equal(t, "STATUS=two are wrong: LISTEN_ADDR; LOG_KEEP", systemd.Next(t))
}

func TestWithoutASocketNothingIsAsked(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	sdnotify.Run(t.Context(), func(context.Context) error {
		require.Fail(t, "asked")
		return nil
	}, slog.New(slog.DiscardHandler))
}

func TestASocketThatNobodyHearsIsAWarning(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	var log bytes.Buffer
	sdnotify.Run(t.Context(), func(context.Context) error { return nil }, slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "cannot tell systemd the state of the program")
}
