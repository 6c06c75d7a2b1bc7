package store

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func pro(id, payment, user, gitHubUser string) string {
	return `{"id":"` + id + `","eventType":"checkout.completed","object":{"provider_payment_id":"` + payment +
		`","metadata":{"kind":"pro","user_id":"` + user + `","github_username":"` + gitHubUser + `"}}}`
}

func TestABatchThatChangesAPurchaseOfALicenceTellsTheInviter(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	listener, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	require.NoError(t, err)
	defer listener.Close(ctx)
	_, err = listener.Exec(ctx, "listen "+LicensesChanged)
	require.NoError(t, err)
	candidate, err := Open(ctx, Config{DSN: s.pool.Config().ConnString(), Schema: "portal_next", Owner: "test", LeaseTime: time.Second})
	require.NoError(t, err)
	defer candidate.Close()
	require.NoError(t, candidate.Prepare(ctx, "log-1", partitions, anyMode))
	apply := func(s *Store, seq uint64, body string) {
		_, err := s.Apply(ctx, anyMode, []events.Event{event(t, seq, body)}, Advance{LogID: "log-1", From: from(0, seq-1), To: seq, Digest: []byte("d")})
		require.NoError(t, err)
	}
	apply(candidate, 1, pro("e1", "p1", "u1", "octo"))
	apply(s, 1, pack("e1", "p1", "u1", 5))
	_, err = s.pool.Exec(ctx, "select pg_notify($1, 'a marker')", LicensesChanged)
	require.NoError(t, err)
	apply(s, 2, pro("e2", "p2", "u1", "octo"))
	apply(s, 3, pro("e3", "p3", "u1", "hubot"))
	apply(s, 4, `{"id":"e4","eventType":"refund.created","object":{"provider_payment_id":"p2"}}`) // the licence shows the other
	for _, want := range []string{"a marker", `["u1"]`, `["u1"]`, `["u1"]`} {
		heard, err := listener.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, want, heard.Payload, "neither a candidate's purchases nor a pack of credits")
	}
}
