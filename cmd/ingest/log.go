package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
)

// cluster returns where the stream is if NATS_URL is set.
func cluster(c *cli.Common, logger *slog.Logger) eventlog.Config {
	return eventlog.Config{URL: c.NATSURL, Credentials: c.NATSCreds, Stream: c.NATSStream, Logger: logger}
}

// logTimeout is how long a command waits for the log.
const logTimeout = 10 * time.Second

// readLog connects to the log as its readers do, and waits until it answers.
func readLog(ctx context.Context, c *cli.Common, stderr io.Writer) (*eventlog.Log, eventlog.Info, error) {
	log, err := eventlog.Connect(eventlog.Config{
		URL: c.NATSURL, Credentials: c.NATSCreds, DataDir: c.DataDir, Stream: c.NATSStream, Logger: c.QuietLogger(stderr),
	})
	if err != nil {
		return nil, eventlog.Info{}, err
	}
	info, err := log.AwaitInfo(ctx, logTimeout)
	if err != nil {
		log.Close()
		return nil, eventlog.Info{}, err
	}
	return log, info, nil
}

// startTimeout is far more than a start takes, also on a busy machine.
const startTimeout = 30 * time.Second

// openLog starts the embedded log or connects to the cluster. The second result closes it.
func (c *serveCommand) openLog(ctx context.Context, logger *slog.Logger) (*eventlog.Log, func() error, error) {
	if c.NATSURL != "" {
		log, err := eventlog.Connect(cluster(&c.Common, logger))
		if err != nil {
			return nil, nil, err
		}
		return log, func() error { log.Close(); return nil }, nil
	}
	server, err := eventlog.StartEmbedded(ctx, eventlog.EmbeddedConfig{
		DataDir: c.DataDir, Address: c.EmbeddedAddr, Stream: c.NATSStream, Logger: logger,
	})
	if err != nil {
		return nil, nil, err
	}
	logger.InfoContext(ctx, "the embedded log is open", "data_dir", c.DataDir, "log_addr", server.Addr())
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
	if err := log.EnsureStream(start, c.config(c.NATSStream, c.Replicas), logger); err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return log, closeAll, nil
}
