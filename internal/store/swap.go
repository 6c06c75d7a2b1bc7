package store

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed others_objects.sql
var othersObjectsSQL string

// Where what others made stands to a schema; see others_objects.sql.
const (
	outside  = "outside"
	attached = "attached"
	inside   = "inside"
)

func othersObjects(ctx context.Context, q querier, schema, model string, places ...string) ([]string, error) {
	rows, err := q.Query(ctx, othersObjectsSQL, quoted(schema), quoted(model), places)
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for what depends on schema %s: %w", schema, err)
	}
	return found, nil
}

// checkObjects: what others made of the live tables would stay with the old
// ones, and what they made of the ones before would be dropped with those.
func (s *Store) checkObjects(ctx context.Context, q querier) error {
	theirs, err := othersObjects(ctx, q, LiveSchema, s.schema, outside, attached, inside)
	if err != nil {
		return err
	}
	if len(theirs) > 0 {
		return fmt.Errorf("%w: objects that are not payfold's depend on the live tables and would stay with the old ones: %s",
			ErrNotPromoted, strings.Join(theirs, ", "))
	}
	if s.schema == PreviousSchema {
		return nil
	}
	var taken, ours bool
	err = q.QueryRow(ctx, "select to_regnamespace($1) is not null, exists (select from payfold.schema_state where schema_name = $1) and to_regclass($1 || '.checkpoint') is not null", PreviousSchema).
		Scan(&taken, &ours)
	switch {
	case err != nil:
		return fmt.Errorf("look for schema %s: %w", PreviousSchema, err)
	case !taken:
		return nil
	case !ours:
		return fmt.Errorf("%w: schema %s is there and is not payfold's", ErrNotPromoted, PreviousSchema)
	}
	if theirs, err = othersObjects(ctx, q, PreviousSchema, s.schema, outside, inside); err != nil {
		return err
	}
	if len(theirs) > 0 {
		return fmt.Errorf("%w: schema %s is to be replaced, and objects that are not payfold's depend on it: %s",
			ErrNotPromoted, PreviousSchema, strings.Join(theirs, ", "))
	}
	return nil
}

//go:embed copy_rights.sql
var copyRights string

// copyRights gives the candidate the owner and the grants of the live tables, so
// that whoever works with the ones can work with the others.
func (s *Store) copyRights(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, copyRights, LiveSchema, s.schema)
	if err != nil {
		return fmt.Errorf("read the grants: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("read the grants: %w", err)
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("carry the rights over (%s): %w", sql, err)
		}
	}
	return nil
}

// asideSchema exists within one transaction only: of a promotion, or of a comparison
// of definitions.
const asideSchema = "portal_aside"

// swap renames the live schema to the previous one and the candidate to the live one.
func (s *Store) swap(ctx context.Context, tx pgx.Tx) error {
	if s.schema != PreviousSchema {
		if err := dropSchema(ctx, tx, PreviousSchema); err != nil {
			return err
		}
	}
	for _, step := range [][2]string{{LiveSchema, asideSchema}, {s.schema, LiveSchema}, {asideSchema, PreviousSchema}} {
		if _, err := tx.Exec(ctx, "alter schema "+quoted(step[0])+" rename to "+quoted(step[1])); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
		if _, err := tx.Exec(ctx, "update payfold.schema_state set schema_name = $2 where schema_name = $1", step[0], step[1]); err != nil {
			return fmt.Errorf("rename schema %s: %w", step[0], err)
		}
	}
	_, err := tx.Exec(ctx, "update payfold.schema_state set promoted_from = $2, promoted_at = now(), told_at = null where schema_name = $1", LiveSchema, s.schema)
	if err != nil {
		return fmt.Errorf("note the promotion: %w", err)
	}
	return nil
}
