package endtoend

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A key without the right to read events is said, by the log and by a metric. When the right is there, ingest pulls by
// itself what was missed; so does the command, into the log of an external server.
func TestWhatWasMissedIsPulledIntoAnExternalLogOnceTheKeyMayReadIt(t *testing.T) {
	t.Parallel()
	nats := testenv.NewNATS(t)
	nats.CreateStream(t.Context(), t, 8)
	api := payapi.New(t, "stripe")
	var mayRead atomic.Bool
	api.Before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if !mayRead.Load() {
			http.Error(w, `{"error":{"message":"The provided key does not have the required permissions"}}`, http.StatusForbidden)
		}
		return !mayRead.Load()
	}
	missed := func(from, count int) {
		for i := range count {
			api.Add(paidAt(from+i, time.Now().Add(time.Duration(i-count)*time.Second)))
		}
	}
	missed(0, 3)

	w := &world{dir: t.TempDir(), database: testenv.Database(t), cluster: nats.URL}
	env := append(w.env(), "STRIPE_API_KEY="+payapi.Key, "STRIPE_API_URL="+api.URL)
	byHand := func() *testenv.Program { return testenv.Start(t, "ingest", env, "pull", "stripe") }
	refused := byHand()
	require.Equal(t, 1, refused.Exit(t), refused.Output())
	require.Contains(t, refused.Output(), "is answered 403")
	require.Contains(t, refused.Output(), "the key of STRIPE_API_KEY lacks the right Events")
	require.NotContains(t, refused.Output(), payapi.Key)

	ingest := testenv.Start(t, "ingest", append(env, "LISTEN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET="+secret, "PULL_INTERVAL=1s"))
	ingest.WaitFor(t, `msg="events of the provider could not be pulled; it is tried again"`)
	const refusedKey = "payfold_pull_key_refused{provider=\"stripe\"} "
	wait.Until(t, func() bool { return strings.Contains(scrape(t, ingest), refusedKey+"1\n") })
	require.NotContains(t, scrape(t, ingest), `payfold_pull_unfinished_since_timestamp_seconds{provider="stripe"} 0`)

	mayRead.Store(true)
	ingest.WaitFor(t, `msg="events of the provider are pulled again"`)
	require.Contains(t, scrape(t, ingest), refusedKey+"0\n")
	projector := w.startProjector(t)
	w.awaitProjected(t)
	require.EqualValues(t, 30, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"))
	stop(t, ingest)

	missed(3, 2)
	done := byHand()
	require.Zero(t, done.Exit(t), done.Output())
	require.Contains(t, done.Output(), "stripe: 5 seen, 2 appended, 3 already there, 0 refused; from ")
	w.awaitProjected(t)
	require.EqualValues(t, 50, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"))
	stop(t, projector)
}

// paidAt is a paid invoice of 10 credits.
func paidAt(number int, at time.Time) payapi.Event {
	id := fmt.Sprintf("evt_%d", number)
	return payapi.Event{ID: id, At: at, Body: fmt.Sprintf(`{"id":%q,"object":"event","type":"invoice.paid","created":%d,"livemode":true,
		"data":{"object":{"id":"in_%d","object":"invoice","status":"paid","amount_due":1200,"amount_paid":1200,"currency":"eur",
		"metadata":{"user_id":"u_1","kind":"one_time","credits":10}}}}`, id, at.Unix(), number)}
}
