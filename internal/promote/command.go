package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Command makes the tables of a schema live, unless an earlier command has done so.
type Command struct {
	rebuild.Rebuild
	Build         bool // prepares the tables and folds the log into them first
	AcceptLogLoss bool // promotes even if the log lacks events of the live tables

	AcceptFewerProducts bool // promotes even if the catalogue of the live tables sells more
}

// Run returns the promotion that made the tables live. before reports whether an earlier command
// made it. Run keeps other commands from the schema until it returns. After an error the same
// command continues.
func (c *Command) Run(ctx context.Context) (last Promoted, before bool, err error) {
	info, err := c.Log.Info(ctx)
	if err != nil {
		return last, false, err
	}
	unlock, err := c.Store.LockSchema(ctx)
	if err != nil {
		return last, false, err
	}
	defer unlock()
	if before, err = c.done(ctx, info); err != nil {
		return last, false, err
	}
	if !before {
		if err := c.promote(ctx, info); err != nil {
			return last, false, c.Interrupted(ctx, err)
		}
	}
	last, err = lastPromotion(context.WithoutCancel(ctx), c.Store) // the tables are live, even if ctx has just ended
	return last, before, err
}

// done reports whether the schema was promoted already, under these rules. With Build, a promotion
// that a command has reported does not count: it was not of this rebuild.
func (c *Command) done(ctx context.Context, info eventlog.Info) (bool, error) {
	last, done, err := promotedBefore(ctx, c.Store)
	switch {
	case err != nil || !done || c.Build && last.Reported || last.Live.LogID != info.LogID:
		return false, err
	case last.Live.FoldID == c.Rules.FoldID():
		return true, nil
	case c.Build || c.Store.Schema() == store.PreviousSchema:
		return false, nil
	}
	return false, fmt.Errorf("%s is live already: %w", c.Store.Schema(), store.CommandRulesError(store.LiveSchema, last.Live.FoldID, c.Rules.FoldID()))
}

func (c *Command) promote(ctx context.Context, info eventlog.Info) error {
	if err := c.checkProducts(ctx); err != nil {
		return err
	}
	live, err := c.Store.OpenSchema(ctx, store.LiveSchema)
	if err != nil {
		return err
	}
	defer live.Close()
	p := Promotion{Rebuild: c.Rebuild, Live: live, AcceptLogLoss: c.AcceptLogLoss}
	if c.Build {
		if err := c.Store.Prepare(ctx, info.LogID, info.Partitions, c.Rules); err != nil {
			return err
		}
		if err := p.Check(ctx); err != nil { // before the work, not after it
			return err
		}
		if err := p.Rebuild.Run(ctx, info.Last); err != nil {
			return err
		}
	}
	return p.Run(ctx)
}

// checkProducts refuses rules that sell less than the live tables: the file may be an old one. Going back is no mistake.
func (c *Command) checkProducts(ctx context.Context) error {
	if c.AcceptFewerProducts || c.Store.Schema() == store.PreviousSchema {
		return nil
	}
	sold, err := store.LiveCatalogue(ctx, c.Store.Pool())
	if err != nil || sold == nil {
		return err
	}
	var removed []string
	for product := range sold.Products {
		if !c.Rules.Catalogue.Sells(product) {
			removed = append(removed, product)
		}
	}
	if len(removed) == 0 {
		return nil
	}
	slices.Sort(removed)
	return fmt.Errorf("%w: the catalogue of the live tables sells %s, and that of this command does not: projectors that sell it would stop; "+
		"take their CATALOGUE_FILE, or accept it with --accept-fewer-products", ErrNotPromoted, strings.Join(removed, ", "))
}
