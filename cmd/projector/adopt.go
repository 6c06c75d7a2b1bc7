package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/store"
)

type adoptCommand struct {
	sourceFlags
	JSON bool `name:"json" help:"The result as one JSON object."`
}

// Run is for after a disaster: the log is lost, and the tables are not.
func (c *adoptCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.withSchema(ctx, store.LiveSchema, c.QuietLogger(streams.Err), func(ctx context.Context, s sources) error {
		info, err := s.info(ctx)
		if err != nil {
			return err
		}
		behind, err := s.store.AdoptLog(ctx, info.LogID, info.First, info.Partitions)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(streams.Out).Encode(struct {
				LogID            string `json:"log_id"`
				First            uint64 `json:"first_seq"`
				PartitionsBehind int    `json:"partitions_behind"`
			}{info.LogID, info.First, behind})
		}
		fmt.Fprintf(streams.Out, "The tables go on with log %s from seq %d.\n", info.LogID, info.First)
		if behind > 0 {
			fmt.Fprintf(streams.Out, "%d partitions stood before that: what the lost log had for them is lost.\n", behind)
		}
		return nil
	})
}
