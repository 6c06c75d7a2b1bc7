package live_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
)

// silentLog answers no question.
type silentLog struct {
	*eventlog.Log // nil: nothing else is asked
	asked         chan struct{}
}

func (l silentLog) Info(ctx context.Context) (eventlog.Info, error) {
	select {
	case l.asked <- struct{}{}:
		<-ctx.Done()
	case <-ctx.Done():
	}
	return eventlog.Info{}, ctx.Err()
}

func TestALogThatDoesNotAnswerIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := silentLog{asked: make(chan struct{})}
	p := live.New(live.Config{Log: log, Store: &store.Store{}, Logger: slog.New(slog.NewTextHandler(&out, nil)), Registerer: prometheus.NewRegistry()})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for range 3 {
		<-log.asked
	}
	require.ErrorContains(t, p.Ready(ctx), "deadline exceeded")
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, 1, strings.Count(out.String(), "the projector waits and tries again"), out.String())
}
