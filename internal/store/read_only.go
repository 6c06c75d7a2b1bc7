package store

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed read_only.sql
var readOnly string

// CheckReadOnly returns an error where the role of this store may change payfold's tables, or may
// get the right to: as their owner, or as another role that it may take. It asks the catalogue
// alone, so it also works before there are tables. It does not look for functions that act as
// their owner.
func (s *Store) CheckReadOnly(ctx context.Context) error {
	var role string
	var rights []string
	if err := s.pool.QueryRow(ctx, readOnly, s.schema).Scan(&role, &rights); err != nil {
		return fmt.Errorf("ask what the database role may do: %w", err)
	}
	if len(rights) > 0 {
		return fmt.Errorf("database role %q %s; it must be one that only reads, such as payfold_console of deploy/postgres/roles.sql", role, rights[0])
	}
	return nil
}
