package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/page"
)

// errNotKnown means that the tables do not have what was asked for.
var errNotKnown = errors.New("the tables do not have it yet")

// projector runs a command of the projector, which can read the tables, with the same environment, and returns its
// output. So ingest itself needs no code for Postgres. The error is errNotKnown if the answer is no.
func projector(ctx context.Context, args ...string) ([]byte, error) {
	path, err := projectorPath()
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = &out, &said
	err = command.Run()
	var exited *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case errors.As(err, &exited) && exited.ExitCode() == cli.ExitNo:
		return nil, errNotKnown
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	if line == "" {
		line = err.Error()
	}
	return nil, fmt.Errorf("the tables cannot be read here: %s", page.Clean(line))
}

// projectorPath returns the projector that lies beside this program, or else the one in PATH.
func projectorPath() (string, error) {
	own, err := os.Executable()
	if err == nil {
		beside := filepath.Join(filepath.Dir(own), "projector")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("projector")
	if err != nil {
		return "", errors.New("the tables cannot be read here: there is no projector beside ingest")
	}
	return path, nil
}
