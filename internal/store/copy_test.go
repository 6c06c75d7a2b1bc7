package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
)

func TestRowsOfSeveralBatchesAreCopiedInTheirOrder(t *testing.T) {
	t.Parallel()
	columns := columnsOf[projections.ProcessedEvent]()
	var want []byte
	var parts []someRows
	for part, rows := range []int{0, 1, 2000, 0, 700, 0} { // more than is copied at once, and none
		var events []projections.ProcessedEvent
		for i := range rows {
			events = append(events, projections.ProcessedEvent{EventID: fmt.Sprintf("evt_%d_%d", part, i), StreamSeq: int64(i), OccurredAt: time.Unix(int64(i), 0)})
		}
		for i := range events {
			want = appendRow(want, columns, &events[i])
		}
		parts = append(parts, someOf(columns, events))
	}
	require.Greater(t, len(want), 2*copyAtOnce)
	some := inTurn(parts)
	var got []byte
	for more := some(nil); len(more) > 0; more = some(nil) {
		require.Less(t, len(more), copyAtOnce+1000)
		got = append(got, more...)
	}
	require.Equal(t, want, got)
}

func TestARowIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	columns := columnsOf[projections.Payment]()
	text := rapid.StringN(0, 12, -1)
	number := rapid.Ptr(rapid.Int64(), true)
	moment := rapid.Custom(func(r *rapid.T) time.Time {
		if rapid.Bool().Draw(r, "absent") {
			return time.Time{}
		}
		return time.UnixMicro(rapid.Int64Range(-1<<50, 1<<50).Draw(r, "moment")).UTC()
	})
	rapid.Check(t, func(r *rapid.T) {
		row := projections.Payment{
			ProviderPaymentID: text.Draw(r, "id"), OrderID: text.Draw(r, "order"), Currency: text.Draw(r, "currency"),
			Amount: number.Draw(r, "amount"), Credits: number.Draw(r, "credits"), StreamSeq: rapid.Int64().Draw(r, "seq"),
			OccurredAt: moment.Draw(r, "occurred"), ReversedAt: moment.Draw(r, "reversed"), FirstOfOrder: rapid.Bool().Draw(r, "first"),
		}
		written := appendRow([]byte("before"), columns, &row)
		require.Equal(r, row, valueOf[projections.Payment](columns, written[len("before"):]))
	})
}

func TestAChunkedSliceKeepsWhatIsAdded(t *testing.T) {
	t.Parallel()
	var all segmented[int]
	for i := range 3*rowsOfSegment + 1 {
		require.EqualValues(t, i, all.add(i))
	}
	for i := range all.length {
		require.EqualValues(t, i, *all.at(i))
	}
}

func TestAnyNumberOfRowsIsUpdated(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for _, count := range []int{0, 1, updatesAtOnce, 2*updatesAtOnce + 1} {
		written := changes[projections.Credits]{table: "credits"}
		for i := range count {
			user := fmt.Sprint("u_", i)
			written.inserted = append(written.inserted, projections.Credits{UserID: user, StreamSeq: 1})
			written.updated = append(written.updated, projections.Credits{UserID: user, Balance: int64(i), Granted: int64(i), StreamSeq: 2})
		}
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "truncate credits"); err != nil {
				return err
			}
			return written.copy(ctx, tx)
		})
		require.NoError(t, err)
		var right int
		require.NoError(t, s.pool.QueryRow(ctx, "select count(*) from credits where user_id = 'u_' || balance and stream_seq = 2").Scan(&right))
		require.Equal(t, count, right)
	}
}

// Modes that answer in the text format would be read wrongly.
func TestAQueryModeWithoutTheBinaryFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), Config{DSN: "host=127.0.0.1 default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "default_query_exec_mode")
	}
}
