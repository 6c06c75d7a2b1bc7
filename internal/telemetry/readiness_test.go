package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/telemetry"
)

func TestAProgramIsNotReadyBeforeItHasStarted(t *testing.T) {
	t.Parallel()
	readiness := telemetry.NewReadiness()
	require.EqualError(t, readiness.Ready(t.Context()), "starting")
	readiness.NotYet("opening the log")
	require.EqualError(t, readiness.Ready(t.Context()), "opening the log")
	away := errors.New("the log does not answer")
	readiness.From(func(context.Context) error { return away })
	require.ErrorIs(t, readiness.Ready(t.Context()), away)
	readiness.From(fine)
	require.NoError(t, readiness.Ready(t.Context()))
}
