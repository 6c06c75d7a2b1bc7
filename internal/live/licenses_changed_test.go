package live_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestABatchThatChangesAPurchaseOfALicenceNotifiesTheInviter(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	listener, err := pgx.ConnectConfig(ctx, s.Pool().Config().ConnConfig)
	require.NoError(t, err)
	defer listener.Close(ctx)
	_, err = listener.Exec(ctx, "listen "+store.LicensesChanged)
	require.NoError(t, err)
	candidate, err := store.Open(ctx, store.Config{DSN: s.Pool().Config().ConnString(), Schema: "portal_next", Owner: "test", LeaseTime: time.Minute, ConnectTimeout: wait.Timeout})
	require.NoError(t, err)
	defer candidate.Close()
	require.NoError(t, candidate.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	apply := func(s *store.Store, seq uint64, body string) {
		_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, seq, body)}, store.Advance{LogID: "log-1", From: fixture.From(0, seq-1), To: seq, Digest: []byte("d")})
		require.NoError(t, err)
	}
	apply(candidate, 1, fixture.Pro("e1", "p1", "u1", "octo"))
	apply(s, 1, fixture.Pack("e1", "p1", "u1", 5))
	_, err = s.Pool().Exec(ctx, "select pg_notify($1, 'a marker')", store.LicensesChanged)
	require.NoError(t, err)
	apply(s, 2, fixture.Pro("e2", "p2", "u1", "octo"))
	apply(s, 3, fixture.Pro("e3", "p3", "u1", "hubot"))
	apply(s, 4, `{"id":"e4","eventType":"refund.created","object":{"provider_payment_id":"p2"}}`) // the licence shows the other
	for _, want := range []string{"a marker", `{"users":["u1"]}`, `{"users":["u1"]}`, `{"users":["u1"]}`} {
		heard, err := listener.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, want, heard.Payload, "neither a candidate's purchases nor a pack of credits")
	}
}
