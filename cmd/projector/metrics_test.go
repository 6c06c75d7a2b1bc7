package main

import (
	"testing"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestEveryMetricIsPrinted(t *testing.T) {
	metrics := docs.NewMetrics(telemetry.NewRegistry(cli.Build()))
	new(runCommand).parts(sources{}, nil, testenv.Logger(t), metrics)
	docs.RequirePrintedMetrics(t, "projector", metrics)
}
