package main

import (
	"testing"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/docs"
	"github.com/payfold/payfold/internal/verify"
)

func TestEveryMetricIsPrinted(t *testing.T) {
	metrics := docs.NewMetrics(telemetry.NewRegistry(cli.Build()), telemetry.NewReady(telemetry.NewReadiness().Ready))
	new(runCommand).parts(sources{store: &store.Store{}}, nil, testenv.Logger(t), metrics)
	docs.RequirePrintedMetrics(t, "projector", metrics)
	docs.RequirePrintedMetrics(t, "verify", docs.NewMetrics(verifyMetrics(verify.Verdict{}, time.Time{})))
	docs.RequirePrintedMetrics(t, "reconcile", docs.NewMetrics(reconcileMetrics(reconcile.Result{}, time.Time{})))
}
