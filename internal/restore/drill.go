package restore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// Drill restores the log of an archive into a new folder within scratch, and removes that folder.
// This log has one replica, however many the lost one had. Errors are those of Run.
func Drill(ctx context.Context, config Config, scratch string, logger *slog.Logger) (result Result, err error) {
	dir, err := os.MkdirTemp(scratch, "payfold-restore-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config.Stream.Replicas = 1
	return Embedded(ctx, config, dir, logger)
}

// Embedded is Run into the embedded log of a data directory. No ingest may run there.
func Embedded(ctx context.Context, config Config, dataDir string, logger *slog.Logger) (result Result, err error) {
	server, err := eventlog.StartEmbedded(ctx, eventlog.EmbeddedConfig{DataDir: dataDir, Stream: config.Stream.Name, Logger: logger})
	if errors.As(err, new(*blockstore.DamagedError)) {
		return Result{}, fmt.Errorf("%w\nIf an earlier restore was interrupted here, remove %s and restore again", err, filepath.Join(dataDir, "log"))
	}
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if config.Log, err = server.Connect(); err != nil {
		return Result{}, err
	}
	defer config.Log.Close()
	return Run(ctx, config)
}
