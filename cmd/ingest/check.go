package main

import (
	"context"
	"io"

	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/logreport"
)

type checkCommand struct {
	cli.Common
	cli.ArchiveFlags
	Archive bool   `name:"archive" help:"Also compare the log with its archive, segment by segment."`
	Full    bool   `name:"full" help:"With --archive, also read every byte of the archive. Every record of the log is always read."`
	JSON    bool   `name:"json" help:"One JSON object."`
	Salvage string `name:"salvage" placeholder:"FILE" help:"Also write every undamaged event to a new FILE, one JSON object a line; ingest send --salvaged posts them."`
}

// Check implements cli.Checked.
func (c *checkCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	if c.NATSURL != "" && (!c.Archive || c.Salvage != "") {
		faults.Addf("NATS_URL is set: a check reads the files of the embedded log; the servers of a cluster check their own files. Only --archive works with a cluster")
	}
	if c.Full && !c.Archive {
		faults.Addf("--full needs --archive")
	}
	if !c.Archive {
		return
	}
	c.RequireArchive(&c.Common, faults)
}

// Run reads the whole log and changes nothing. The exit status is 3 if anything is wrong.
func (c *checkCommand) Run(ctx context.Context, streams cli.Streams) error {
	result, err := c.check(ctx, streams.Err)
	if err != nil {
		return err
	}
	err = logreport.Checked(streams.Out, result, c.JSON)
	if err == nil && !result.Whole {
		return cli.Status(cli.ExitNo)
	}
	return err
}

func (c *checkCommand) check(ctx context.Context, stderr io.Writer) (check.Result, error) {
	progress := progressTo(stderr)
	config := check.Config{
		Stream: c.NATSStream, Salvage: c.Salvage, Full: c.Full,
		Progress: func(done, blocks int) { progress("%d of %d blocks\n", done, blocks) },
	}
	if c.Archive {
		var err error
		if config.Place, err = c.Place(c.QuietLogger(stderr)); err != nil {
			return check.Result{}, err
		}
	}
	if c.NATSURL == "" {
		return check.Files(ctx, config, c.DataDir)
	}
	log, _, err := readLog(ctx, &c.Common, nil, stderr)
	if err != nil {
		return check.Result{}, err
	}
	defer log.Close()
	return check.Cluster(ctx, config, log)
}
