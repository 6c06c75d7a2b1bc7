package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
)

// readWithFixedTimes reads the status and replaces its times by fixed ones.
func readWithFixedTimes(ctx context.Context, t *testing.T, s shop) DatabaseStatus {
	t.Helper()
	status, err := readDatabase(ctx, s.database)
	require.NoError(t, err)
	status.At = received.Add(time.Hour)
	status.Live.CreatedAt, status.Schemas[0].CreatedAt = received, received
	for i := range status.Members {
		status.Members[i].LastSeen = status.At.Add(-1234 * time.Millisecond)
	}
	for i := range status.OutOfOrder.Newest {
		status.OutOfOrder.Newest[i].NoticedAt = status.At
	}
	for i := range status.Quarantined.Newest {
		status.Quarantined.Newest[i].FoundAt = status.At
	}
	return status
}

func TestStatusShowsLagOwnersOutcomesAndFaults(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, 20, bodies...)
	_, err := live.Heartbeat(ctx, shop.database)
	require.NoError(t, err)
	_, err = live.TakeLeases(ctx, shop.database, []int{0, 1, 2})
	require.NoError(t, err)
	_, err = shop.database.Pool().Exec(ctx, "insert into payfold.poison (log_id, stream_seq, error) select log_id, 3, $1 from payfold.schema_state", "a value \x1b[2J is refused")
	require.NoError(t, err)

	database := readWithFixedTimes(ctx, t, shop)
	database.OutOfOrder = Counted[OutOfOrder]{Count: 11, Newest: []OutOfOrder{
		{StreamSeq: 4, EventID: "evt_pack", LaterSeq: 9, LaterEventID: "evt_refund_pending", Shared: "payment", NoticedAt: database.At},
	}}
	since := received.Add(-time.Hour)
	database.Waiting = WaitingStatus{
		Waiting: store.Waiting{Payments: 11, Since: &since, Seconds: 7200},
		Oldest:  []store.WaitingPayment{{ProviderPaymentID: "tran_7", Kind: "subscription", SubscriptionID: "sub_7", EventID: "evt_no_user", OccurredAt: since}},
	}
	status := newStatus(ctx, shop.log.Reader(t), database, nil)
	require.EqualValues(t, len(bodies)-20, status.Lag.Events)
	require.Equal(t, received.Add(20*time.Minute), *status.Lag.Oldest)
	require.InDelta(t, 40*60, status.Lag.Seconds, 0.001)
	for i := range status.Partitions {
		require.NotNil(t, status.Partitions[i].Waiting)
	}
	requireStatus(t, "status", status)
}

// A projector that was killed is a member until another one evicts it.
func TestStatusSaysThatNoneRunsAfterTheLastProjectorWasKilled(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 2, month(t)[:2]...)
	said := func() string {
		status, err := readDatabase(ctx, shop.database)
		require.NoError(t, err)
		require.Len(t, status.Members, 1)
		var text bytes.Buffer
		require.NoError(t, newStatus(ctx, shop.log, status, nil).Write(&text, false))
		require.Contains(t, text.String(), shop.database.Owner())
		return text.String()
	}
	_, err := live.Heartbeat(ctx, shop.database)
	require.NoError(t, err)
	_, err = live.TakeLeases(ctx, shop.database, []int{0})
	require.NoError(t, err)
	require.NotContains(t, said(), "none is running")
	_, err = shop.database.Pool().Exec(ctx, "update payfold.lease set expires_at = now() - interval '1 second'")
	require.NoError(t, err)
	require.Contains(t, said(), "none is running")
}

// requireStatus compares text and JSON with golden files, without the random id of the log.
func requireStatus(t *testing.T, file string, status Status) {
	t.Helper()
	var text, object bytes.Buffer
	require.NoError(t, status.Write(&text, false))
	require.NoError(t, status.Write(&object, true))
	require.True(t, json.Valid(object.Bytes()))
	id := "no log"
	if status.Log != nil {
		id = status.Log.LogID
	} else if status.Database != nil {
		id = status.Database.Live.LogID
	}
	requireGolden(t, "../"+file+".txt", []byte(strings.ReplaceAll(text.String(), id, "<log id>")))
	requireGolden(t, "../"+file+".json", []byte(strings.ReplaceAll(string(indented(t, object.Bytes())), id, "<log id>")))
}

