package browse

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/status"
)

// Totals counts the newest events by what became of them. It looks at a bounded number of them.
type Totals struct {
	Moment
	Counts   status.EventCounts `json:"counts"`
	Complete bool               `json:"counts_complete"` // false: there are more, older ones
}

//go:embed newest_outcomes.sql
var newestOutcomesSQL string

//go:embed newest_duplicates.sql
var newestDuplicatesSQL string

// totals counts the newest events, at most limit.
func totals(ctx context.Context, tx pgx.Tx, now Moment, limit int64) (Totals, error) {
	out := Totals{Moment: now}
	rows, _ := tx.Query(ctx, newestOutcomesSQL, limit) // ForEachRow returns its error
	var one status.OutcomeCount
	var oldest, counted, first int64
	_, err := pgx.ForEachRow(rows, []any{&one.Outcome, &one.Reason, &one.Events, &oldest}, func() error {
		if counted == 0 || oldest < first {
			first = oldest
		}
		counted += one.Events
		out.Counts.Outcomes = append(out.Counts.Outcomes, one)
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("count events: %w", err)
	}
	if out.Complete = counted < limit; out.Complete {
		first = 0
	}
	if err := tx.QueryRow(ctx, newestDuplicatesSQL, first, limit).Scan(&out.Counts.Duplicates); err != nil {
		return out, fmt.Errorf("count duplicates: %w", err)
	}
	return out, nil
}
