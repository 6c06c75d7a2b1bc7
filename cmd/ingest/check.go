package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
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
	saved := 0
	if c.Salvage != "" {
		if saved, err = salvage(ctx, files, c.Salvage); err != nil {
			return fmt.Errorf("salvage: %w", err)
		}
	}
	if c.JSON {
		err = json.NewEncoder(streams.Out).Encode(struct {
			*blockstore.Report
			Whole    bool `json:"whole"`
			Running  bool `json:"running"`
			Salvaged int  `json:"salvaged,omitempty"`
		}{report, len(report.Damage) == 0, files.Running(), saved})
	} else {
		err = printReport(streams.Out, report, files.Running())
		if err == nil && c.Salvage != "" {
			_, err = fmt.Fprintf(streams.Out, "%d events are in %s\n", saved, c.Salvage)
		}
	}
	if err == nil && len(report.Damage) > 0 {
		return cli.Status(cli.ExitNo)
	}
	return err
}

// progressInterval is the time between two lines about a long check.
const progressInterval = 5 * time.Second

func printReport(out io.Writer, r *blockstore.Report, running bool) error {
	w := bufio.NewWriter(out)
	for _, d := range r.Damage {
		fmt.Fprintln(w, d)
	}
	switch {
	case len(r.Damage) > 0:
		fmt.Fprintf(w, "the log of stream %s is damaged; %d events up to seq %d are whole\nWhat to do: %s.\n", r.Stream, r.Events, r.Last, r.Damage[0].Advice)
	case r.LogID == "":
		fmt.Fprintf(w, "there is no log of stream %s yet\n", r.Stream)
	case r.Events == 0:
		fmt.Fprintf(w, "log %s of stream %s is whole: it has no event yet, and begins with seq %d\n", r.LogID, r.Stream, r.First)
	default:
		fmt.Fprintf(w, "log %s of stream %s is whole: %d events, seq %d to %d, in %d blocks of %d bytes\n", r.LogID, r.Stream, r.Events, r.First, r.Last, r.Blocks, r.Bytes)
	}
	if running {
		fmt.Fprintln(w, "ingest is running: messages that are not durable yet were not checked")
	}
	if tail := r.TornTail; tail != nil {
		fmt.Fprintf(w, "the last %d bytes of %s were torn by a kill or a power cut, and never confirmed; the next start keeps them beside the log\n", tail.Bytes, tail.File)
		for _, file := range tail.Newer {
			fmt.Fprintf(w, "all of %s was torn too\n", file)
		}
	}
	return w.Flush()
}

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
