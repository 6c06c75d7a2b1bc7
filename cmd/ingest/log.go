package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/telemetry"
)

// logConfig returns how to reach the log.
func logConfig(c *cli.Common, logger *slog.Logger) eventlog.Config {
	return eventlog.Config{URL: c.NATSURL, Credentials: c.NATSCreds, InboxPrefix: c.NATSInboxPrefix, DataDir: c.DataDir, Stream: c.NATSStream, Logger: logger}
}

// logTimeout is how long a command waits for the log.
const logTimeout = 10 * time.Second

// readLog connects to the log as its readers do, and waits until it answers. If place is nil, only
// the log's server is read.
func readLog(ctx context.Context, c *cli.Common, place storage.Place, stderr io.Writer) (*eventlog.Log, eventlog.Info, error) {
	logger := c.QuietLogger(stderr)
	config := logConfig(c, logger)
	config.Archive = place
	log, err := eventlog.Connect(config)
	if err != nil {
		return nil, eventlog.Info{}, err
	}
	info, err := log.Reach(ctx, logger, logTimeout)
	if err != nil {
		log.Close()
		return nil, eventlog.Info{}, err
	}
	return log, info, nil
}

// startTimeout is far more than a start takes, also on a busy machine.
const startTimeout = 30 * time.Second

// openLog starts the embedded log or connects to the cluster. The second result closes it.
func (c *logFlags) openLog(ctx context.Context, readiness *telemetry.Readiness, logger *slog.Logger) (*eventlog.Log, func() error, error) {
	if c.NATSURL != "" {
		config := logConfig(&c.Common, logger)
		config.Whole = c.keep.All()
		log, err := eventlog.Connect(config)
		if err != nil {
			return nil, nil, err
		}
		return log, func() error { log.Close(); return nil }, nil
	}
	server, err := eventlog.StartEmbedded(ctx, eventlog.EmbeddedConfig{
		DataDir: c.DataDir, Address: c.EmbeddedAddr, Stream: c.NATSStream, Whole: c.keep.All(), Logger: logger,
		Progress: checkProgress(readiness, logger),
	})
	if err != nil {
		return nil, nil, err
	}
	check, open := server.Took()
	logger.InfoContext(ctx, "the embedded log is open", "data_dir", c.DataDir, "log_addr", server.Addr(), "check_took", check, "open_took", open)
	log, err := server.Connect()
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	closeAll := func() error {
		log.Close()
		return server.Close()
	}
	start, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, missing := log.Info(start); errors.Is(missing, eventlog.ErrNoStream) {
		err = requireNoArchived(start, &c.ArchiveFlags, logger)
	}
	if errors.Is(err, errArchiveUnreadable) { // deliveries must not wait for the archive
		logger.WarnContext(ctx, "a new log is made, although the archive cannot be read", "error", err)
		err = nil
	}
	if err == nil {
		err = log.EnsureStream(start, c.config(c.NATSStream, c.Replicas, c.keepFlags), logger)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return log, closeAll, nil
}

// storeTimeout bounds each call of the archive's store during a start.
const storeTimeout = 10 * time.Second

var errArchiveUnreadable = errors.New("the archive cannot be read")

// requireNoArchived returns an error if the archive has a log, or errArchiveUnreadable. It is called if there is no log:
// a new one would begin at 1, and tables that were folded from the old log could never continue with it.
func requireNoArchived(ctx context.Context, flags *cli.ArchiveFlags, logger *slog.Logger) error {
	if flags.ArchiveURL == storage.None {
		return nil
	}
	place, err := flags.Place(logger)
	if err != nil {
		return err
	}
	logs, err := archive.Logs(ctx, storage.Bounded(place, storeTimeout))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errArchiveUnreadable, place, err)
	}
	if len(logs) == 0 {
		return nil
	}
	return fmt.Errorf("there is no log, and the archive %s has log %s: restore it with: ingest restore --from %s; for a new log set ARCHIVE_URL to an empty place",
		place, logs[0], flags.ArchiveURL)
}
