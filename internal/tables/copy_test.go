package tables

import (
	"context"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

func TestARowIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := pgx.Connect(ctx, testenv.Database(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	RegisterArrays(db.TypeMap())
	_, err = db.Exec(ctx, "create schema portal; "+regexp.MustCompile(` check \(.*\)|not null|,\n  check \(.*\)`).ReplaceAllString(Payments.DDL(), ""))
	require.NoError(t, err)
	text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 && r != utf8.RuneError }))
	number := rapid.Ptr(rapid.Int64(), true)
	moment := rapid.Custom(func(r *rapid.T) time.Time {
		if rapid.Bool().Draw(r, "absent") {
			return time.Time{}
		}
		return time.UnixMicro(rapid.Int64Range(0, 1<<51).Draw(r, "moment")).UTC()
	})
	fact := rapid.Custom(func(r *rapid.T) *projections.Fact {
		return &projections.Fact{
			EventID: text.Draw(r, "event"), Seq: rapid.Int64().Draw(r, "seq"), At: moment.Draw(r, "at"), Says: projections.Paid,
			User: text.Draw(r, "user"), Amount: number.Draw(r, "amount"), From: moment.Draw(r, "from"), Trial: rapid.Bool().Draw(r, "trial"),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		row := projections.Payment{
			ProviderPaymentID: text.Draw(r, "id"), OrderID: text.Draw(r, "order"), Currency: text.Draw(r, "currency"),
			Amount: number.Draw(r, "amount"), Credits: number.Draw(r, "credits"), StreamSeq: rapid.Int64().Draw(r, "seq"),
			OccurredAt: moment.Draw(r, "occurred"), ReversedAt: moment.Draw(r, "reversed"), Known: rapid.Bool().Draw(r, "known"),
			Facts: rapid.SliceOfN(fact, 0, 3).Draw(r, "facts"),
		}
		if len(row.Facts) == 0 {
			row.Facts = nil
		}
		for _, copied := range []bool{false, true} {
			require.NoError(r, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				rows := &projections.Rows[string, projections.Payment]{}
				rows.Put(row.ProviderPaymentID, row)
				written := changes[projections.Payment]{Payments, rows}
				if _, err := tx.Exec(ctx, "truncate payment_facts"); err != nil {
					return err
				}
				if copied {
					return CopyIn(ctx, tx, Payments, false, written.AppendInserted(nil))
				}
				batch := &pgx.Batch{}
				written.Queue(batch)
				return tx.SendBatch(ctx, batch).Close()
			}))
			require.NoError(r, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				read, err := Payments.Row(ctx, tx, "")
				require.Equal(r, &row, read)
				return err
			}))
		}
	})
}
