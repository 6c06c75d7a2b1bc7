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
var ErrFoldID = errors.New("the tables belong to another fold id; start the build, catalogue and mode that they were made with, or make them again with those of this program: projector rebuild --promote")

// CurrentTables returns the tables that have the schema's name now, or the error of
// CheckRules, or ErrNotPrepared.
func (s *Store) CurrentTables(ctx context.Context, rules projections.Rules) (TablesID, error) {
	if _, err := CheckRules(ctx, s.pool, s.schema, rules); err != nil {
		return 0, err
	}
	return s.FindTables(ctx, s.pool)
}

// CheckRules returns the id of the log that the tables of a schema were folded from. It returns
// ErrNoSchema if there are no tables. If they were folded under other rules, it returns ErrFoldID
// for the live schema, and for a candidate an error that says what to do.
func CheckRules(ctx context.Context, q Querier, schema string, rules projections.Rules) (logID string, err error) {
	var foldID string
	err = q.QueryRow(ctx, "select fold_id, log_id from payfold.schema_state where schema_name = $1", schema).Scan(&foldID, &logID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", NoSchema(schema)
	case err != nil:
		return "", fmt.Errorf("read the schema's state: %w", err)
	case foldID != rules.FoldID():
		return "", otherRulesError(schema, foldID, rules.FoldID())
	}
	return logID, nil
}

// otherRulesError is the error for tables that were folded under other rules; see CheckRules.
func otherRulesError(schema, have, want string) error {
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
