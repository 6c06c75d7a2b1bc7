package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

type verifyCommand struct {
	sourceFlags
	rulesFlags
	extrasFlag
	signerFlags
	Schema string `name:"schema" placeholder:"NAME" default:"portal" help:"The schema to verify."`
	checkpointFlags
	Strict bool `name:"strict" help:"Treat a message as wrong if no given secret verifies its signature."`
	JSON   bool `name:"json" help:"Findings as one JSON object a line, the verdict last."`

	MetricsFile string `name:"metrics-file" placeholder:"FILE" help:"Where to write the metrics when all was compared, for node_exporter."`
}

// Check implements cli.Checked.
func (c *verifyCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
	c.extrasFlag.check(&c.rules, faults)
	c.checkpointFlags.check(faults)
	if c.Schema != store.LiveSchema && c.Schema != store.PreviousSchema {
		faults.Add(store.CheckName(c.Schema))
	}
	c.signerFlags.Check(faults)
	if c.Strict && len(c.secrets) == 0 {
		faults.Addf("--strict: no secret is given, so every message would count as wrong; set %s or RETIRED_SECRETS_FILE", cli.SecretName)
	}
}

// Run prints every difference. The exit status is 3 if there is one. Tables are not compared with
// a log that does not begin with the checkpoint.
func (c *verifyCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.withSchema(ctx, c.Schema, logger, func(ctx context.Context, s sources) error {
		inBackground()
		findings := report.Findings{Out: streams.Out, JSON: c.JSON}
		if holds, err := c.compareCheckpoint(ctx, s.log, findings, streams); err != nil || !holds {
			return cmp.Or(err, error(cli.Status(cli.ExitNo)))
		}
		progress := report.Progress(streams.Out, streams.Err, "verify "+c.Schema, c.JSON)
		verify := verify.Verify{
			Log: s.log, Tables: s.store, Rules: c.rules, Secrets: c.secrets, Strict: c.Strict, Logger: logger,
			Progress: progress, Fault: findings.Fault, Difference: findings.Difference, Definition: findings.Definition,
		}
		verdict, err := verify.Run(ctx)
		if err != nil {
			return err
		}
		findings.Verdict(verdict)
		if c.MetricsFile != "" {
			if err := prometheus.WriteToTextfile(c.MetricsFile, verifyMetrics(verdict, time.Now())); err != nil {
				return fmt.Errorf("write the metrics: %w", err)
			}
		}
		if !verdict.Holds() {
			return cli.Status(cli.ExitNo)
		}
		return nil
	})
}

// compareCheckpoint reports whether the log begins with the checkpoint, if one is given.
func (c *verifyCommand) compareCheckpoint(ctx context.Context, log proof.Log, findings report.Findings, streams cli.Streams) (holds bool, err error) {
	if c.Checkpoint == "" {
		return true, nil
	}
	signed, err := c.readCheckpoint()
	if err != nil {
		return false, err
	}
	checkpoint, err := c.verifiers.Open(signed)
	if err == nil {
		progress := report.Progress(streams.Out, streams.Err, "compare the log with the checkpoint", c.JSON)
		err = proof.Compare(ctx, log, checkpoint, progress)
	}
	if err != nil && !errors.As(err, new(proof.RefusedError)) {
		return false, err
	}
	findings.Checkpoint(checkpoint, err)
	return err == nil, nil
}

// verifyMetrics returns the metrics of a verification that was complete.
func verifyMetrics(verdict verify.Verdict, now time.Time) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	with := promauto.With(registry)
	wrong := verdict.Faults + verdict.Differences + verdict.OutOfOrder + verdict.Definitions
	for _, sum := range verdict.Sums {
		wrong += int(sum.Wrong)
	}
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_verify_wrong", Help: "Messages, rows, definitions and sums that the last complete verification found wrong.",
	}).Set(float64(wrong))
	with.NewGauge(prometheus.GaugeOpts{
		Name: "payfold_verify_timestamp_seconds", Help: "When the tables were last compared with the log completely.",
	}).Set(float64(now.Unix()))
	return registry
}
