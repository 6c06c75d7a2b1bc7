package report

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// folded is tables with these bodies as their log, from seq 1 on.
func folded(t *testing.T, bodies ...string) (context.Context, *store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, store.Config{DSN: testenv.Database(t), Owner: "test", LeaseTime: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Prepare(ctx, "log-1", 4, anyMode))
	if len(bodies) > 0 {
		apply(ctx, t, s, 0, 1, bodies...)
	}
	return ctx, s
}

// apply folds bodies into the tables, which have nothing of that partition yet; first is
// the sequence of the first of them.
func apply(ctx context.Context, t *testing.T, s *store.Store, partition int, first uint64, bodies ...string) {
	t.Helper()
	var batch []events.Event
	for i, body := range bodies {
		batch = append(batch, events.Decode(events.Message{Seq: first + uint64(i), Body: []byte(body), ReceivedAt: time.Unix(1767348000, 0)}))
	}
	to := first + uint64(len(bodies)) - 1
	_, err := s.Apply(ctx, anyMode, batch, store.Advance{LogID: "log-1", From: map[int]uint64{partition: 0}, To: to})
	require.NoError(t, err)
}

func pack(id, payment, user string, credits int) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":%q,
		"metadata":{"kind":"one_time","user_id":%q,"credits":%d}}}`, id, payment, user, credits)
}

func ids(list []projections.ProcessedEvent) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.EventID)
	}
	return out
}

func TestAnEventsStoryHasAllThatItsPaymentIs(t *testing.T) {
	t.Parallel()
	ctx, s := folded(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		pack("e3", "other", "u1", 7),
		`{"id":"e4","eventType":"refund.created","object":{"refund_amount":25,"transaction":{"id":"t1","amount_paid":100}}}`,
		`{"id":"e5","eventType":"refund.created","object":{"refund_amount":9,"status":"pending","transaction":{"id":"t1"}}}`,
		pack("e1", "x", "u9", 7), pack("e1", "x", "u9", 7),
		pack("e8", "t1", "thief", 7),
	)
	story, err := readEvent(ctx, s, []string{"no such", "e2"}, 100)
	require.NoError(t, err)
	require.Equal(t, "duplicate_payment", story.Event.Outcome)
	require.Equal(t, "o1", story.Payment.ProviderPaymentID)
	require.Equal(t, []string{"e1", "e4", "e5", "e8"}, ids(story.Others.Items))
	require.Len(t, story.Ledger.Items, 2)
	require.EqualValues(t, 75, story.Ledger.Sum)
	require.Zero(t, story.Ledger.EarlierSum)
	require.Len(t, story.Reversals.Items, 2, "also the pending one, which has the payment's other name")
	require.EqualValues(t, 82, story.Credits.Balance)
	require.Equal(t, "e1", story.Payments["t1"].EventID)
	require.EqualValues(t, 100, story.Wrote["e1"])
	require.EqualValues(t, -25, story.Wrote["e4"])
	require.Equal(t, "log-1", story.LogID)
	require.Empty(t, story.Copies.Items)

	for _, seq := range []uint64{1, 6, 7} {
		story, err = readMessage(ctx, s, seq, 1)
		require.NoError(t, err)
		require.Equal(t, "e1", story.Event.EventID)
		require.Equal(t, Part[int64]{Items: []int64{7}, Earlier: 1}, story.Copies)
		require.Equal(t, []string{"e8"}, ids(story.Others.Items))
		require.EqualValues(t, 3, story.Others.Earlier)
		require.EqualValues(t, 100, story.Ledger.EarlierSum)
		require.EqualValues(t, 1, story.Reversals.Earlier)
		require.Equal(t, "e5", story.Reversals.Items[0].EventID)
	}
	_, err = readMessage(ctx, s, 9, 1)
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = readEvent(ctx, s, []string{"e9"}, 1)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func TestAnEventRejectedUnderThePaymentsOtherNameIsOfIt(t *testing.T) {
	t.Parallel()
	ctx, s := folded(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":1}}}`,
	)
	for event, other := range map[string]string{"e1": "e2", "e2": "e1"} {
		story, err := readEvent(ctx, s, []string{event}, 10)
		require.NoError(t, err)
		require.Equal(t, "o1", story.Payment.ProviderPaymentID)
		require.Equal(t, []string{other}, ids(story.Others.Items))
	}
}

