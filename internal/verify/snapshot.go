package verify

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// snapshot is the tables of one schema at one moment. It is not safe for concurrent use.
type snapshot struct {
	store  *store.Store
	tx     pgx.Tx
	tables store.TablesID // the tables that had the schema's name at that moment
	schema store.Schema
}

// freeze takes a snapshot of the store's schema, which lasts until Close.
func freeze(ctx context.Context, s *store.Store) (*snapshot, error) {
	tx, err := beginRead(ctx, s)
	if err != nil {
		return nil, err
	}
	snapshot, err := freezeIn(ctx, s, tx)
	if err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return snapshot, nil
}

func beginRead(ctx context.Context, s *store.Store) (pgx.Tx, error) {
	tx, err := s.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return tx, nil
}

func freezeIn(ctx context.Context, s *store.Store, tx pgx.Tx) (*snapshot, error) {
	all, err := store.SchemasIn(ctx, tx)
	if err != nil {
		return nil, err
	}
	schema, err := store.SchemaIn(all, s.Schema())
	if err != nil {
		return nil, err
	}
	tables, err := s.FindTables(ctx, tx)
	return &snapshot{s, tx, tables, schema}, err
}

// Close ends the snapshot.
func (s *snapshot) Close() { endRead(s.tx) }

// endRead ends a transaction that only reads.
func endRead(tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), store.CleanUpTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// Sums counts the rows that break the rules within the tables, and with the live ones those within the wallet; see
// store.CheckSums and store.CheckWallet.
func (s *snapshot) Sums(ctx context.Context) ([]store.SumCheck, error) {
	sums, err := store.CheckSums(ctx, s.tx)
	if err != nil {
		return nil, err
	}
	if s.schema.Name == store.LiveSchema {
		ofWallet, err := store.CheckWallet(ctx, s.tx)
		if err != nil {
			return nil, err
		}
		sums = append(sums, ofWallet...)
	}
	return sums, s.store.CheckTables(ctx, s.tx, s.tables)
}

// share returns the same snapshot on another connection. The caller must close it.
func (s *snapshot) share(ctx context.Context) (*snapshot, error) {
	var id string
	if err := s.tx.QueryRow(ctx, "select pg_export_snapshot()").Scan(&id); err != nil {
		return nil, fmt.Errorf("share the snapshot: %w", err)
	}
	tx, err := beginRead(ctx, s.store)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "set transaction snapshot '"+id+"'"); err != nil {
		_ = tx.Rollback(ctx)
		return nil, fmt.Errorf("share the snapshot: %w", err)
	}
	return &snapshot{s.store, tx, s.tables, s.schema}, nil
}
