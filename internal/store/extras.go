package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed revenue_daily.sql
var revenueDaily string

// extraTables is the DDL of the projections that the live tables do not have, by name.
var extraTables = map[string]string{"revenue_daily": revenueDaily}

// loadExtras puts what the next stretch of a rebuild adds to. Sums by day are
// few and come whole; rows by user would come with the user, in loader.load.
func loadExtras(ctx context.Context, from sender, rules projections.Rules, state *projections.State) error {
	if !slices.Contains(rules.Extras, "revenue_daily") {
		return nil
	}
	batch := &pgx.Batch{}
	query(batch, "revenue_daily", "true", "", nil, state.LoadRevenue)
	if err := from.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("load revenue_daily: %w", err)
	}
	return nil
}
