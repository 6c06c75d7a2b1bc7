package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Migrated is migrated.
func (s *Store) Migrated(ctx context.Context, then func(pgx.Tx) error) error {
	return s.migrated(ctx, then)
}
