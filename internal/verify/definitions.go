package verify

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

//go:embed describe.sql
var describeSQL string

//go:embed rights.sql
var rightsSQL string

// DefinitionDifference is an object of a schema that this build defines differently, or a right
// that a role has or lacks wrongly.
type DefinitionDifference struct {
	Object string  `json:"object"`
	Fault  string  `json:"fault"` // missing, extra or changed
	Is     *string `json:"is,omitempty"`
	Should *string `json:"should,omitempty"`
}

// Definitions returns every wrong right, and every object of the schema that this build defines
// differently. Objects are tables, columns, views, constraints, keys, indexes, triggers, rules,
// policies, functions and others. Indexes that somebody added count only if they are unique.
// Candidate tables may lack indexes and keys, because a promotion creates them.
//
// With the live tables it compares schema wallet, too, which outlives them.
//
// It compares with objects that it creates in a transaction and rolls back.
func (s *snapshot) Definitions(ctx context.Context, rules projections.Rules) (differences []DefinitionDifference, err error) {
	err = pgx.BeginFunc(ctx, s.store.Pool(), func(tx pgx.Tx) (err error) {
		if differences, err = definitionDifferences(ctx, tx, s.schema, rules); err != nil {
			return err
		}
		if s.schema.Name == store.LiveSchema {
			ofWallet, err := walletDifferences(ctx, tx)
			if err != nil {
				return err
			}
			differences = append(differences, ofWallet...)
		}
		return errRollback
	})
	if !errors.Is(err, errRollback) {
		return nil, fmt.Errorf("compare the definitions: %w", err)
	}
	return differences, s.store.CheckTables(ctx, s.tx, s.tables)
}

// definitionDifferences creates this build's tables in TransientSchema and compares with
// them. The caller rolls the transaction back.
func definitionDifferences(ctx context.Context, tx pgx.Tx, schema store.Schema, rules projections.Rules) ([]DefinitionDifference, error) {
	var ours []string
	for _, i := range tables.Indexes {
		ours = append(ours, i.Name)
	}
	is, rights, err := definitions(ctx, tx, schema.Name, ours)
	if err != nil {
		return nil, err
	}
	if err := store.MakeTables(ctx, tx, store.TransientSchema, rules.Extras); err != nil {
		return nil, err
	}
	if err := store.EnsureIndexes(ctx, tx, store.TransientSchema, tables.InUse); err != nil {
		return nil, err
	}
	should, _, err := definitions(ctx, tx, store.TransientSchema, ours)
	if err != nil {
		return nil, err
	}
	indexed, err := indexed(ctx, tx, schema)
	if err != nil {
		return nil, err
	}
	return append(differentDefinitions(is, should, indexed), rights...), nil
}

// indexed reports whether the tables must have all indexes and keys: the live and the previous
// ones, and tables as of a message whose rebuild has ended. A rebuild of a candidate makes at its
// end those that find rows. A promotion makes all that are missing.
func indexed(ctx context.Context, tx pgx.Tx, schema store.Schema) (bool, error) {
	if schema.UntilSeq == nil {
		return schema.Name == store.LiveSchema || schema.Name == store.PreviousSchema, nil
	}
	unfinished, err := store.WithoutAutovacuum(ctx, tx, schema.Name)
	return schema.Position >= *schema.UntilSeq && len(unfinished) == 0, err
}

// walletDifferences compares schema wallet with one that it creates beside it. The caller rolls the transaction back.
func walletDifferences(ctx context.Context, tx pgx.Tx) (out []DefinitionDifference, err error) {
	var there bool
	if err := tx.QueryRow(ctx, "select to_regnamespace($1) is not null", store.WalletSchema).Scan(&there); err != nil {
		return nil, err
	}
	if !there {
		return []DefinitionDifference{{Object: "schema " + store.WalletSchema, Fault: Missing}}, nil
	}
	if err := store.MakeWallet(ctx, tx, store.TransientWallet); err != nil {
		return nil, err
	}
	ours, err := store.Collect(ctx, tx, "list the indexes", pgx.RowTo[string],
		"select indexname::text from pg_indexes where schemaname = $1", store.TransientWallet)
	if err != nil {
		return nil, err
	}
	is, rights, err := definitions(ctx, tx, store.WalletSchema, ours)
	if err != nil {
		return nil, err
	}
	made, _, err := definitions(ctx, tx, store.TransientWallet, ours)
	if err != nil {
		return nil, err
	}
	should := map[string]string{}
	real := strings.NewReplacer(store.TransientWallet, store.WalletSchema)
	for object, definition := range made {
		should[real.Replace(object)] = real.Replace(definition)
	}
	out = append(differentDefinitions(is, should, true), rights...)
	for i := range out {
		out[i].Object += " (schema " + store.WalletSchema + ")"
	}
	return out, nil
}

// definitions returns the definition of every object of a schema, and the wrong rights. Of indexes that are not unique
// it has those of these names. search_path is that schema until the transaction ends, and names are quoted only where
// they must be, as the names in madeLater. A parallel worker does not see what the transaction has created.
func definitions(
	ctx context.Context, tx pgx.Tx, schema string, indexes []string,
) (map[string]string, []DefinitionDifference, error) {
	const settings = "set local quote_all_identifiers = off; set local max_parallel_workers_per_gather = 0; set local search_path = "
	if _, err := tx.Exec(ctx, settings+store.Quoted(schema)); err != nil {
		return nil, nil, err
	}
	rows, _ := tx.Query(ctx, describeSQL, schema, indexes) // ForEachRow returns its error
	objects := map[string]string{}
	var object, definition string
	_, err := pgx.ForEachRow(rows, []any{&object, &definition}, func() error {
		objects[object] = definition
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	rows, _ = tx.Query(ctx, rightsSQL, schema) // CollectRows returns its error
	rights, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DefinitionDifference])
	return objects, rights, err
}

// differentDefinitions lists the differences, ordered by object.
func differentDefinitions(is, should map[string]string, indexed bool) (out []DefinitionDifference) {
	for object, definition := range is {
		wanted, known := should[object]
		switch {
		case !known:
			out = append(out, DefinitionDifference{Object: object, Fault: Extra, Is: optional(definition)})
		case definition != wanted:
			out = append(out, DefinitionDifference{object, Changed, &definition, &wanted})
		}
	}
	for object, wanted := range should {
		if _, there := is[object]; !there && (indexed || !madeLater(object)) {
			out = append(out, DefinitionDifference{Object: object, Fault: Missing, Should: &wanted})
		}
	}
	slices.SortFunc(out, func(a, b DefinitionDifference) int { return strings.Compare(a.Object, b.Object) })
	return out
}

// madeLater reports whether the object is an index or a key of a derived table. Rebuilds and
// promotions make these after the rows; see indexed.
func madeLater(object string) bool {
	return slices.ContainsFunc(tables.Indexes, func(i tables.Index) bool {
		return strings.HasPrefix(object, "index "+i.Name+" on ") || strings.HasPrefix(object, "constraint "+i.Name+" on ")
	})
}

// errRollback makes pgx.BeginFunc roll back.
var errRollback = errors.New("nothing is to be changed")

// optional returns nil for an empty definition.
func optional(definition string) *string {
	if definition == "" {
		return nil
	}
	return &definition
}
