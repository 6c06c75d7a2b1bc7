package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/sdnotify"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/telemetry/traces"
	"github.com/payfold/payfold/internal/webhook"
)

// drainTimeout bounds how long the shutdown waits for deliveries in flight. Each is answered
// within five seconds.
const drainTimeout = 10 * time.Second

// A disk or a store that does not answer must not hold up the shutdown for ever. The shutdown waits
// for the archive until archiveEndTimeout, so that it can still close the log in order. It waits for
// everything until endTimeout. This is less than the 30 s after which most supervisors kill.
const (
	archiveEndTimeout = 15 * time.Second
	endTimeout        = 25 * time.Second
)

// UntilStopped implements cli.Service.
func (c *serveCommand) UntilStopped() bool { return true }

// Run serves operators from the beginning, and receives deliveries once the log is open.
func (c *serveCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.Logger(streams.Err)
	for _, missing := range c.notPulled {
		logger.WarnContext(ctx, "the events of a provider are not pulled", "reason", missing)
	}
	for _, variable := range c.weak {
		logger.WarnContext(ctx, "a signing secret is shorter than 16 bytes and can be guessed", "variable", variable)
	}
	registry, state := telemetry.NewRegistry(cli.Build()), newState()
	admin, err := telemetry.NewAdmin(c.AdminAddr, registry, state.readiness.Ready, logger)
	if err != nil {
		return fmt.Errorf("ADMIN_ADDR: %w", err)
	}
	admin.Handle("GET /status", state)
	// A page in a browser of this machine must not start a pull.
	admin.Handle("POST /pull", http.NewCrossOriginProtection().Handler(http.HandlerFunc(state.servePull)))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return admin.Run(ctx) })
	group.Go(func() error {
		return endWithin(ctx, endTimeout, "a disk or a store", func(ctx context.Context) error { return c.receive(ctx, state, logger, registry) })
	})
	group.Go(func() error { sdnotify.Run(ctx, state.readiness.Ready, logger); return nil })
	return group.Wait()
}

// receive opens the log, receives deliveries until ctx ends, and closes the log.
func (c *serveCommand) receive(ctx context.Context, state *state, logger *slog.Logger, registry prometheus.Registerer) (err error) {
	tracer, err := traces.Start(ctx, "payfold-ingest", logger)
	if err != nil {
		return err
	}
	defer tracer.Stop()
	log, closeLog, err := c.openLog(ctx, state.readiness, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(cli.Stopped(ctx, err), closeLog()) }() // a stop does not hide that closing failed

	listener, err := listen(c.ListenAddr, registry)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: listen for deliveries: %w", err)
	}
	handler := webhook.New(webhook.Config{
		Secrets: c.secrets, MaxBodyBytes: c.MaxBodyBytes, MaxInFlight: c.MaxInFlight,
		PublishTimeout: c.PublishTimeout, Logger: logger, Registerer: registry, Tracer: tracer,
	}, log)
	watch := eventlog.NewWatch(log, logger, registry)
	archiver, trimmer, err := c.archive(ctx, log, logger, registry)
	if err != nil {
		return err
	}
	pulling := c.pullConfig(c.PullInterval, c.PullSince, logger)
	pulling.Complete = handler.Pulled
	pulls, closePulls, err := newPullers(c.apis, pulling, c.secretFlags, log, registry)
	if err != nil {
		return err
	}
	defer closePulls()
	var scrubber *eventlog.Scrubber
	if c.NATSURL == "" || archiver != nil { // without an archive the user ingest of a cluster may not read
		scrubber = eventlog.NewScrubber(eventlog.ScrubConfig{Log: log, Logger: logger, Registerer: registry})
	}
	state.parts.Store(&parts{log, handler, archiver, scrubber, pulls})
	state.readiness.From(log.Ready)
	logger.InfoContext(ctx, "receiving deliveries", "listen_addr", listener.Addr().String())

	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error {
		return telemetry.Serve(serving, webhook.NewServer(handler, logger), listener, drainTimeout)
	})
	group.Go(func() error { return watch.Run(serving) })
	group.Go(func() error {
		if info, err := log.AwaitInfo(serving, logTimeout); err == nil {
			handler.AcceptedAt(info.StoredAt)
		}
		return nil
	})
	for _, puller := range pulls {
		if c.PullInterval > 0 {
			group.Go(func() error { return puller.Run(serving, time.Time{}, nil) })
		}
	}
	if archiver != nil {
		group.Go(func() error {
			return endWithin(serving, archiveEndTimeout, "the archive "+archiver.Place.String(), archiver.Run)
		})
	}
	if scrubber != nil {
		group.Go(func() error { return endWithin(serving, archiveEndTimeout, "the log's disk", scrubber.Run) })
	}
	if trimmer != nil {
		group.Go(func() error {
			return endWithin(serving, archiveEndTimeout, "the archive "+trimmer.Place.String(), trimmer.Run)
		})
	}
	return group.Wait()
}

// endWithin calls run, which a disk or a store can hold up. Once ctx has ended, it waits for run until
// the limit. Then it leaves run behind, and its error names what does not answer. The process has to
// end then.
func endWithin(ctx context.Context, limit time.Duration, what string, run func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fmt.Errorf("%s does not answer: ingest ends without it after %s", what, limit)
	}
}

// archive returns what archives the log, and what then trims it. Both are nil without an archive; the
// trimmer is also nil if everything is kept.
func (c *serveCommand) archive(ctx context.Context, log *eventlog.Log, logger *slog.Logger, registry prometheus.Registerer) (*archive.Archiver, *archive.Trimmer, error) {
	if c.ArchiveURL == storage.None {
		return nil, nil, nil
	}
	place, err := c.Place(logger)
	if err != nil {
		return nil, nil, err
	}
	archiver := archive.NewArchiver(archive.Config{
		Place: place, Source: log, Interval: c.Interval, Logger: logger, Registerer: registry,
	})
	if c.keep.All() {
		return archiver, nil, nil
	}
	if folder, is := place.(*storage.Folder); is && c.NATSURL == "" && within(c.DataDir, folder.Root) {
		logger.WarnContext(ctx, "LOG_KEEP makes the archive the only copy of older events, and it is in the log's folder: a lost disk loses them", "archive", place.String())
	}
	return archiver, archive.NewTrimmer(archive.TrimConfig{
		Place: place, Log: log, Keep: c.keep, Interval: c.Interval, Logger: logger, Registerer: registry,
	}), nil
}

// within reports whether a path lies in a folder.
func within(folder, path string) bool {
	folder, err := filepath.Abs(folder)
	path, err2 := filepath.Abs(path)
	if err != nil || err2 != nil {
		return false
	}
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}
