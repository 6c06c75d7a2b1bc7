package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv"
)

func TestAClustersStreamThatCanBeTrimmedIsRefusedWithoutLogKeep(t *testing.T) {
	t.Parallel()
	server := testenv.NewNATS(t)
	require.NoError(t, server.Log(t).EnsureStream(t.Context(), eventlog.StreamConfig{
		Name: testenv.Stream, Replicas: 1, Partitions: 4, DuplicateWindow: time.Minute, Trimmable: true,
	}, testenv.Logger(t)))
	for _, keep := range []string{"", "1000h"} {
		all := &grammar{}
		_, err := cli.Parse(all, "ingest", "", []string{
			"serve", "--nats-url", server.URL, "--log-keep", keep, "--archive-url", t.TempDir(), "--data-dir", t.TempDir(), "--provider-webhook-secret", "whsec_0123456789abcdef",
		}, io.Discard, io.Discard)
		require.NoError(t, err)
		log, closeLog, err := all.Serve.openLog(t.Context(), telemetry.NewReadiness(), testenv.Logger(t))
		require.NoError(t, err)
		info, err := log.AwaitInfo(t.Context(), logTimeout)
		require.NoError(t, err)
		require.Equal(t, keep == "", info.Unsafe != nil)
		require.NoError(t, closeLog())
	}
}
