package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

type explainCommand struct {
	readFlags
	EventID string `arg:"" optional:"" help:"Id of an event, in the provider's form or in that of the tables."`
	Seq     uint64 `name:"seq" placeholder:"N" help:"Sequence of a message of the log, instead of an event's id."`
	User    string `name:"user" help:"Id of a user, instead of an event's id."`
	Limit   int    `name:"limit" placeholder:"N" default:"1000" help:"Maximum number of items of a list; the newest are shown."`
	Before  string `name:"before" placeholder:"N" help:"With --user: what it was before this place: a date (UTC), a moment, a sequence, or next_before of an earlier answer."`
	Clock   string `name:"clock" enum:"receipt,provider" default:"receipt" help:"Which clock a date of --before is of: that of receipt or the provider's."`
	Proof   bool   `name:"proof" help:"Write the proof that the event is in the log, instead of the answer; ingest check-proof checks it. Needs --checkpoint."`
	checkpointFlags

	place explain.Place // Before and Clock, after Check
}

// Check implements cli.Checked.
func (c *explainCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	asked := 0
	for _, given := range []bool{c.EventID != "", c.Seq != 0, c.User != ""} {
		if given {
			asked++
		}
	}
	if asked != 1 {
		faults.Addf("explain needs exactly one of EVENT_ID, --seq and --user; seq counts from 1")
	}
	c.checkpointFlags.check(faults)
	switch {
	case c.Proof && (c.User != "" || c.JSON):
		faults.Addf("--proof is about one event and has its own format: it excludes --user and --json")
	case c.Proof != (c.Checkpoint != ""):
		faults.Addf("--proof and --checkpoint FILE need each other: the proof is that a signed checkpoint covers the event")
	}
	var err error
	if c.place, err = explain.ParsePlace(c.Before, c.Clock, time.UTC); err != nil {
		faults.Addf("--before: %w", err)
	} else if c.Before != "" && c.User == "" {
		faults.Addf("--before needs --user")
	}
	if c.Limit < 1 || c.Limit > 1_000_000 {
		faults.Addf("--limit is %d, must be 1 to 1000000", c.Limit)
	}
}

// Run prints the answer. The exit status is 3 if nothing is known.
func (c *explainCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	var log *eventlog.Log // nil for a user: the answer is in the tables alone
	if c.User == "" {
		var err error
		if log, err = c.connect(logger); err != nil {
			return err
		}
		defer log.Close()
	}
	var answer explain.Answer
	seq := c.Seq // of the message that a proof is about
	err := c.read(ctx, logger, func(ctx context.Context, tables *store.Store) (err error) {
		switch {
		case c.User != "":
			answer, err = explain.ReadUser(ctx, tables, c.User, c.place, c.Limit)
		case c.Seq != 0:
			answer, err = explain.ReadMessage(ctx, log, tables, c.Seq, c.Limit)
		default:
			var event explain.Event
			event, err = explain.ReadEvent(ctx, log, tables, c.EventID, c.Limit)
			answer, seq = event, uint64(event.Event.StreamSeq)
		}
		return err
	})
	if errors.Is(err, explain.ErrPlace) {
		return fmt.Errorf("--before: %w", err)
	}
	if errors.As(err, new(explain.UnknownError)) || errors.Is(err, store.ErrNotPrepared) {
		fmt.Fprintln(streams.Err, err)
		return cli.Status(cli.ExitNo)
	}
	if err != nil {
		return err
	}
	if c.Proof {
		return c.writeProof(ctx, log, seq, streams)
	}
	return answer.Write(streams.Out, c.JSON)
}

// writeProof writes the proof for the message at seq. The exit status is 3 if the checkpoint does not cover it, or the
// log does not begin with the checkpoint.
func (c *explainCommand) writeProof(ctx context.Context, log proof.Log, seq uint64, streams cli.Streams) error {
	signed, err := c.readCheckpoint()
	if err != nil {
		return err
	}
	progress := report.Progress(streams.Out, streams.Err, "read the log", false)
	proven, err := explain.Prove(ctx, log, seq, c.EventID, c.verifiers, signed, progress)
	if errors.As(err, new(proof.RefusedError)) {
		fmt.Fprintln(streams.Err, err)
		return cli.Status(cli.ExitNo)
	}
	if err != nil {
		return err
	}
	_, err = streams.Out.Write(proven.Marshal())
	return err
}
