package live_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// heard returns the payload of the next notification of a channel.
func heard(ctx context.Context, t *testing.T, listener *pgx.Conn) string {
	t.Helper()
	notification, err := listener.WaitForNotification(ctx)
	require.NoError(t, err)
	return notification.Payload
}

func TestABatchNotifiesAppsOfTheUsersThatItChanges(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	listener := fixture.Connect(ctx, t, s)
	_, err := listener.Exec(ctx, "listen payfold_changed")
	require.NoError(t, err)
	seq := uint64(0)
	apply := func(s *store.Store, bodies ...string) {
		from := fixture.From(0, seq)
		var batch []events.Event
		for _, body := range bodies {
			seq++
			batch = append(batch, fixture.Event(t, seq, body))
		}
		_, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: from, To: seq})
		require.NoError(t, err)
	}
	about := func(eventType, id, user string) string {
		return fmt.Sprintf(`{"id":%q,"eventType":%q,"created_at":%d,"object":{"id":"s1","object":"subscription",
			"metadata":{"user_id":%q}}}`, id, eventType, 1767340000000+seq*1000, user)
	}
	apply(s, fixture.Pack("e1", "p1", "u_2", 5), fixture.Pack("e2", "p2", "u_1", 5))
	require.Equal(t, `{"users":["u_1","u_2"]}`, heard(ctx, t, listener))
	apply(s, fixture.Pack("e1", "p1", "u_2", 5), `{"id":"e3","eventType":"customer.created","object":{}}`) // change nobody
	apply(s, about("subscription.active", "e4", "u_3"))
	require.Equal(t, `{"users":["u_3"]}`, heard(ctx, t, listener))
	apply(s, about("subscription.past_due", "e5", "u_3"))
	require.Equal(t, `{"users":["u_3"]}`, heard(ctx, t, listener))
	apply(s, fixture.Pro("e6", "p6", "u_4", "octo"))
	require.Equal(t, `{"users":["u_4"]}`, heard(ctx, t, listener))
	apply(s, `{"id":"e7","eventType":"refund.created","object":{"provider_payment_id":"p1"}}`)
	require.Equal(t, `{"users":["u_2"]}`, heard(ctx, t, listener))
	var many []string
	for i := range 40 {
		id := fmt.Sprint("many_", i)
		many = append(many, fixture.Pack(id, id, fmt.Sprint(strings.Repeat("é", 120), i), 1))
	}
	apply(s, many...)
	require.Equal(t, `{"all":true}`, heard(ctx, t, listener))
}

// A candidate is filled without a notification.
func TestACandidateNotifiesNobody(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	listener := fixture.Connect(ctx, t, s)
	_, err := listener.Exec(ctx, "listen payfold_changed")
	require.NoError(t, err)
	fixture.Candidate(ctx, t, s, 3)
	_, err = s.Pool().Exec(ctx, "select pg_notify('payfold_changed', 'a marker')")
	require.NoError(t, err)
	require.Equal(t, "a marker", heard(ctx, t, listener))
}
