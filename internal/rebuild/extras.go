package rebuild

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// loadExtras loads the whole extra tables, to which the next chunk adds. They have few rows,
// such as sums by day. A table with a row for each user would need a lookup.
func loadExtras(ctx context.Context, from tables.BatchSender, rules projections.Rules, state *projections.State) error {
	batch := &pgx.Batch{}
	for _, t := range tables.All {
		if slices.Contains(rules.Extras, t.About().Name) {
			t.QueueAll(batch, state)
		}
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := from.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("load the extras: %w", err)
	}
	return nil
}
