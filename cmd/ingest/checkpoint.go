package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/proof"
)

type checkpointCommand struct {
	cli.Common
	cli.ArchiveFlags
	KeyFile string `name:"checkpoint-key-file" env:"CHECKPOINT_KEY_FILE" help:"File of the key that signs checkpoints."`
	NewKey  string `name:"new-key" placeholder:"NAME" help:"Make the key file, for a signer of that name, and print its verifier key. No log is read."`
}

// Check implements cli.Checked.
func (c *checkpointCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.CheckArchive(&c.Common, faults)
	if c.KeyFile == "" {
		faults.Addf("CHECKPOINT_KEY_FILE is missing: name the file of a key; with --new-key NAME it is made")
	}
	if c.KeyFile != "" && c.NewKey == "" {
		cli.CheckSecretFile("CHECKPOINT_KEY_FILE", c.KeyFile, faults)
	}
}

// Run prints a signed checkpoint of the durable log. The exit status is 3 if the log does not
// begin with what the key has signed before.
func (c *checkpointCommand) Run(ctx context.Context, streams cli.Streams) (err error) {
	if c.NewKey != "" {
		verifier, err := proof.NewKey(c.KeyFile, c.NewKey)
		if err == nil {
			_, err = fmt.Fprintln(streams.Out, verifier)
		}
		return err
	}
	signer, err := proof.OpenSigner(c.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("CHECKPOINT_KEY_FILE: there is no file %s; ingest checkpoint --new-key NAME makes it, with a new key", c.KeyFile)
	}
	if err != nil {
		return refused(err, streams)
	}
	defer func() { err = errors.Join(err, signer.Close()) }()
	log, info, err := c.readServed(ctx, streams.Err)
	if err != nil {
		return err
	}
	defer log.Close()
	if info.First != 1 {
		fmt.Fprintf(streams.Err, "the log begins at seq %d: the checkpoint says so, and covers no earlier message\n", info.First)
	}
	progress := progressTo(streams.Err)
	signed, err := signer.Sign(ctx, log, func(position, until uint64) { progress("seq %d of %d\n", position, until) })
	if err != nil {
		return refused(err, streams)
	}
	_, err = streams.Out.Write(signed)
	return err
}

// readServed is readLog, but reads from the archive only what the log's server no longer has. So the
// checkpoint signs what the server has, as far as it goes.
func (c *checkpointCommand) readServed(ctx context.Context, stderr io.Writer) (*eventlog.Log, eventlog.Info, error) {
	log, info, err := readLog(ctx, &c.Common, nil, stderr)
	if err != nil || info.ServerFirst == info.First {
		return log, info, err
	}
	log.Close()
	place, err := c.Place(c.QuietLogger(stderr))
	if err != nil {
		return nil, eventlog.Info{}, err
	}
	return readLog(ctx, &c.Common, place, stderr)
}

// refused makes the exit status 3 if a checkpoint, a proof or the log is not accepted.
func refused(err error, streams cli.Streams) error {
	if !errors.As(err, new(proof.RefusedError)) {
		return err
	}
	fmt.Fprintln(streams.Err, err)
	return cli.Status(cli.ExitNo)
}
