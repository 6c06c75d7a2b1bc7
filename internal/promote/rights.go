package promote

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

//go:embed copy_rights.sql
var copyRightsSQL string

// copyRights gives the candidate the owner and the grants of the live tables. So the same
// roles can use it.
func copyRights(ctx context.Context, s *store.Store, tx pgx.Tx) error {
	statements, err := store.Collect(ctx, tx, "read the grants", pgx.RowTo[string], copyRightsSQL, store.LiveSchema, s.Schema())
	if err != nil {
		return err
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("copy the rights (%s): %w", sql, err)
		}
	}
	return nil
}
