package store

import (
	"context"
	_ "embed"

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
	return Collect(ctx, q, "look for what depends on schema "+schema, pgx.RowTo[string], externalDependenciesSQL, Quoted(schema), Quoted(model), places)
}
