package store

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// MigrateSchema is migrateSchema.
func (s *Store) MigrateSchema(ctx context.Context, steps fs.FS) error {
	return s.migrateSchema(ctx, steps)
}

// MigrateThen is migrateThen.
func (s *Store) MigrateThen(ctx context.Context, then func(pgx.Tx) error) error {
	return s.migrateThen(ctx, then)
}