func TestAUsersStoryHasWhatCameBeforeTheUserWasKnown(t *testing.T) {
	t.Parallel()
	ctx, s := folded(t,
		`{"id":"e1","eventType":"refund.created","object":{"refund_amount":50,"transaction":{"id":"t1","amount_paid":100}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t1","metadata":{"credits":10}}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"order":"o1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		pack("e4", "t1", "thief", 7),
		`{"id":"e5","eventType":"subscription.paid","object":{"id":"s9","last_transaction_id":"t9","metadata":{"credits":10}}}`,
	)
	story, err := readUser(ctx, s, "u1", 100)
	require.NoError(t, err)
	require.Equal(t, []string{"e1", "e2", "e3", "e4"}, ids(story.Events.Items))
	require.Len(t, story.Payments.Items, 1)
	require.Equal(t, "t1", story.Payments.Items[0].ProviderPaymentID)
	require.EqualValues(t, 5, story.Grants.Sum)
	require.Equal(t, Spendable{Now: 5}, story.Subscription)
	require.Nil(t, story.Credits)
	require.Equal(t, "active", story.Shown.Status)
	require.Len(t, story.Subscriptions.Items, 1)

	thief, err := readUser(ctx, s, "thief", 100)
	require.NoError(t, err, "whoever an event names is known, though it was rejected")
	require.Equal(t, []string{"e4"}, ids(thief.Events.Items))
	require.Empty(t, thief.Payments.Items)
	_, err = readUser(ctx, s, "nobody", 100)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func TestALongStoryIsBoundedAndStillAddsUp(t *testing.T) {
	t.Parallel()
	var bodies []string
	for i := range 25 {
		bodies = append(bodies, pack(fmt.Sprintf("e%d", i+1), fmt.Sprintf("p%d", i+1), "u1", i+1))
	}
	ctx, s := folded(t, bodies...)
	story, err := readUser(ctx, s, "u1", 10)
	require.NoError(t, err)
	require.Len(t, story.Packs.Items, 10)
	require.EqualValues(t, 16, story.Packs.Items[0].StreamSeq, "the newest, in the order of the log")
	require.EqualValues(t, 15, story.Packs.Earlier)
	require.EqualValues(t, 15*16/2, story.Packs.EarlierSum)
	require.EqualValues(t, 25*26/2, story.Packs.Sum)
	require.EqualValues(t, story.Credits.Balance, story.Packs.Sum)
	require.Equal(t, "e16", story.Events.Items[0].EventID)
	require.EqualValues(t, 15, story.Events.Earlier)
	require.EqualValues(t, 15, story.Payments.Earlier)
	require.Len(t, story.Wrote, 10)
}

func TestWhatCanBeSpentNowIsWhatTheViewSays(t *testing.T) {
	t.Parallel()
	ctx, s := folded(t, pack("e1", "p1", "u1", 1000))
	_, err := s.Pool().Exec(ctx, `
		insert into credit_ledger (event_id, line, user_id, kind, entry, delta, provider_payment_id, reverses_event_id, reverses_line, available_at, expires_at, occurred_at, stream_seq)
		values ('e2', 1, 'u1', 'subscription', 'grant', 1, 'p2', null, null, '2000-01-01', null, '2000-01-01', 2),
		       ('e2', 2, 'u1', 'subscription', 'grant', 20, 'p2', null, null, '2000-01-01', '2001-01-01', '2000-01-01', 2),
		       ('e2', 3, 'u1', 'subscription', 'grant', 300, 'p2', null, null, '2200-01-01', '2201-01-01', '2000-01-01', 2),
		       ('e3', 1, 'u1', 'subscription', 'refund', -100, 'p2', 'e2', 3, '2200-01-01', '2201-01-01', '2000-01-01', 3)`)
	require.NoError(t, err)
	story, err := readUser(ctx, s, "u1", 100)
	require.NoError(t, err)
	require.Equal(t, Spendable{Now: 1, Later: 200, Expired: 20}, story.Subscription)
	require.EqualValues(t, 221, story.Grants.Sum)
	var inView int64
	require.NoError(t, s.Pool().QueryRow(ctx, "select balance from credit_balance where user_id = 'u1'").Scan(&inView))
	require.Equal(t, inView, story.Packs.Sum+story.Subscription.Now)
}

func TestAUserOfManyLinesIsToldWithinBounds(t *testing.T) {
	t.Parallel()
	ctx, s := folded(t)
	for _, sql := range []string{
		`insert into processed_event (event_id, stream_seq, event_type, kind, user_id, provider_payment_id, outcome, occurred_at, received_at)
		 select 'e' || i, i, 'checkout.completed', 'one_time', 'u1', 'p' || i, 'applied', '2021-01-01', '2021-01-01' from generate_series(1, 10000) i`,
		`insert into payment (provider_payment_id, user_id, kind, credits, event_id, occurred_at, stream_seq, first_of_order)
		 select 'p' || i, 'u1', 'one_time', 1, 'e' || i, '2021-01-01', i, false from generate_series(1, 10000) i`,
		`insert into credit_ledger (event_id, line, user_id, kind, entry, delta, provider_payment_id, available_at, occurred_at, stream_seq)
		 select 'e' || i, 1, 'u1', 'one_time', 'grant', 1, 'p' || i, '2021-01-01', '2021-01-01', i from generate_series(1, 10000) i`,
		"insert into credits values ('u1', 10000, 10000, 0, 10000)",
	} {
		_, err := s.Pool().Exec(ctx, sql)
		require.NoError(t, err)
	}
	story, err := readUser(ctx, s, "u1", 1000)
	require.NoError(t, err)
	require.Len(t, story.Packs.Items, 1000)
	require.EqualValues(t, 9000, story.Packs.EarlierSum)
	require.EqualValues(t, 9000, story.Events.Earlier)
	require.EqualValues(t, 9000, story.Payments.Earlier)
	one, err := readEvent(ctx, s, []string{"e5"}, 1000)
	require.NoError(t, err)
	require.Len(t, one.Ledger.Items, 1)
}
