package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/restore"
)

type restoreCommand struct {
	cli.Common
	keepFlags
	From            string        `name:"from" required:"" placeholder:"URL" help:"The archive: a folder, or s3://bucket/prefix."`
	S3Endpoint      string        `name:"archive-s3-endpoint" env:"ARCHIVE_S3_ENDPOINT" help:"https://host:port of an object store that is not Amazon's."`
	Drill           bool          `name:"check" help:"Restore into a new folder, compare, say how long it took, and remove the folder. No other log is touched."`
	LostUntil       uint64        `name:"lost-until" placeholder:"N" help:"Newest sequence of the lost log, as projector status shows it. Each message after the archive's end is replaced by a mark, so that no new message gets its sequence."`
	Scratch         string        `name:"scratch" placeholder:"DIR" help:"Where --check makes its folder; the default is the system's folder for temporary files."`
	MetricsFile     string        `name:"metrics-file" placeholder:"FILE" help:"Where --check writes its metrics when it has succeeded, for the textfile collector of node_exporter."`
	Replicas        int           `name:"stream-replicas" env:"STREAM_REPLICAS" help:"Replicas of the stream; the default is 1, and 3 in a cluster."`
	DuplicateWindow time.Duration `name:"duplicate-window" env:"DUPLICATE_WINDOW" default:"30m" help:"How long the stream remembers event ids."`
	JSON            bool          `name:"json" help:"One JSON object."`
}

func (c *restoreCommand) archive(logger *slog.Logger) storage.Settings {
	return storage.Settings{URL: c.From, S3Endpoint: c.S3Endpoint, Logger: logger}
}

// Check implements cli.Checked.
func (c *restoreCommand) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.keepFlags.Check(faults)
	if _, err := c.archive(nil).Place(); err != nil {
		faults.Addf("--from: %w", err)
	}
	switch {
	case c.Replicas == 0 && c.NATSURL == "":
		c.Replicas = 1
	case c.Replicas == 0:
		c.Replicas = 3
	}
	checkReplicas(c.Replicas, faults)
	checkWindow(c.DuplicateWindow, faults)
	if c.Scratch != "" && !c.Drill {
		faults.Addf("--scratch needs --check")
	}
	if c.MetricsFile != "" && !c.Drill {
		faults.Addf("--metrics-file needs --check")
	}
	if c.LostUntil > 0 && c.Drill {
		faults.Addf("--lost-until and --check exclude each other")
	}
}

// Run restores a lost log. The exit status is 3 if the archive does not give a whole log.
func (c *restoreCommand) Run(ctx context.Context, streams cli.Streams) error {
	result, err := c.restore(ctx, streams.Err)
	if errors.As(err, new(*restore.UnusableError)) {
		fmt.Fprintln(streams.Err, err)
		return cli.Status(cli.ExitNo)
	}
	if err != nil {
		return err
	}
	if c.MetricsFile != "" {
		if err := prometheus.WriteToTextfile(c.MetricsFile, drillMetrics(result)); err != nil {
			return fmt.Errorf("write the metrics: %w", err)
		}
	}
	return logreport.Restored(streams.Out, result, c.Drill, c.JSON)
}

func (c *restoreCommand) restore(ctx context.Context, stderr io.Writer) (restore.Result, error) {
	logger, progress := c.QuietLogger(stderr), progressTo(stderr)
	place, err := c.archive(logger).Place()
	if err != nil {
		return restore.Result{}, err
	}
	config := restore.Config{
		Place:    place,
		Stream:   eventlog.StreamConfig{Name: c.NATSStream, Replicas: c.Replicas, DuplicateWindow: c.DuplicateWindow, Trimmable: !c.keep.All()},
		Progress: func(doing string, seq, last uint64) { progress("%s seq %d of %d\n", doing, seq, last) }, LostUntil: c.LostUntil,
	}
	switch {
	case c.Drill:
		return restore.Drill(ctx, config, c.Scratch, logger)
	case c.NATSURL == "":
		return restore.Embedded(ctx, config, c.DataDir, logger)
	}
	log, err := eventlog.Connect(logConfig(&c.Common, logger))
	if err != nil {
		return restore.Result{}, err
	}
	defer log.Close()
	config.Log = log
	return restore.Run(ctx, config)
}

// drillMetrics returns the metrics of a drill that has succeeded.
func drillMetrics(result restore.Result) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	with := promauto.With(registry)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_success_timestamp_seconds", Help: "When a drill last restored the log from its archive successfully.",
	}).SetToCurrentTime()
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_duration_seconds", Help: "How long the last successful drill took.",
	}).Set(result.Seconds)
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_restore_drill_messages", Help: "Messages that the last successful drill restored and compared.",
	}).Set(float64(result.Last - result.First + 1))
	return registry
}
