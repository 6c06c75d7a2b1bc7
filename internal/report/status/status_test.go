package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/golden"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// readWithFixedTimes reads the status and replaces its times by fixed ones.
func readWithFixedTimes(ctx context.Context, t *testing.T, s fixture.Folded) Database {
	t.Helper()
	status, err := readWithCounts(ctx, s.Tables)
	require.NoError(t, err)
	status.At = fixture.Received.Add(time.Hour)
	status.Live.CreatedAt, status.Schemas[0].CreatedAt = fixture.Received, fixture.Received
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
	bodies := fixture.Month()
	ctx, shop := fixture.NewFolded(t, 20, bodies...)
	_, err := live.Members{Store: shop.Tables}.Heartbeat(ctx)
	require.NoError(t, err)
	_, err = live.Members{Store: shop.Tables}.TakeLeases(ctx, []int{0, 1, 2})
	require.NoError(t, err)
	_, err = shop.Tables.Pool().Exec(ctx, "insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 3, $1 from payfold.schema_state", "a value \x1b[2J is refused")
	require.NoError(t, err)

	database := readWithFixedTimes(ctx, t, shop)
	database.OutOfOrder = Counted[OutOfOrder]{Count: 11, Newest: []OutOfOrder{
		{StreamSeq: 4, EventID: "evt_pack", LaterSeq: 9, LaterEventID: "evt_refund_pending", Shared: "payment", NoticedAt: database.At},
	}}
	since := fixture.Received.Add(-time.Hour)
	database.Waiting = Waiting{
		Waiting: store.Waiting{Payments: 11, Since: &since, Seconds: 7200},
		Oldest:  []store.WaitingPayment{{ProviderPaymentID: "tran_7", Kind: "subscription", SubscriptionID: "sub_7", EventID: "evt_no_user", OccurredAt: since}},
	}
	replaced := database.Schemas[0]
	replaced.Name = store.PreviousSchema
	database.Schemas = append(database.Schemas, replaced)
	status := WithLog(ctx, shop.Log.Reader(t), database, nil)
	require.EqualValues(t, len(bodies)-20, status.Lag.Events)
	require.Equal(t, fixture.Received.Add(20*time.Minute), *status.Lag.Oldest)
	require.InDelta(t, 40*60, status.Lag.Seconds, 0.001)
	for i := range status.Partitions {
		require.NotNil(t, status.Partitions[i].Waiting)
	}
	requireStatus(t, "status", status)
}

// A projector that was killed is a member until another one evicts it.
func TestStatusSaysThatNoneRunsAfterTheLastProjectorWasKilled(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Month()[:2]...)
	said := func() string {
		status, err := readWithCounts(ctx, shop.Tables)
		require.NoError(t, err)
		require.Len(t, status.Members, 1)
		var text bytes.Buffer
		require.NoError(t, WithLog(ctx, shop.Log, status, nil).Write(&text, false))
		require.Contains(t, text.String(), shop.Tables.Owner())
		return text.String()
	}
	_, err := live.Members{Store: shop.Tables}.Heartbeat(ctx)
	require.NoError(t, err)
	_, err = live.Members{Store: shop.Tables}.TakeLeases(ctx, []int{0})
	require.NoError(t, err)
	require.NotContains(t, said(), "none works on the tables")
	_, err = shop.Tables.Pool().Exec(ctx, "update payfold.lease set expires_at = now() - interval '1 second'")
	require.NoError(t, err)
	require.Contains(t, said(), "none works on the tables, so no events are applied: start one")
}

// requireStatus compares text and JSON with golden files, without the random id of the log.
func requireStatus(t *testing.T, file string, status Status) {
	t.Helper()
	var text, object, indented bytes.Buffer
	require.NoError(t, status.Write(&text, false))
	require.NoError(t, status.Write(&object, true))
	require.True(t, json.Valid(object.Bytes()))
	id := "no log"
	if status.Log != nil {
		id = status.Log.LogID
	} else if status.Database != nil {
		id = status.Database.Live.LogID
	}
	require.NoError(t, json.Indent(&indented, object.Bytes(), "", "  "))
	golden.RequireText(t, filepath.Join("testdata", file+".txt"), []byte(strings.ReplaceAll(text.String(), id, "<log id>")))
	golden.RequireText(t, filepath.Join("testdata", file+".json"), []byte(strings.ReplaceAll(indented.String(), id, "<log id>")))
}

func TestStatusWorksWithoutLogOrDatabase(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Month()[:2]...)
	database := readWithFixedTimes(ctx, t, shop)

	status := WithLog(ctx, shop.Log, Database{}, errors.New("the database does not answer: \x1b[2J"))
	require.NotNil(t, status.Log)
	requireStatus(t, "status_without_database", status)

	foreign := database
	foreign.Live.LogID = "another"
	status = WithLog(ctx, shop.Log, foreign, nil)
	require.Equal(t, identity.ErrLogLost.Error(), status.LogFault)
	require.Nil(t, status.Lag)

	longer := database
	longer.Partitions = []Partition{{Number: 0, Position: 3}}
	status = WithLog(ctx, shop.Log, longer, nil)
	require.Contains(t, status.LogFault, "has lost messages")
	require.Nil(t, status.Lag)

	database.Partitions[3].Position = 1
	reader := shop.Log.Reader(t)
	shop.Log.Stop(t)
	for status.Log != nil { // until the reader notices
		status = WithLog(ctx, reader, database, nil)
	}
	status.LogFault = "not connected to the log" // the error depends on the moment of the stop
	requireStatus(t, "status_without_log", status)
}

func TestStatusFailsOnlyIfTheDatabaseCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Month()[:2]...)
	tables := func(ctx context.Context, work func(context.Context, *store.Store) error) error {
		return work(ctx, shop.Tables)
	}
	status, err := Read(ctx, shop.Log, tables)
	require.NoError(t, err)
	require.Zero(t, status.Lag.Events)

	away := errors.New("the database does not answer")
	status, err = Read(ctx, shop.Log, func(context.Context, func(context.Context, *store.Store) error) error { return away })
	require.ErrorIs(t, err, away)
	require.Equal(t, away.Error(), status.DatabaseFault)
	require.EqualValues(t, 2, status.Log.Head)

	_, err = shop.Tables.Pool().Exec(ctx, "drop schema portal cascade")
	require.NoError(t, err)
	status, err = Read(ctx, shop.Log, tables)
	require.NoError(t, err, "there are no tables yet")
	require.Equal(t, store.ErrNotPrepared.Error(), status.DatabaseFault)
	require.Nil(t, status.Database)
}
