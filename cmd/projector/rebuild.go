package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type rebuildCommand struct {
	sourceFlags
	rulesFlags
	extrasFlag
	Schema   string    `name:"schema" default:"portal_next" help:"Where the tables are built; what is there already is continued."`
	UntilSeq *uint64   `name:"until-seq" placeholder:"N" help:"The tables as of that message."`
	Until    time.Time `name:"until" placeholder:"TIME" help:"The tables as of that moment, by the log's clock (RFC 3339)."`
	Promote  bool      `name:"promote" help:"Make them the live tables in the end."`
	JSON     bool      `name:"json" help:"Progress and result as one JSON object a line."`
}

// Check implements cli.Checked.
func (c *rebuildCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
	c.extrasFlag.check(&c.rules, faults)
	faults.Add(store.CheckName(c.Schema))
	if c.UntilSeq != nil && !c.Until.IsZero() {
		faults.Addf("--until-seq and --until are both set")
	}
	if c.Until.After(time.Now()) {
		faults.Addf("--until is in the future, which the log does not know")
	}
	if c.asOf() && c.Promote {
		faults.Addf("--promote: tables as of the past cannot be live")
	}
	if len(c.With) > 0 && c.Promote {
		faults.Addf("--promote: projectors do not keep up %s, so these tables cannot be live", strings.Join(c.With, ", "))
	}
}

func (c *rebuildCommand) asOf() bool { return c.UntilSeq != nil || !c.Until.IsZero() }

// Run builds the tables and returns when they hold all that was asked for.
func (c *rebuildCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.with(ctx, store.Config{Schema: c.Schema}, logger, func(ctx context.Context, s sources) error {
		inBackground()
		b, err := newBuild(ctx, s, c.Schema, c.rules, report.NewProgress(streams.Out, streams.Err, "rebuild "+c.Schema, c.JSON), logger)
		if err != nil {
			return err
		}
		defer b.unlock()
		if c.Promote {
			if done, err := b.before(ctx, true); err != nil {
				return err
			} else if done {
				return b.tell(ctx, streams.Out, c.JSON, true)
			}
		}
		until, err := c.until(ctx, s.log, b.info)
		if err != nil {
			return err
		}
		prepare := s.store.Prepare
		if c.asOf() {
			prepare = func(ctx context.Context, logID string, partitions int, rules projections.Rules) error {
				return s.store.PrepareAsOf(ctx, logID, partitions, rules, until)
			}
		}
		if err := prepare(ctx, b.info.LogID, b.info.Partitions, c.rules); err != nil {
			return err
		}
		if c.Promote { // what stands in the way is said before the work, not after
			if err := b.promotion(ctx, false, (*promote.Promotion).Check); err != nil {
				return err
			}
		}
		if err := b.run(ctx, until); err != nil {
			return err
		}
		if c.Promote {
			if err := b.promotion(ctx, false, (*promote.Promotion).Run); err != nil {
				return err
			}
			return b.tell(ctx, streams.Out, c.JSON, false)
		}
		return c.report(ctx, s.store, streams)
	})
}

// until is the last message that counts.
func (c *rebuildCommand) until(ctx context.Context, log *eventlog.Log, info eventlog.Info) (until uint64, err error) {
	switch {
	case !c.Until.IsZero():
		until, err = log.StoredBy(ctx, info, c.Until)
	case c.UntilSeq != nil:
		until = *c.UntilSeq
	default:
		return info.Last, nil
	}
	switch {
	case err != nil:
		return 0, err
	case until > info.Last:
		return 0, fmt.Errorf("the log ends at seq %d, before seq %d", info.Last, until)
	case until < info.First && info.First > 1:
		return 0, fmt.Errorf("the log begins at seq %d: what was before is in no log any more", info.First)
	}
	return until, nil
}

func (c *rebuildCommand) report(ctx context.Context, database *store.Store, streams cli.Streams) error {
	built, err := database.SchemaNamed(ctx, c.Schema)
	if err != nil {
		return err
	}
	return report.Built(streams.Out, built, c.With, c.JSON)
}
