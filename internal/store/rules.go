package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/catalogue"
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

// extendCatalogue makes the live tables those of rules that only add products to the catalogue, if no folded event has
// named one of these products. Then a fold of the same events under the new rules gives the same tables. Batches of the
// old rules that are under way end first, and later ones find another fold id. Otherwise the error is ErrFoldID, and
// nothing has changed.
func (s *Store) extendCatalogue(ctx context.Context, tx pgx.Tx, rules projections.Rules) error {
	if err := checkExtension(ctx, tx, rules); err != nil { // before live work has to wait
		return err
	}
	if err := HoldBatches(ctx, tx); err != nil {
		return err
	}
	if err := checkExtension(ctx, tx, rules); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "update payfold.schema_state set fold_id = $2, catalogue = $3 where schema_name = $1",
		LiveSchema, rules.FoldID(), summaryOf(rules))
	if err != nil {
		return fmt.Errorf("note the catalogue of schema %s: %w", LiveSchema, err)
	}
	return nil
}

// checkExtension returns ErrFoldID unless the live tables would be the same under these rules.
func checkExtension(ctx context.Context, tx pgx.Tx, rules projections.Rules) error {
	var foldID string
	var sold *catalogue.Summary
	state := tx.QueryRow(ctx, "select fold_id, catalogue from payfold.schema_state where schema_name = $1", LiveSchema)
	err := state.Scan(&foldID, &sold)
	if err != nil {
		return fmt.Errorf("read the schema's state: %w", err)
	}
	other := otherRulesError(LiveSchema, foldID, rules.FoldID())
	if sold == nil {
		return other
	}
	added, extends := rules.Extends(foldID, *sold)
	if !extends {
		return olderOr(other, rules, *sold)
	}
	named, err := UnlistedIn(ctx, tx, added)
	switch {
	case err != nil:
		return err
	case len(named) > 0:
		return fmt.Errorf("%w: events have named products that this catalogue adds: %s; "+
			"projector rebuild --dry-run shows what changes, projector rebuild --promote grants it",
			ErrFoldID, strings.Join(named, ", "))
	}
	return nil
}

// olderOr returns an error that says so if the tables have a later catalogue than the rules, otherwise the error other.
func olderOr(other error, rules projections.Rules, sold catalogue.Summary) error {
	if rules.Catalogue == nil {
		return other
	}
	added, older := sold.Extends(rules.Catalogue.Summary())
	if !older || len(added) == 0 {
		return other
	}
	return fmt.Errorf("%w; the catalogue of the live tables is later than this one and adds %s: start this program with it",
		other, strings.Join(added, ", "))
}

// UnlistedIn returns those of the products that events have named although the catalogue of the tables on search_path
// lacks them, sorted.
func UnlistedIn(ctx context.Context, q Querier, products []string) ([]string, error) {
	return Collect(ctx, q, "look for products that events have named", pgx.RowTo[string],
		`select product from unlisted_product where product = any($1) order by product collate "C"`, products)
}

// LiveCatalogue returns the summary of the catalogue of the live tables; nil if they have none, or there are no live
// tables.
func LiveCatalogue(ctx context.Context, q Querier) (sold *catalogue.Summary, err error) {
	state := q.QueryRow(ctx, "select catalogue from payfold.schema_state where schema_name = $1", LiveSchema)
	if err := state.Scan(&sold); err != nil && !errors.Is(err, pgx.ErrNoRows) && !NotPrepared(err) {
		return nil, fmt.Errorf("read the catalogue of the live tables: %w", err)
	}
	return sold, nil
}

// summaryOf returns the summary of the catalogue of the rules; nil if they have none.
func summaryOf(rules projections.Rules) *catalogue.Summary {
	if rules.Catalogue == nil {
		return nil
	}
	sold := rules.Catalogue.Summary()
	return &sold
}
