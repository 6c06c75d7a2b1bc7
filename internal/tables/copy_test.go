package tables

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
)

func TestRowsOfSeveralBatchesAreCopiedInTheirOrder(t *testing.T) {
	t.Parallel()
	columns := columnsOf[projections.ProcessedEvent]()
	var want []byte
	var parts []RowEncoder
	for part, rows := range []int{0, 1, 2000, 0, 700, 0} { // more rows than one call encodes, and no rows
		var events []projections.ProcessedEvent
		for i := range rows {
			events = append(events, projections.ProcessedEvent{EventID: fmt.Sprintf("evt_%d_%d", part, i), StreamSeq: int64(i), OccurredAt: time.Unix(int64(i), 0)})
		}
		for i := range events {
			want = appendRow(want, columns, &events[i])
		}
		parts = append(parts, encodeRows(columns, events))
	}
	require.Greater(t, len(want), 2*CopyBufferSize)
	encode := Concat(parts)
	var got []byte
	for more := encode(nil); len(more) > 0; more = encode(nil) {
		require.Less(t, len(more), CopyBufferSize+1000)
		got = append(got, more...)
	}
	require.Equal(t, want, got)
}

func TestARowIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	columns, reader := Payments.Columns(), rowReader[projections.Payment]{table: Payments}
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
		require.Equal(r, row, *reader.decode(written[len("before"):]))
	})
}
