package tables

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

func TestAnyNumberOfRowsIsUpdated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := pgx.Connect(ctx, testenv.Database(t))
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(ctx))
	RegisterArrays(db.TypeMap())
	_, err = db.Exec(ctx, "create schema portal; "+CreditBalances.DDL)
	require.NoError(t, err)
	for _, count := range []int{0, 1, maxUpdateRows, 2*maxUpdateRows + 1} {
		written := changes[projections.Credits]{table: "credits", columns: CreditBalances.Columns()}
		for i := range count {
			user := fmt.Sprint("u_", i)
			written.inserted = append(written.inserted, projections.Credits{UserID: user, StreamSeq: 1})
			written.updated = append(written.updated, projections.Credits{UserID: user, Balance: int64(i), Granted: int64(i), StreamSeq: 2})
		}
		err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
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
