package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

// StopAutovacuum keeps autovacuum away from the tables on search_path while a rebuild fills them. No
// index can be made beside it, and on large tables it takes minutes. It begins again with
// tables.Live.
func StopAutovacuum(ctx context.Context, tx pgx.Tx) error {
	var sql strings.Builder
	for _, t := range tables.All {
		if t := t.About(); !t.Extra {
			fmt.Fprintf(&sql, "alter table %s set (autovacuum_enabled = false);", t.Name)
		}
	}
	if _, err := tx.Exec(ctx, sql.String()); err != nil {
		return fmt.Errorf("stop autovacuum: %w", err)
	}
	return nil
}

// startAutovacuum lists the statements that end what StopAutovacuum has done.
func startAutovacuum(ctx context.Context, q Querier, schema string) ([]string, error) {
	rows, err := q.Query(ctx, `select format('alter table %I reset (autovacuum_enabled)', relname) from pg_class
		where relnamespace = to_regnamespace($1) and relkind = 'r' and 'autovacuum_enabled=false' = any(reloptions)`, Quoted(schema))
	if err != nil {
		return nil, fmt.Errorf("look for tables without autovacuum: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for tables without autovacuum: %w", err)
	}
	return statements, nil
}
