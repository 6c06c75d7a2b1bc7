package main

import (
	"testing"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheCommandLineIsPrinted(t *testing.T) {
	docs.RequireCommandLine(t, "ingest", func() any { return &grammar{} })
}

func TestTheVariablesArePrinted(t *testing.T) {
	docs.RequirePrintedVariables(t, "ingest", &grammar{})
}

func TestEverySecretOfTheCommandLineIsText(t *testing.T) {
	t.Parallel()
	docs.RequireSecretsAreText(t, "ingest", func() any { return &grammar{} })
}
