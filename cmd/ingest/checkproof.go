package main

import (
	"context"
	"io"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/report/logreport"
)

type checkProofCommand struct {
	cli.VerifierFlags
	Body bool   `name:"body" help:"Print the event's body and nothing else, byte for byte."`
	JSON bool   `name:"json" help:"One JSON object."`
	File string `arg:"" help:"File that projector explain --proof has written; - is standard input."`

	verifiers proof.Verifiers
}

// Check implements cli.Checked.
func (c *checkProofCommand) Check(faults *cli.Faults) {
	c.verifiers = c.Verifiers(faults)
	if c.Body && c.JSON {
		faults.Addf("--body and --json exclude each other")
	}
}

// Run reads nothing but the file. The exit status is 3 if the proof does not hold.
func (c *checkProofCommand) Run(_ context.Context, streams cli.Streams) error {
	input, err := openInput(c.File, streams)
	if err != nil {
		return err
	}
	defer input.Close()
	text, err := io.ReadAll(io.LimitReader(input, proof.MaxFile+1))
	if err != nil {
		return err
	}
	parsed, err := proof.Parse(text)
	if err != nil {
		return refused(err, streams)
	}
	m, checkpoint, err := parsed.Check(c.verifiers)
	if err != nil {
		return refused(err, streams)
	}
	if c.Body {
		_, err := streams.Out.Write(m.Body)
		return err
	}
	return logreport.Proof(streams.Out, m, checkpoint, c.JSON)
}
