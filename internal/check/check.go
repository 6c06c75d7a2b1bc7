// Package check says whether a log is whole: every record of its files, and its archive. It changes
// nothing. Only a salvage writes, and only into a new file.
package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// Result says whether a log is whole.
type Result struct {
	*blockstore.Report                  // nil for the log of a cluster
	Archive            *archive.Checked `json:"archive,omitempty"` // nil if it was not checked
	Whole              bool             `json:"whole"`
	Running            bool             `json:"running"`            // ingest is running and writes to the files
	Salvaged           int              `json:"salvaged,omitempty"` // events that were saved
	SalvagedTo         string           `json:"-"`                  // the file that has them; empty if none was asked for
}

// Config describes a check.
type Config struct {
	Stream   string
	Salvage  string                 // a new file for every undamaged event; empty if none is wanted
	Progress func(done, blocks int) // called now and then while the files are read; may be nil
	Place    storage.Place          // of the archive; nil if it is not checked
	Full     bool                   // also read every byte of the archive
}

// Files checks the embedded log of a data directory; an ingest may run there. If the log is not
// whole, its archive is checked, but not compared with the log.
func Files(ctx context.Context, config Config, dataDir string) (result Result, err error) {
	files, err := eventlog.OpenFiles(dataDir, config.Stream)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	report, err := files.Check(ctx, config.Progress)
	if err != nil {
		return Result{}, err
	}
	result = Result{Report: report, Whole: len(report.Damage) == 0 && !report.Restoring, Running: files.Running(), SalvagedTo: config.Salvage}
	if config.Salvage != "" {
		if result.Salvaged, err = salvage(ctx, files, config.Salvage); err != nil {
			return result, fmt.Errorf("salvage: %w", err)
		}
	}
	var source archive.Source
	if result.Whole && report.Events > 0 {
		source = files.Source(report)
	}
	err = result.checkArchive(ctx, config, report.LogID, source)
	return result, err
}

// Cluster compares a cluster's log with its archive. The servers of a cluster check their own
// files.
func Cluster(ctx context.Context, config Config, log *eventlog.Log) (Result, error) {
	result := Result{Whole: true}
	info, err := log.Info(ctx)
	if err != nil {
		return result, err
	}
	err = result.checkArchive(ctx, config, info.LogID, log)
	return result, err
}

// checkArchive adds the faults of the archive, if there is a log and its archive is to be checked.
// source is nil if the log is not compared.
func (r *Result) checkArchive(ctx context.Context, config Config, logID string, source archive.Source) (err error) {
	if config.Place == nil || logID == "" {
		return nil
	}
	if r.Archive, err = archive.CheckAgainst(ctx, config.Place, logID, source, config.Full); err != nil {
		return fmt.Errorf("check the archive: %w", err)
	}
	r.Whole = r.Whole && len(r.Archive.Faults) == 0
	return nil
}
