package store

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
)

//go:embed subscribers.sql
var subscribersSQL string

// WarnSubscribers logs a warning if rows of new tables would reach a subscriber of the database. A subscriber that is a
// Postgres without these tables stops at the first row, and its slot keeps the WAL until the disk is full.
func (s *Store) WarnSubscribers(ctx context.Context, logger *slog.Logger) error {
	var publications, slots string
	if err := s.pool.QueryRow(ctx, subscribersSQL).Scan(&publications, &slots); err != nil {
		return fmt.Errorf("look for publications: %w", err)
	}
	if publications != "" && slots != "" {
		logger.WarnContext(ctx, "a publication for all tables also sends the tables that are built now: a subscriber without them stops, and its slot keeps WAL",
			"schema", s.schema, "publications", publications, "slots", slots)
	}
	return nil
}
