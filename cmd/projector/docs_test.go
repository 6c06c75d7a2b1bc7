package main

import (
	"testing"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheCommandLineIsPrinted(t *testing.T) {
	docs.RequireCommandLine(t, "projector", func() any { return &grammar{} })
}

func TestTheVariablesArePrinted(t *testing.T) {
	docs.RequirePrintedVariables(t, "projector", &grammar{})
}

func TestEverySecretOfTheCommandLineIsText(t *testing.T) {
	t.Parallel()
	docs.RequireSecretsAreText(t, "projector", func() any { return &grammar{} })
}
