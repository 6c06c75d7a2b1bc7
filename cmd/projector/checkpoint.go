package main

import (
	"fmt"
	"io"
	"os"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/proof"
)

// checkpointFlags name a checkpoint of the log and the keys that may have signed it.
type checkpointFlags struct {
	cli.VerifierFlags
	Checkpoint string `name:"checkpoint" placeholder:"FILE" help:"Checkpoint that ingest checkpoint has printed."`

	verifiers proof.Verifiers
}

// check reads the keys if a checkpoint is given.
func (c *checkpointFlags) check(faults *cli.Faults) {
	if c.Checkpoint != "" {
		c.verifiers = c.Verifiers(faults)
	}
}

// readCheckpoint returns the signed note, unchecked.
func (c *checkpointFlags) readCheckpoint() ([]byte, error) {
	file, err := os.Open(c.Checkpoint)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	signed, err := io.ReadAll(io.LimitReader(file, proof.MaxFile+1))
	if err == nil && len(signed) > proof.MaxFile {
		err = fmt.Errorf("%s is too large for a checkpoint", c.Checkpoint)
	}
	return signed, err
}
