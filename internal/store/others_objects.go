package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed others_objects.sql
var othersObjectsSQL string

// Where what others made stands to a schema; see others_objects.sql.
const (
	Outside  = "outside"
	Attached = "attached"
	Inside   = "inside"
)

// OthersObjects lists objects that are not payfold's and depend on a schema or lie in it, at
// these places. A table of the schema that model has, too, is payfold's.
func OthersObjects(ctx context.Context, q Querier, schema, model string, places ...string) ([]string, error) {
	rows, err := q.Query(ctx, othersObjectsSQL, Quoted(schema), Quoted(model), places)
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	return found, nil
}