func TestStatusWorksWithoutLogOrDatabase(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 2, month(t)[:2]...)
	database := readWithFixedTimes(ctx, t, shop)

	status := newStatus(ctx, shop.log, DatabaseStatus{}, errors.New("the database does not answer: \x1b[2J"))
	require.NotNil(t, status.Log)
	requireStatus(t, "status_without_database", status)

	foreign := database
	foreign.Live.LogID = "another"
	status = newStatus(ctx, shop.log, foreign, nil)
	require.Equal(t, identity.ErrLogLost.Error(), status.LogFault)
	require.Nil(t, status.Lag)

	longer := database
	longer.Partitions = []Partition{{Number: 0, Position: 3}}
	status = newStatus(ctx, shop.log, longer, nil)
	require.Contains(t, status.LogFault, "has lost messages")
	require.Nil(t, status.Lag)

	database.Partitions[3].Position = 1
	reader := shop.log.Reader(t)
	shop.log.Stop(t)
	for status.Log != nil { // until the reader notices
		status = newStatus(ctx, reader, database, nil)
	}
	status.LogFault = "not connected to the log" // the error depends on the moment of the stop
	requireStatus(t, "status_without_log", status)
}

func TestStatusFailsOnlyIfTheDatabaseCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 2, month(t)[:2]...)
	tables := func(ctx context.Context, work func(context.Context, *store.Store) error) error {
		return work(ctx, shop.database)
	}
	status, err := ReadStatus(ctx, shop.log, tables)
	require.NoError(t, err)
	require.Zero(t, status.Lag.Events)

	away := errors.New("the database does not answer")
	status, err = ReadStatus(ctx, shop.log, func(context.Context, func(context.Context, *store.Store) error) error { return away })
	require.ErrorIs(t, err, away)
	require.Equal(t, away.Error(), status.DatabaseFault)
	require.EqualValues(t, 2, status.Log.Head)

	_, err = shop.database.Pool().Exec(ctx, "drop schema portal cascade")
	require.NoError(t, err)
	status, err = ReadStatus(ctx, shop.log, tables)
	require.NoError(t, err, "there are no tables yet")
	require.Equal(t, store.ErrNotPrepared.Error(), status.DatabaseFault)
	require.Nil(t, status.Database)
}

func TestAMessageThatIsNotAppliedIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 2, month(t)[:3]...)
	info, err := shop.log.Info(ctx)
	require.NoError(t, err)
	_, err = readMessage(ctx, shop.database, 3, unbounded)
	require.ErrorIs(t, err, store.ErrUnknown)
	pending, err := findPending(ctx, shop.log, info.LogID, 3)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, pending.Write(&text, false))
	requireGolden(t, "pending.txt", text.Bytes())
	_, err = findPending(ctx, shop.log, info.LogID, 99)
	require.Equal(t, UnknownError{"the log has no message at seq 99: it ends at seq 3"}, err)
	_, err = findPending(ctx, shop.log, "another", 3)
	require.ErrorIs(t, err, identity.ErrLogLost)
	require.NotErrorIs(t, err, store.ErrUnknown)
	require.Contains(t, unknownEvent(ctx, shop.log, "e\x1b"), "no event sha256:")
	require.Contains(t, unknownEvent(ctx, shop.log, "evt_x"), "no event evt_x is in the tables; the log ends at seq 3")
}

func TestAnEventIsFoundByTheIDOfTheProviderAndOfTheTables(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	stored := events.PossibleIDs("evil \x1b[31m")[0]
	for _, id := range []string{"evil \x1b[31m", stored, "evt_pack"} {
		_, err := readEvent(ctx, shop.database, events.PossibleIDs(id), unbounded)
		require.NoError(t, err, id)
	}
	require.Len(t, events.PossibleIDs("sha256:00"), 1, "not an id as the tables have it")
}

func TestDuplicatesAreComparedWithTheRightLogOnly(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 6, month(t)[:6]...)
	rows, err := readEvent(ctx, shop.database, []string{"evt_pack"}, unbounded)
	require.NoError(t, err)
	rows.LogID = "another"
	var text bytes.Buffer
	require.NoError(t, newEvent(ctx, shop.log, rows).Write(&text, false))
	require.Contains(t, text.String(), "it arrived 2 more times")
	require.Contains(t, text.String(), identity.ErrLogLost.Error())
	require.NotContains(t, text.String(), "DIFFERENT")
}
