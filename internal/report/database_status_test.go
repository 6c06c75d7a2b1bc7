package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
)

// messages decodes bodies as messages of the log that begin at seq first.
func messages(first uint64, bodies ...string) (batch []events.Event) {
	for i, body := range bodies {
		batch = append(batch, events.Decode(events.Message{Seq: first + uint64(i), Body: []byte(body), ReceivedAt: received}))
	}
	return batch
}

func TestDatabaseStatusHasLeasesOutcomesAndFaults(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 0)
	s := shop.database
	shop.apply(ctx, t, messages(7, pack("e7", "p1", "u1", 5)), 1)
	shop.apply(ctx, t, messages(1, pack("e1", "p1", "u1", 5), pack("e1", "p1", "u1", 5),
		`{"id":"e3","eventType":"customer.created","object":{}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"metadata":{"kind":"one_time"}}}`,
		pack("e5", "p5", "u2", 1)), 0)
	_, err := s.Pool().Exec(ctx, "insert into payfold.poison (log_id, stream_seq, error) values ($1, 5, $2)", shop.logID, "no such text")
	require.NoError(t, err)
	_, err = live.Heartbeat(ctx, s)
	require.NoError(t, err)
	_, err = live.TakeLeases(ctx, s, []int{0, 2})
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, "update payfold.lease set expires_at = now() where partition = 2")
	require.NoError(t, err)

	status, err := readDatabase(ctx, s)
	require.NoError(t, err)
	require.Equal(t, []Partition{{Position: 5, Owner: "test"}, {Number: 1, Position: 7}, {Number: 2}, {Number: 3}}, status.Partitions, "an expired lease has no owner")
	require.Equal(t, []OutcomeCount{
		{"applied", "", 2}, {"duplicate_payment", "", 1}, {"ignored", "", 1}, {"rejected", "missing_user", 1},
	}, status.Outcomes)
	require.EqualValues(t, 1, status.Duplicates)
	require.EqualValues(t, 1, status.OutOfOrder.Count)
	require.Equal(t, OutOfOrder{1, "e1", 7, "e7", "user", status.OutOfOrder.Newest[0].NoticedAt}, status.OutOfOrder.Newest[0])
	require.EqualValues(t, 1, status.Quarantined.Count)
	require.Equal(t, Quarantined{5, "e5", "no such text", status.Quarantined.Newest[0].FoundAt}, status.Quarantined.Newest[0])
	require.Len(t, status.Members, 1)
	require.Equal(t, Member{"test", status.Members[0].LastSeen, 1}, status.Members[0])
	require.WithinDuration(t, time.Now(), status.Members[0].LastSeen, time.Minute)
	require.Equal(t, time.UTC, status.Members[0].LastSeen.Location())
	require.Equal(t, "portal", status.Live.Name)
	require.Equal(t, []store.Schema{status.Live}, status.Schemas)
	require.Equal(t, anyMode.FoldID(), status.Live.FoldID)

	for id, in := range map[string]int{"e1": 1, "e7": 1, "e5": 0} {
		rows, err := readEvent(ctx, s, []string{id}, 10)
		require.NoError(t, err)
		require.Len(t, rows.OutOfOrder, in, "%s, the earlier or the later event", id)
		require.Equal(t, id == "e5", rows.Quarantined != nil)
	}
}

func TestWithoutTablesThereIsNoStatus(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 0)
	s := shop.database
	for _, sql := range []string{"drop schema payfold cascade", "drop schema portal cascade", "create schema portal"} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err)
		_, err = readDatabase(ctx, s)
		require.ErrorIs(t, err, store.ErrNotPrepared, sql)
		_, err = readUser(ctx, s, "u1", 0, 10)
		require.ErrorIs(t, err, store.ErrNotPrepared, sql)
	}
}
