package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed external_dependencies.sql
var externalDependenciesSQL string

// The places of external dependencies.
const (
	Outside  = "outside"  // in another schema
	Attached = "attached" // to tables of the schema: triggers, rules, policies, publications
	Inside   = "inside"   // in the schema
)

// ExternalDependencies describes the objects at these places that depend on a schema or lie in it,
// and that payfold has not made. A table or view of the schema is payfold's if schema model has one
// of the same name.
func ExternalDependencies(ctx context.Context, q Querier, schema, model string, places ...string) ([]string, error) {
	rows, err := q.Query(ctx, externalDependenciesSQL, Quoted(schema), Quoted(model), places)
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	return found, nil
}
