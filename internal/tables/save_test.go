package tables

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

// withCredits connects to a database with an empty table credits.
func withCredits(t *testing.T) (context.Context, *pgx.Conn) {
	t.Helper()
	ctx := t.Context()
	db, err := pgx.Connect(ctx, testenv.Database(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	RegisterArrays(db.TypeMap())
	_, err = db.Exec(ctx, "create schema portal; "+Credits.DDL)
	require.NoError(t, err)
	return ctx, db
}

func TestAnyNumberOfRowsIsUpdated(t *testing.T) {
	t.Parallel()
	ctx, db := withCredits(t)
	for _, count := range []int{0, 1, maxUpdateRows, 2*maxUpdateRows + 1} {
		written := changes[projections.Credits]{table: Credits}
		for i := range count {
			user := fmt.Sprint("u_", i)
			written.inserted = append(written.inserted, projections.Credits{UserID: user, StreamSeq: 1})
			written.updated = append(written.updated, projections.Credits{UserID: user, Balance: int64(i), Granted: int64(i), StreamSeq: 2})
		}
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "truncate credits"); err != nil {
				return err
			}
			return written.Copy(ctx, tx)
		})
		require.NoError(t, err)
		var right int
		require.NoError(t, db.QueryRow(ctx, "select count(*) from credits where user_id = 'u_' || balance and stream_seq = 2").Scan(&right))
		require.Equal(t, count, right)
	}
}

func TestAnyNumberOfRowsIsRemoved(t *testing.T) {
	t.Parallel()
	ctx, db := withCredits(t)
	columns := Credits.Columns()
	for _, count := range []int{0, 1, maxUpdateRows, 2*maxUpdateRows + 1} {
		var rows []projections.Credits
		for i := range count + 2 { // two of them stay
			rows = append(rows, projections.Credits{UserID: fmt.Sprint("u_", i), StreamSeq: 1})
		}
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "truncate credits"); err != nil {
				return err
			}
			return CopyIn(ctx, tx, Credits, false, encodeRows(columns, rows))
		})
		require.NoError(t, err)
		at := map[string]Place{}
		require.NoError(t, Credits.EachPlace(ctx, db, AllPages, "", func(place Place, names RowNames) {
			at[strings.Clone(names[0])] = place
		}))
		require.Len(t, at, len(rows))
		remove := func(rows []projections.Credits, places func(name string) []Place) error {
			return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				return Credits.RemoveRows(ctx, tx, func(yield func(row []byte) bool) {
					for i := range rows {
						if !yield(appendRow(nil, columns, &rows[i])) {
							return
						}
					}
				}, places)
			})
		}
		stay := []string{fmt.Sprint("u_", count), fmt.Sprint("u_", count+1)}
		both := func(name string) []Place { return []Place{at[name], at[stay[0]]} } // another row has the name, too
		require.NoError(t, remove(rows[:count], both))
		left, err := db.Query(ctx, "select user_id from credits order by stream_seq, user_id")
		require.NoError(t, err)
		names, err := pgx.CollectRows(left, pgx.RowTo[string])
		require.NoError(t, err)
		require.ElementsMatch(t, stay, names)
		if count > 0 {
			require.ErrorIs(t, remove(rows, both), errMoved)
		}
	}
}
