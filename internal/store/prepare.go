package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

//go:embed portal.sql
var portalDDL string

//go:embed comments.sql
var commentsDDL string

// ErrOtherLog means that the tables were folded from another log.
var ErrOtherLog = errors.New("the tables were folded from another log; restore it, or where it is lost see: projector adopt-log")

// ErrPartOfADatabase means that a schema is there without those that belong to it, for example after the restore of a dump
// that has only schema portal.
var ErrPartOfADatabase = errors.New("schemas portal, payfold and wallet belong together, and this database has only a part of them; " +
	"restore all three from one dump, or rename what is there and let a projector fold the log again")

// Prepare brings schema payfold to this build's version, and creates the tables of the store's
// schema if there are none. For existing live tables it creates the missing keys and indexes
// that a batch needs. Live tables also become those of rules that only add products which no event has named. Prepare
// returns an error for tables that were folded from another log, under other rules or up to another message; for the
// live schema that is ErrOtherLog or ErrFoldID.
func (s *Store) Prepare(ctx context.Context, logID string, partitions int, rules projections.Rules) error {
	return s.prepare(ctx, Schema{LogID: logID, FoldID: rules.FoldID()}, partitions, rules)
}

// PrepareAsOf is Prepare for tables that end at message until and do not follow the log.
func (s *Store) PrepareAsOf(ctx context.Context, logID string, partitions int, rules projections.Rules, until uint64) error {
	seq := int64(until)
	return s.prepare(ctx, Schema{LogID: logID, FoldID: rules.FoldID(), UntilSeq: &seq}, partitions, rules)
}

func (s *Store) prepare(ctx context.Context, want Schema, partitions int, rules projections.Rules) error {
	return s.migrateThen(ctx, func(tx pgx.Tx) error { return s.ensureTables(ctx, tx, want, partitions, rules) })
}

func (s *Store) ensureTables(
	ctx context.Context, tx pgx.Tx, want Schema, partitions int, rules projections.Rules,
) error {
	if _, err := tx.Exec(ctx, "select $1::text", anyScript); err != nil {
		return fmt.Errorf("send a text of any script, for which the database must have the encoding UTF8: %w", err)
	}
	// A schema that was dropped by hand is created again.
	if _, err := tx.Exec(ctx, "delete from payfold.schema_state where schema_name = $1 and to_regclass($2) is null",
		s.schema, Qualified(s.schema, "checkpoint")); err != nil {
		return fmt.Errorf("forget schema %s: %w", s.schema, err)
	}
	var have Schema
	err := tx.QueryRow(ctx, "select fold_id, log_id, until_seq from payfold.schema_state where schema_name = $1", s.schema).
		Scan(&have.FoldID, &have.LogID, &have.UntilSeq)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.createTables(ctx, tx, want, partitions, rules)
	case err != nil:
		return fmt.Errorf("read the schema's state: %w", err)
	case s.schema != LiveSchema && have.LogID != want.LogID:
		return fmt.Errorf("schema %s was folded from log %s, this command has log %s; use another --schema, or remove it: projector drop %s",
			s.schema, have.LogID, want.LogID, s.schema)
	case have.LogID != want.LogID:
		return fmt.Errorf("%w (schema %s has log_id %s, the stream has %s)", ErrOtherLog, s.schema, have.LogID, want.LogID)
	case have.FoldID != want.FoldID && s.schema != LiveSchema:
		return otherRulesError(s.schema, have.FoldID, want.FoldID)
	case have.FoldID != want.FoldID:
		if err := s.extendCatalogue(ctx, tx, rules); err != nil {
			return err
		}
	case !equalSeq(have.UntilSeq, want.UntilSeq):
		return fmt.Errorf("schema %s was begun for another end of the log; use another --schema, or remove it: projector drop %s", s.schema, s.schema)
	case s.schema != LiveSchema:
		return nil
	}
	return EnsureIndexes(ctx, tx, s.schema, tables.Complete) // a batch relies on these keys
}

func equalSeq(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// anyScript is a text that an encoding for one script refuses. Buyers write such texts, and the database would then
// refuse their events.
const anyScript = "é名😀"

func (s *Store) createTables(
	ctx context.Context, tx pgx.Tx, want Schema, partitions int, rules projections.Rules,
) error {
	if err := s.checkEmpty(ctx, tx); err != nil {
		return err
	}
	if err := MakeTables(ctx, tx, s.schema, rules.Extras); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "insert into checkpoint (partition, position, log_id) select p, 0, $2 from generate_series(0, $1::int - 1) p", partitions, want.LogID)
	if err != nil {
		return fmt.Errorf("create the checkpoints of schema %s: %w", s.schema, err)
	}
	_, err = tx.Exec(ctx, `insert into payfold.schema_state
		(schema_name, fold_id, log_id, partitions, until_seq, catalogue) values ($1, $2, $3, $4, $5, $6)`, s.schema, want.FoldID, want.LogID, partitions, want.UntilSeq, summaryOf(rules))
	if err != nil {
		return fmt.Errorf("note schema %s: %w", s.schema, err)
	}
	if s.schema != LiveSchema {
		return nil // a rebuild fills the tables first
	}
	return EnsureIndexes(ctx, tx, s.schema, tables.InUse)
}

// MakeTables creates the schema with empty tables and without indexes. search_path is that
// schema until the transaction ends.
func MakeTables(ctx context.Context, tx pgx.Tx, schema string, extras []string) error {
	name := Quoted(schema)
	statements := []string{"create schema if not exists " + name, "set local search_path = " + name}
	for _, t := range tables.All {
		if t := t.About(); !t.Extra || slices.Contains(extras, t.Name) {
			statements = append(statements, t.DDL(), tables.ReplicaIdentity(t.Name))
		}
	}
	statements = append(statements, portalDDL, commentsDDL)
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("create the tables of schema %s: %w", schema, err)
		}
	}
	return nil
}

// checkEmpty returns an error if the schema has objects that payfold has not made: a promotion
// would make them live, and later drop them. The live schema may have such objects, but no tables that only schema payfold
// lacks.
func (s *Store) checkEmpty(ctx context.Context, tx pgx.Tx) error {
	var used, tables bool
	err := tx.QueryRow(ctx, `select to_regclass($2) is not null, exists (select from pg_namespace n join pg_depend d on d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid
		where n.nspname = $1 and d.classid <> 'pg_default_acl'::regclass)`, s.schema, Qualified(s.schema, "processed_event")).Scan(&tables, &used)
	switch {
	case err != nil:
		return fmt.Errorf("look into schema %s: %w", s.schema, err)
	case used && s.schema != LiveSchema:
		return fmt.Errorf("schema %s is there already and is not payfold's", s.schema)
	case tables:
		return fmt.Errorf("schema payfold does not know the tables of schema %s: %w", s.schema, ErrPartOfADatabase)
	}
	return nil
}
