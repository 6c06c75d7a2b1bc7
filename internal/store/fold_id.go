package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// ErrFoldID means that the tables were folded under other rules. Nothing was written.
var ErrFoldID = errors.New("the tables belong to another fold id; run: projector rebuild --promote")

// CurrentTables returns the tables that have the schema's name now, or ErrFoldID where
// they were folded under other rules, or ErrNotPrepared.
func (s *Store) CurrentTables(ctx context.Context, rules projections.Rules) (TablesID, error) {
	var foldID string
	err := s.pool.QueryRow(ctx, "select fold_id from payfold.schema_state where schema_name = $1", s.schema).Scan(&foldID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, ErrNotPrepared
	case err != nil:
		return 0, fmt.Errorf("read the schema's state: %w", err)
	case foldID != rules.FoldID():
		return 0, OtherRulesError(s.schema, foldID, rules.FoldID())
	}
	return s.FindTables(ctx, s.pool)
}

// OtherRulesError is the error for tables that were folded under other rules: ErrFoldID,
// or for a candidate schema what to do about it.
func OtherRulesError(schema, have, want string) error {
	if schema == LiveSchema {
		return fmt.Errorf("%w: schema %s has %q, this build has %q", ErrFoldID, schema, have, want)
	}
	return fmt.Errorf("%w, or remove it: projector drop %s", CommandRulesError(schema, have, want), schema)
}

// CommandRulesError is the error of a command that has other rules than the tables. It
// says how to run the command.
func CommandRulesError(schema, have, want string) error {
	advice := "run the build, catalogue and mode it was made with"
	if with, more := strings.CutPrefix(have, want+", with "); more {
		advice = "add --with " + strings.ReplaceAll(with, " ", ",")
	} else if strings.HasPrefix(want, have+", with ") {
		advice = "leave out --with"
	}
	return fmt.Errorf("schema %s was folded under %q, this command has %q: %s", schema, have, want, advice)
}
