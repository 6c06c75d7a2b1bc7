package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
)

func TestTheCommandLineTakesEveryCommandOfTheDocuments(t *testing.T) {
	repository, err := docs.Open("../..")
	require.NoError(t, err)
	faults, err := repository.CommandFaults("ingest", func() any { return &grammar{} })
	require.NoError(t, err)
	require.Empty(t, faults)
}

func TestTheHelpOfEveryCommandNamesEveryFlagWithItsDefaultAndVariable(t *testing.T) {
	t.Parallel()
	faults, err := docs.HelpFaults("ingest", func() any { return &grammar{} })
	require.NoError(t, err)
	require.Empty(t, faults)
}
