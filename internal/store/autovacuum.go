package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/tables"
)

// StopAutovacuum keeps autovacuum away from tables on search_path while a rebuild fills them.
// While autovacuum works on a table, no index can be made, and on a large table it takes minutes.
func StopAutovacuum(ctx context.Context, tx pgx.Tx, names ...string) error {
	for _, name := range names {
		if _, err := tx.Exec(ctx, "alter table "+name+" set (autovacuum_enabled = false)"); err != nil {
			return fmt.Errorf("stop autovacuum: %w", err)
		}
	}
	return nil
}

// StartAutovacuum undoes StopAutovacuum for the tables of a schema. The schema must be the
// search_path.
func StartAutovacuum(ctx context.Context, schema string, on *pgxpool.Conn) error {
	without, err := WithoutAutovacuum(ctx, on, schema)
	if err != nil {
		return err
	}
	for _, name := range without {
		if err := execWithRetry(ctx, on, "alter table "+name+" reset (autovacuum_enabled)"); err != nil {
			return err
		}
	}
	return nil
}

// WithoutAutovacuum lists the tables of a schema for which StopAutovacuum was called and not StartAutovacuum: a
// rebuild has not made all of their indexes yet.
func WithoutAutovacuum(ctx context.Context, q Querier, schema string) ([]string, error) {
	return Collect(ctx, q, "look for tables without autovacuum", pgx.RowTo[string], `select relname from pg_class
		where relnamespace = to_regnamespace($1) and relname = any($2) and 'autovacuum_enabled=false' = any(reloptions)`,
		Quoted(schema), tables.NameList())
}
