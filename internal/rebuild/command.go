package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Command builds the tables of a schema beside the live one. What is there already is
// continued. Where neither UntilSeq nor Until is given, the tables follow the log.
type Command struct {
	Rebuild
	UntilSeq *uint64   // the tables as of this message
	Until    time.Time // the tables as of this moment, by the log's clock
}

// Run returns when the tables hold everything that was asked for, with what they hold. It
// keeps other commands from the schema until then. After an error the same command
// continues.
func (c *Command) Run(ctx context.Context) (store.Schema, error) {
	info, err := c.Log.Info(ctx)
	if err != nil {
		return store.Schema{}, err
	}
	unlock, err := c.Store.LockSchema(ctx)
	if err != nil {
		return store.Schema{}, err
	}
	defer unlock()
	until, err := c.end(ctx, info)
	if err != nil {
		return store.Schema{}, err
	}
	if err := c.prepare(ctx, info, until); err != nil {
		return store.Schema{}, err
	}
	if c.asOf() {
		c.Stage = tables.InUse
	}
	if err := c.Rebuild.Run(ctx, until); err != nil {
		return store.Schema{}, c.Interrupted(ctx, err)
	}
	return c.Store.SchemaNamed(ctx, c.Store.Schema())
}

// end is the last message that counts.
func (c *Command) end(ctx context.Context, info eventlog.Info) (until uint64, err error) {
	switch {
	case !c.Until.IsZero():
		until, err = c.Log.StoredBy(ctx, info, c.Until)
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

func (c *Command) prepare(ctx context.Context, info eventlog.Info, until uint64) error {
	if c.asOf() {
		return c.Store.PrepareAsOf(ctx, info.LogID, info.Partitions, c.Rules, until)
	}
	return c.Store.Prepare(ctx, info.LogID, info.Partitions, c.Rules)
}

func (c *Command) asOf() bool { return c.UntilSeq != nil || !c.Until.IsZero() }

// askAfter is the time for one more question after a command was interrupted.
const askAfter = time.Second

// Interrupted returns err. Where ctx has ended, it says how far the tables are instead.
func (r *Rebuild) Interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askAfter)
	defer cancel()
	schema, asked := r.Store.SchemaNamed(ctx, r.Store.Schema())
	if asked != nil {
		return errors.New("interrupted; the same command goes on where it was")
	}
	return fmt.Errorf("interrupted; %s holds everything up to seq %d, and the same command goes on from there", schema.Name, schema.Position)
}
