package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/report/logreport"
)

type checkCommand struct {
	cli.Common
	Full    bool   `name:"full" help:"Read every record. A check always does; the flag is kept for scripts."`
	JSON    bool   `name:"json" help:"One JSON object."`
	Salvage string `name:"salvage" placeholder:"FILE" help:"Also write every undamaged event to a new FILE, one JSON object a line; ingest send --salvaged posts them."`
}

// Check implements cli.Checked.
func (c *checkCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	if c.NATSURL != "" {
		faults.Addf("NATS_URL is set: a check reads the files of the embedded log; the servers of a cluster check their own files")
	}
}

// Run reads the whole log and changes nothing. The exit status is 3 if anything is wrong.
func (c *checkCommand) Run(ctx context.Context, streams cli.Streams) (err error) {
	files, err := eventlog.OpenFiles(c.DataDir, c.NATSStream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	reported := time.Now()
	report, err := files.Check(ctx, func(done, blocks int) {
		if time.Since(reported) > progressInterval {
			reported = time.Now()
			fmt.Fprintf(streams.Err, "%d of %d blocks\n", done, blocks)
		}
	})
	if err != nil {
		return err
	}
	found := logreport.Files{Report: report, Whole: len(report.Damage) == 0, Running: files.Running(), SalvagedTo: c.Salvage}
	if c.Salvage != "" {
		if found.Salvaged, err = salvage(ctx, files, c.Salvage); err != nil {
			return fmt.Errorf("salvage: %w", err)
		}
	}
	err = found.Write(streams.Out, c.JSON)
	if err == nil && !found.Whole {
		return cli.Status(cli.ExitNo)
	}
	return err
}

// progressInterval is the time between two lines about a long check.
const progressInterval = 5 * time.Second

// salvage writes a new file durably. The file must not exist yet.
func salvage(ctx context.Context, files *eventlog.Files, path string) (saved int, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err = files.Salvage(ctx, func(event eventlog.Salvaged) error {
		saved++
		return encoder.Encode(event)
	})
	if err != nil {
		return saved, err
	}
	if err := out.Flush(); err != nil {
		return saved, err
	}
	return saved, file.Sync()
}
