//go:build linux

package endtoend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// copiedRows is a folder with the rows of a rebuilt schema, a file for each table in COPY's
// binary format.
type copiedRows string

// candidate is the schema that a rebuild makes.
const candidate = "portal_next"

func copyOut(b *testing.B, from *store.Store) copiedRows {
	b.Helper()
	dir := b.TempDir()
	connection := acquire(b, from)
	defer connection.Release()
	for _, table := range tables.NameList() {
		file, err := os.Create(filepath.Join(dir, table))
		require.NoError(b, err)
		_, err = connection.Conn().PgConn().CopyTo(b.Context(), file, "copy "+table+" to stdout (format binary)")
		require.NoError(b, err)
		require.NoError(b, file.Close())
	}
	return copiedRows(dir)
}

// copyIn creates the tables of the store's schema and copies the rows into them, one table after the
// other, in one transaction. Without indexesFirst it makes the indexes at the end, on two
// connections as a rebuild does.
func (c copiedRows) copyIn(b *testing.B, into *store.Store, indexesFirst bool) {
	ctx := b.Context()
	connections := []*pgxpool.Conn{acquire(b, into), acquire(b, into)}
	require.NoError(b, pgx.BeginFunc(ctx, connections[0], func(tx pgx.Tx) error {
		if err := store.MakeTables(ctx, tx, into.Schema(), nil); err != nil {
			return err
		}
		if indexesFirst {
			if err := store.EnsureIndexes(ctx, tx, into.Schema(), tables.Complete); err != nil {
				return err
			}
		}
		for _, table := range tables.NameList() {
			if err := c.copyTable(b, tx, table); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(b, store.MakeIndexes(ctx, into.Schema(), tables.Complete, connections...))
	for _, connection := range connections {
		connection.Release()
	}
}

func (c copiedRows) copyTable(b *testing.B, tx pgx.Tx, table string) error {
	file, err := os.Open(filepath.Join(string(c), table))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = tx.Conn().PgConn().CopyFrom(b.Context(), file, "copy "+table+" from stdin (format binary, freeze)")
	return err
}

func acquire(b *testing.B, from *store.Store) *pgxpool.Conn {
	b.Helper()
	connection, err := from.Pool().Acquire(b.Context())
	require.NoError(b, err)
	return connection
}
