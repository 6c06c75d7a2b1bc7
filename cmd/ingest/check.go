package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
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
	if !c.Archive {
		return
	}
	c.CheckArchive(&c.Common, faults)
	if c.ArchiveURL == storage.None {
		faults.Addf("ARCHIVE_URL is none: there is no archive")
	}
}

// Run reads the whole log and changes nothing. The exit status is 3 if anything is wrong.
func (c *checkCommand) Run(ctx context.Context, streams cli.Streams) error {
	check := c.checkFiles
	if c.NATSURL != "" {
		check = c.checkCluster
	}
	found, err := check(ctx, streams.Err)
	if err != nil {
		return err
	}
	err = found.Write(streams.Out, c.JSON)
	if err == nil && !found.Whole {
		return cli.Status(cli.ExitNo)
	}
	return err
}

// checkFiles checks the embedded log, with a server or without.
func (c *checkCommand) checkFiles(ctx context.Context, stderr io.Writer) (found logreport.Files, err error) {
	files, err := eventlog.OpenFiles(c.DataDir, c.NATSStream)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	due := progressDue()
	report, err := files.Check(ctx, func(done, blocks int) {
		if due() {
			fmt.Fprintf(stderr, "%d of %d blocks\n", done, blocks)
		}
	})
	if err != nil {
		return found, err
	}
	found = logreport.Files{Report: report, Whole: len(report.Damage) == 0 && !report.Restoring, Running: files.Running(), SalvagedTo: c.Salvage}
	if c.Salvage != "" {
		if found.Salvaged, err = salvage(ctx, files, c.Salvage); err != nil {
			return found, fmt.Errorf("salvage: %w", err)
		}
	}
	var source archive.Source
	if found.Whole && report.Events > 0 {
		source = files.Source(report)
	}
	err = c.checkArchive(ctx, report.LogID, source, &found)
	return found, err
}

// checkCluster checks only the archive of a cluster's log.
func (c *checkCommand) checkCluster(ctx context.Context, stderr io.Writer) (logreport.Files, error) {
	found := logreport.Files{Whole: true}
	log, info, err := readLog(ctx, &c.Common, nil, stderr)
	if err != nil {
		return found, err
	}
	defer log.Close()
	err = c.checkArchive(ctx, info.LogID, log, &found)
	return found, err
}

// checkArchive adds what is wrong with the archive, if that was asked for.
func (c *checkCommand) checkArchive(ctx context.Context, logID string, source archive.Source, found *logreport.Files) error {
	if !c.Archive || logID == "" {
		return nil
	}
	place, err := c.Place()
	if err != nil {
		return err
	}
	if found.Archive, err = archive.CheckAgainst(ctx, place, logID, source, c.Full); err != nil {
		return fmt.Errorf("check the archive: %w", err)
	}
	found.Whole = found.Whole && len(found.Archive.Faults) == 0
	return nil
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
