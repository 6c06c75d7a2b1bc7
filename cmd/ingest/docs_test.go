package main

import (
	"testing"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheDocumentsAndTheHelpDescribeTheCommandLine(t *testing.T) {
	docs.RequireCommandLine(t, "ingest", func() any { return &grammar{} })
}

func TestEverySecretOfTheCommandLineIsText(t *testing.T) {
	t.Parallel()
	docs.RequireSecretsAreText(t, "ingest", func() any { return &grammar{} })
}
