package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatDoesNotEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	defer close(hangs)
	ctx, cancel := context.WithCancel(t.Context())
	err := endWithin(ctx, time.Millisecond, "the archive", func(context.Context) error {
		cancel()
		<-hangs
		return nil
	})
	require.ErrorContains(t, err, "the archive does not answer")
}

func TestWhatEndsIsWaitedFor(t *testing.T) {
	t.Parallel()
	failure := errors.New("the disk is full")
	fails := func(context.Context) error { return failure }
	require.ErrorIs(t, endWithin(t.Context(), time.Nanosecond, "the log", fails), failure, "it is not bounded before the end")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, endWithin(ctx, time.Hour, "the log", fails), failure)
}
