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

// Command builds a candidate schema. It continues with tables that exist already. If neither
// UntilSeq nor Until is given, the tables follow the log.
type Command struct {
	Rebuild
	UntilSeq *uint64   // the tables as of this message
	Until    time.Time // the tables as of this moment, by the log's clock
}

// Run builds the tables and returns their state. Tables as of a moment are ready to be read: they have all indexes, and
// statistics. Run keeps other commands from the schema until it returns. After an error the same command continues.
func (c *Command) Run(ctx context.Context) (store.Schema, error) {
	unlock, err := c.Store.LockSchema(ctx)
	if err != nil {
		return store.Schema{}, err
	}
	defer unlock()
	built, err := c.build(ctx)
	if err == nil && c.asOf() { // a promotion does it for other tables
		err = c.Store.Analyze(ctx)
	}
	return built, c.Interrupted(ctx, err)
}

// Use builds the tables as of UntilSeq or Until in the store's schema, which only this method uses, calls use with
// their state, and drops them. It drops what a killed process has left.
func (c *Command) Use(ctx context.Context, use func(context.Context, store.Schema) error) error {
	return c.Store.Temporarily(ctx, func() error {
		built, err := c.build(ctx)
		if err != nil {
			return err
		}
		return use(ctx, built)
	})
}

// build prepares the tables and folds the log into them.
func (c *Command) build(ctx context.Context) (store.Schema, error) {
	info, err := c.Log.Info(ctx)
	if err != nil {
		return store.Schema{}, err
	}
	until, err := c.end(ctx, info)
	if err != nil {
		return store.Schema{}, err
	}
	if c.asOf() {
		c.Stage = tables.InUse
		err = c.Store.PrepareAsOf(ctx, info.LogID, info.Partitions, c.Rules, until)
	} else {
		err = c.Store.Prepare(ctx, info.LogID, info.Partitions, c.Rules)
	}
	if err == nil {
		err = c.Rebuild.Run(ctx, until)
	}
	if err != nil {
		return store.Schema{}, err
	}
	return c.Store.SchemaNamed(ctx, c.Store.Schema())
}

func (c *Command) asOf() bool { return c.UntilSeq != nil || !c.Until.IsZero() }

// end returns the sequence of the last message to fold.
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
		return 0, fmt.Errorf("the log begins at seq %d: it has no earlier messages", info.First)
	}
	return until, nil
}

// positionTimeout bounds the query for the position after a command was interrupted.
const positionTimeout = time.Second

// Interrupted returns err. If ctx has ended, it returns an error that tells the position of the
// tables instead.
func (r *Rebuild) Interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), positionTimeout)
	defer cancel()
	schema, asked := r.Store.SchemaNamed(ctx, r.Store.Schema())
	if asked != nil {
		return errors.New("interrupted; the same command goes on where it was")
	}
	if schema.Position == 0 {
		return fmt.Errorf("interrupted; %s is empty, and the same command begins again", schema.Name)
	}
	return fmt.Errorf("interrupted; %s holds everything up to seq %d, and the same command goes on from there", schema.Name, schema.Position)
}
