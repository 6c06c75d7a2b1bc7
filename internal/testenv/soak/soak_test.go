// Package soak_test runs soak.sh with campaigns that pass, fail or hang.
package soak_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// soak returns the command that runs soak.sh with a make that executes script, and what it writes.
func soak(t *testing.T, hours, script string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "make"), []byte("#!/bin/sh\n"+script), 0o700))
	command, said := exec.Command("./soak.sh"), &bytes.Buffer{}
	environment := slices.DeleteFunc(os.Environ(), func(one string) bool { return strings.HasPrefix(one, "TMPDIR=") })
	command.Env = append(environment, "PATH="+bin+":"+os.Getenv("PATH"), "HOURS="+hours, "TMPDIR="+bin)
	command.Stdout, command.Stderr = said, said
	return command, said
}

func TestOneRoundThatFailsMakesTheVerdictRed(t *testing.T) {
	t.Parallel()
	command, said := soak(t, "0", `echo "$@ with seed $FAULT_SEED"; test "$1" != test-campaign`)
	var failed *exec.ExitError
	require.ErrorAs(t, command.Run(), &failed, said)
	require.Equal(t, 1, failed.ExitCode(), said)
	require.Contains(t, said.String(), "test-schedules: 1 rounds, 0 failed")
	require.Contains(t, said.String(), "test-campaign: 1 rounds, 1 failed")
	require.NotContains(t, said.String(), ": 0 rounds", "a campaign after the one that failed was not run")
	require.Regexp(t, `FAILED: FAULT_SEED=[0-9]+ make test-campaign FAULT_ROUNDS=10 \(output: `, said)
	_, log, _ := strings.Cut(said.String(), "(output: ")
	log, _, _ = strings.Cut(log, ")")
	kept, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Regexp(t, `^test-campaign FAULT_ROUNDS=10 with seed [0-9]+`, string(kept))
}

func TestASoakWithoutAFaultIsGreenAndKeepsNothing(t *testing.T) {
	t.Parallel()
	command, said := soak(t, "0.0003", "true")
	require.NoError(t, command.Run(), said)
	require.Contains(t, said.String(), "nothing failed")
	require.NotContains(t, said.String(), "FAILED")
	_, folder, _ := strings.Cut(strings.Join(command.Env, "\n"), "\nTMPDIR=")
	left, err := filepath.Glob(filepath.Join(folder, "payfold-soak*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnInterruptEndsTheSoakWithTheVerdictSoFar(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"true", "false"} {
		// The second campaign says that it runs, and then hangs until it is killed.
		command, said := soak(t, "24", `test "$1" = test-campaign || exec `+first+`; echo >"$RUNS"; exec sleep 1d`)
		runs := filepath.Join(t.TempDir(), "runs")
		require.NoError(t, syscall.Mkfifo(runs, 0o600))
		command.Env = append(command.Env, "RUNS="+runs)
		require.NoError(t, command.Start())
		pipe, err := os.Open(runs)
		require.NoError(t, err)
		_, err = io.ReadAll(pipe)
		require.NoError(t, err)
		require.NoError(t, pipe.Close())
		require.NoError(t, command.Process.Signal(os.Interrupt))
		err = command.Wait()
		require.Equal(t, first == "true", err == nil, said)
		require.Contains(t, said.String(), "test-schedules: 1 rounds")
		require.Contains(t, said.String(), "test-campaign: 0 rounds, 0 failed")
	}
}

func TestHoursMustBeANumber(t *testing.T) {
	t.Parallel()
	command, said := soak(t, "a day", "true")
	require.Error(t, command.Run())
	require.Contains(t, said.String(), "HOURS must be a number")
}
