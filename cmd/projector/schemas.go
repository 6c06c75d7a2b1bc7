package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/store"
)

type schemasCommand struct {
	sourceFlags
	JSON bool `name:"json" help:"One JSON object a line."`
}

// Run lists the sets of tables.
func (c *schemasCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.withTables(ctx, store.Config{}, c.QuietLogger(streams.Err), func(ctx context.Context, s sources) error {
		schemas, err := s.store.Schemas(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			for _, schema := range schemas {
				if err := json.NewEncoder(streams.Out).Encode(schema); err != nil {
					return err
				}
			}
			return nil
		}
		table := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "SCHEMA\tUP TO SEQ\tAS OF\tCREATED\tFOLD ID")
		for _, schema := range schemas {
			asOf := "-"
			if schema.UntilSeq != nil {
				asOf = fmt.Sprint(*schema.UntilSeq)
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", schema.Name, schema.Position, asOf, schema.CreatedAt.Format(time.RFC3339), schema.FoldID)
		}
		return table.Flush()
	})
}

type dropCommand struct {
	sourceFlags
	Schema string `arg:"" help:"A set of tables that is not live."`
}

// Run drops it, where nobody works on it.
func (c *dropCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.withTables(ctx, store.Config{Schema: c.Schema}, c.QuietLogger(streams.Err), func(ctx context.Context, s sources) error {
		unlock, err := s.store.LockSchema(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		return s.store.Drop(ctx)
	})
}
