package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// e4 names another subscription than its payment t1 has. It says that t2 of that subscription grants again, and writes the
// line. When t1 gets its user, its grant is written under e4, too, but the lines of t2 are not loaded.
func TestAGrantThatWaitedDoesNotCollideWithALineOfAnotherPayment(t *testing.T) {
	t.Parallel()
	requireOneByOne(t,
		`{"id":"e1","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.update","object":{"id":"s1","metadata":{"kind":"pro"}}}`,
		`{"id":"e3","eventType":"subscription.active","object":{"id":"s2","last_transaction_id":"t1"}}`,
		`{"id":"e4","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t1","metadata":{"kind":"subscription","credits":10}}}`,
		`{"id":"e5","eventType":"subscription.active","object":{"id":"s2","metadata":{"user_id":"u2"}}}`,
	)
}

// The claim e3 of o1 also granted the credits of t2 again. Then e5 shows that t1 and o1 are one payment, of more credits.
func TestMoreCreditsOfOnePaymentDoNotCollideWithALineOfAnother(t *testing.T) {
	t.Parallel()
	requireOneByOne(t,
		`{"id":"e1","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.update","object":{"id":"s1","metadata":{"kind":"pro"}}}`,
		`{"id":"e3","eventType":"subscription.paid","object":{"id":"s1","order":"o1","metadata":{"kind":"subscription","user_id":"u1","credits":10}}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"subscription","credits":20}}}`,
		`{"id":"e5","eventType":"subscription.active","object":{"id":"s1","last_transaction":{"id":"t1","order":"o1"}}}`,
	)
}

// requireOneByOne requires that transactions of one event each give the tables of one fold.
func requireOneByOne(t *testing.T, bodies ...string) {
	t.Helper()
	ctx, s := fixture.Tables(t)
	log, whole := fixture.OneFold(t, fixture.AnyMode, bodies)
	for i, e := range log {
		_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{e}, store.Advance{LogID: "log-1", From: fixture.From(0, uint64(i)), To: e.Seq})
		require.NoError(t, err, e.ID)
	}
	fixture.RequireTablesOf(ctx, t, s, whole)
	fixture.RequireSound(ctx, t, s, len(log))
}
