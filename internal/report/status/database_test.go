package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestDatabaseStatusHasLeasesOutcomesAndFaults(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	s := shop.Tables
	shop.Apply(ctx, t, fixture.Messages(7, fixture.Pack("e7", "p1", "u1", 5)), 1)
	shop.Apply(ctx, t, fixture.Messages(1, fixture.Pack("e1", "p1", "u1", 5), fixture.Pack("e1", "p1", "u1", 5),
		`{"id":"e3","eventType":"customer.created","object":{}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"metadata":{"kind":"one_time"}}}`,
		fixture.Pack("e5", "p5", "u2", 1)), 0)
	_, err := s.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) values ($1, 5, $2)", shop.LogID, "no such text")
	require.NoError(t, err)
	// Of a log that was lost, and of tables that were replaced.
	_, err = s.Pool().Exec(ctx, `insert into payfold.quarantined_event (log_id, stream_seq, error) values ('lost', 5, 'other');
		insert into payfold.out_of_order_event (log_id, stream_seq, later_seq, shared, schema_created_at) select log_id, 2, 7, 'user', '2020-01-01' from payfold.schema_state`)
	require.NoError(t, err)
	_, err = live.Members{Store: s}.Heartbeat(ctx)
	require.NoError(t, err)
	_, err = live.Members{Store: s}.TakeLeases(ctx, []int{0, 2})
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, "update payfold.lease set expires_at = now() where partition = 2")
	require.NoError(t, err)

	status, err := readWithCounts(ctx, s)
	require.NoError(t, err)
	require.Equal(t, []Partition{{Position: 5, Owner: "test"}, {Number: 1, Position: 7}, {Number: 2}, {Number: 3}}, status.Partitions, "an expired lease has no owner")
	require.Equal(t, []OutcomeCount{
		{"applied", "", 2}, {"duplicate_payment", "", 1}, {"ignored", "", 1}, {"rejected", "missing_user", 1},
	}, status.Outcomes)
	require.EqualValues(t, 1, status.Duplicates)
	require.EqualValues(t, 1, status.OutOfOrder.Count)
	require.Len(t, status.OutOfOrder.Newest, 1)
	require.Equal(t, OutOfOrder{1, "e1", 7, "e7", "user", status.OutOfOrder.Newest[0].NoticedAt}, status.OutOfOrder.Newest[0])
	require.EqualValues(t, 1, status.Quarantined.Count)
	require.Len(t, status.Quarantined.Newest, 1)
	require.Equal(t, Quarantined{5, "e5", "no such text", status.Quarantined.Newest[0].FoundAt}, status.Quarantined.Newest[0])
	require.Len(t, status.Members, 1)
	require.Equal(t, Member{"test", status.Members[0].LastSeen, 1}, status.Members[0])
	require.WithinDuration(t, time.Now(), status.Members[0].LastSeen, time.Minute)
	require.Equal(t, time.UTC, status.Members[0].LastSeen.Location())
	require.Equal(t, "portal", status.Live.Name)
	require.Equal(t, []store.Schema{status.Live}, status.Schemas)
	require.Equal(t, fixture.AnyMode.FoldID(), status.Live.FoldID)
}

func TestWithoutTablesThereIsNoStatus(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	s := shop.Tables
	for _, sql := range []string{"drop schema portal cascade", "create schema portal", "drop schema payfold cascade"} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err)
		_, err = readWithCounts(ctx, s)
		require.ErrorIs(t, err, store.ErrNotPrepared, sql)
	}
}
