package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/docs"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestEveryMetricIsPrinted(t *testing.T) {
	embedded := metricsOf(t, "--log-keep", "1000")
	cluster := metricsOf(t, "--nats-url", "nats://127.0.0.1:1")
	docs.RequirePrintedMetrics(t, "ingest", embedded, cluster)
	docs.RequirePrintedMetrics(t, "restore drill", docs.NewMetrics(drillMetrics(restore.Result{})))
}

// metricsOf runs ingest until it receives deliveries.
func metricsOf(t *testing.T, args ...string) *docs.Metrics {
	t.Helper()
	all := &grammar{}
	_, err := cli.Parse(all, "ingest", "", append([]string{
		"serve", "--data-dir", t.TempDir(), "--listen-addr", "127.0.0.1:0", "--provider-webhook-secret", "whsec_0123456789abcdef",
		"--stripe-api-key", "key", "--pull-interval", "0",
	}, args...), io.Discard, io.Discard)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	metrics, state, ended := docs.NewMetrics(telemetry.NewRegistry(cli.Build()), telemetry.NewReady(telemetry.NewReadiness().Ready)), newState(), make(chan error, 1)
	go func() { ended <- all.Serve.receive(ctx, state, testenv.Logger(t), metrics) }()
	wait.Until(t, func() bool { return state.parts.Load() != nil || len(ended) > 0 })
	stop()
	require.NoError(t, <-ended)
	return metrics
}
