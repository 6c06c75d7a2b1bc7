package promote

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// swap renames the live schema to the previous one and the candidate to the live one.
func swap(ctx context.Context, s *store.Store, tx pgx.Tx) error {
	if s.Schema() != store.PreviousSchema {
		if err := store.DropSchema(ctx, tx, store.PreviousSchema); err != nil {
			return err
		}
	}
	for _, step := range [][2]string{{store.LiveSchema, store.TransientSchema}, {s.Schema(), store.LiveSchema}, {store.TransientSchema, store.PreviousSchema}} {
		if _, err := tx.Exec(ctx, "alter schema "+store.Quoted(step[0])+" rename to "+store.Quoted(step[1])); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
		if _, err := tx.Exec(ctx, "update payfold.schema_state set schema_name = $2 where schema_name = $1", step[0], step[1]); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
	}
	_, err := tx.Exec(ctx, "update payfold.schema_state set promoted_from = $2, promoted_at = now(), reported_at = null where schema_name = $1", store.LiveSchema, s.Schema())
	if err != nil {
		return fmt.Errorf("record the promotion: %w", err)
	}
	if _, err := tx.Exec(ctx, store.NotifyAll); err != nil {
		return fmt.Errorf("notify apps and the inviter: %w", err)
	}
	return nil
}
