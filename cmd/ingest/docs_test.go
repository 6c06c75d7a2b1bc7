package main

import (
	"testing"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheDocumentsAndTheHelpDescribeTheCommandLine(t *testing.T) {
	docs.RequireCommandLine(t, "ingest", func() any { return &grammar{} })
}
