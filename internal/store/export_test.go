package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// MigrateThen is migrateThen.
func (s *Store) MigrateThen(ctx context.Context, then func(pgx.Tx) error) error {
	return s.migrateThen(ctx, then)
}
