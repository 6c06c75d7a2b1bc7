package explain

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func ids(list []WithWhy) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.EventID)
	}
	return out
}

func TestAnEventShowsAllOfItsPayment(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		fixture.Pack("e3", "other", "u1", 7),
		`{"id":"e4","eventType":"refund.created","object":{"refund_amount":25,"transaction":{"id":"t1","amount_paid":100}}}`,
		`{"id":"e5","eventType":"refund.created","object":{"refund_amount":9,"status":"pending","transaction":{"id":"t1"}}}`,
		fixture.Pack("e1", "x", "u9", 7), fixture.Pack("e1", "x", "u9", 7),
		fixture.Pack("e8", "t1", "thief", 7),
	)
	rows, err := viewEvent(ctx, shop.Tables, withID, []string{"no such", "e2"}, 100)
	require.NoError(t, err)
	require.Equal(t, "duplicate_payment", rows.Event.Outcome)
	require.Equal(t, "o1", rows.Payment.ProviderPaymentID)
	require.Equal(t, []string{"e1", "e4", "e5", "e8"}, ids(rows.Others.Items))
	require.Len(t, rows.Ledger.Items, 2)
	require.EqualValues(t, 75, rows.Ledger.Sum)
	require.Zero(t, rows.Ledger.EarlierSum)
	require.Len(t, rows.Reversals.Items, 2, "also the pending one, which has another id of the payment")
	require.EqualValues(t, 82, rows.Credits.Balance)
	require.Equal(t, "The same payment again: e1 (seq 1) told of it before, so this event grants nothing. What this event says of the payment counts, too.", rows.Event.Why)
	require.Contains(t, rows.Others.Items[0].Why, "It granted 100 credits.")
	require.Contains(t, rows.Others.Items[1].Why, "It took back 25 credits.")
	require.Equal(t, shop.LogID, rows.LogID)
	require.Empty(t, rows.Duplicates.Items)

	for _, seq := range []int64{1, 6, 7} {
		rows, err = viewEvent(ctx, shop.Tables, withMessage, seq, 1)
		require.NoError(t, err)
		require.Equal(t, "e1", rows.Event.EventID)
		require.Equal(t, Part[Duplicate]{Items: []Duplicate{{Seq: 7}}, Earlier: 1}, rows.Duplicates)
		require.Equal(t, []string{"e8"}, ids(rows.Others.Items))
		require.EqualValues(t, 3, rows.Others.Earlier)
		require.EqualValues(t, 100, rows.Ledger.EarlierSum)
		require.EqualValues(t, 1, rows.Reversals.Earlier)
		require.Equal(t, "e5", rows.Reversals.Items[0].EventID)
	}
	_, err = ReadMessage(ctx, shop.Log, shop.Tables, 9, 1)
	require.Equal(t, UnknownError{"the log has no message at seq 9: it ends at seq 8"}, err)
	_, err = ReadEvent(ctx, shop.Log, shop.Tables, "e9", 1)
	require.ErrorAs(t, err, new(UnknownError))
}

func TestARejectedEventWithAnotherIDOfThePaymentBelongsToIt(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":1}}}`,
	)
	for event, other := range map[string]string{"e1": "e2", "e2": "e1"} {
		rows, err := ReadEvent(ctx, shop.Log, shop.Tables, event, 10)
		require.NoError(t, err)
		require.Equal(t, "o1", rows.Payment.ProviderPaymentID)
		require.Equal(t, []string{other}, ids(rows.Others.Items))
	}
}

func TestAUserShowsEventsFromBeforeTheUserWasKnown(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"refund.created","object":{"refund_amount":50,"transaction":{"id":"t1","amount_paid":100}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t1","metadata":{"credits":10}}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"order":"o1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"gift","user_id":"other"}}}`,
		`{"id":"e5","eventType":"subscription.paid","object":{"id":"s9","last_transaction_id":"t9","metadata":{"credits":10}}}`,
	)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, 100)
	require.NoError(t, err)
	require.Equal(t, []string{"e1", "e2", "e3", "e4"}, ids(rows.Events.Items))
	require.Len(t, rows.Payments.Items, 1)
	require.Equal(t, "t1", rows.Payments.Items[0].ProviderPaymentID)
	require.EqualValues(t, 5, rows.Grants.Sum)
	require.Equal(t, &Spendable{Now: 5}, rows.SubscriptionCredits)
	require.Nil(t, rows.Credits)
	require.Equal(t, "active", rows.Shown.Status)
	require.Len(t, rows.Subscriptions.Items, 1)

	other, err := ReadUser(ctx, shop.Tables, "other", Place{}, 100)
	require.NoError(t, err, "a user that only a rejected event names is known")
	require.Equal(t, []string{"e4"}, ids(other.Events.Items))
	require.Empty(t, other.Payments.Items)
	_, err = ReadUser(ctx, shop.Tables, "nobody", Place{}, 100)
	require.Equal(t, UnknownError{"no event and no table names user nobody"}, err)
}

func TestALongListIsBoundedAndItsSumsStillHold(t *testing.T) {
	t.Parallel()
	var bodies []string
	for i := range 25 {
		bodies = append(bodies, fixture.Pack(fmt.Sprintf("e%d", i+1), fmt.Sprintf("p%d", i+1), "u1", i+1))
	}
	ctx, shop := fixture.NewFolded(t, unbounded, bodies...)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, 10)
	require.NoError(t, err)
	require.Len(t, rows.Packs.Items, 10)
	require.EqualValues(t, 16, rows.Packs.Items[0].StreamSeq, "the newest, in the order of the log")
	require.EqualValues(t, 15, rows.Packs.Earlier)
	require.EqualValues(t, 15*16/2, rows.Packs.EarlierSum)
	require.EqualValues(t, 25*26/2, rows.Packs.Sum)
	require.EqualValues(t, rows.Credits.Balance, rows.Packs.Sum)
	require.Equal(t, "e16", rows.Events.Items[0].EventID)
	require.EqualValues(t, 15, rows.Events.Earlier)
	require.Len(t, rows.Payments.Items, 10)
	require.True(t, rows.Payments.More)
	require.Equal(t, "It says that payment p25 of user u1 arrived. It granted 25 credits.", rows.Events.Items[9].Why)
}

func TestSpendableCreditsEqualTheView(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded, fixture.Pack("e1", "p1", "u1", 1000))
	_, err := shop.Tables.Pool().Exec(ctx, `
		insert into credit_ledger (event_id, line, user_id, kind, entry, delta, provider_payment_id, reverses_line, available_at, expires_at, occurred_at, stream_seq)
		values ('e2', 1, 'u1', 'subscription', 'grant', 1, 'p2', null, '2000-01-01', null, '2000-01-01', 2),
		       ('e2', 2, 'u1', 'subscription', 'grant', 20, 'p2', null, '2000-01-01', '2001-01-01', '2000-01-01', 2),
		       ('e2', 3, 'u1', 'subscription', 'grant', 300, 'p2', null, '2200-01-01', '2201-01-01', '2000-01-01', 2),
		       ('e3', 4, 'u1', 'subscription', 'refund', -100, 'p2', 3, '2200-01-01', '2201-01-01', '2000-01-01', 3)`)
	require.NoError(t, err)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, 100)
	require.NoError(t, err)
	require.Equal(t, &Spendable{Now: 1, Later: 200, Expired: 20}, rows.SubscriptionCredits)
	require.EqualValues(t, 221, rows.Grants.Sum)
	var inView int64
	require.NoError(t, shop.Tables.Pool().QueryRow(ctx, "select balance from credit_balance where user_id = 'u1'").Scan(&inView))
	require.Equal(t, inView, rows.Packs.Sum+rows.SubscriptionCredits.Now)
}

func TestListsOfAUserWithManyRowsAreBounded(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	manyRows(ctx, t, shop.Tables, 10_000)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, 1000)
	require.NoError(t, err)
	require.Len(t, rows.Packs.Items, 1000)
	require.EqualValues(t, 9000, rows.Packs.EarlierSum)
	require.EqualValues(t, 9000, rows.Events.Earlier)
	require.Len(t, rows.Payments.Items, 1000)
	one, err := ReadEvent(ctx, shop.Log, shop.Tables, "e5", 1000)
	require.NoError(t, err)
	require.Len(t, one.Ledger.Items, 1)
}

// manyRows gives u1 so many payments of one credit.
func manyRows(ctx context.Context, t *testing.T, database *store.Store, count int) {
	t.Helper()
	for _, sql := range []string{
		`insert into processed_event (event_id, stream_seq, provider, event_type, action, kind, user_id, provider_payment_id, outcome, occurred_at, received_at)
		 select 'e' || i, i, 'provider', 'checkout.completed', 'payment', 'one_time', 'u1', 'p' || i, 'applied', '2021-01-01', '2021-01-01' from generate_series(1, $1::int) i`,
		`insert into payment_facts (provider_payment_id, provider, transaction_id, user_id, kind, credits, event_id, occurred_at, stream_seq, paid, known, lasts, reversed_seq)
		 select 'p' || i, 'provider', 'p' || i, 'u1', 'one_time', 1, 'e' || i, '2021-01-01', i, true, true, false, 0 from generate_series(1, $1::int) i`,
		`insert into credit_ledger (event_id, line, user_id, kind, entry, delta, provider_payment_id, available_at, occurred_at, stream_seq)
		 select 'e' || i, 1, 'u1', 'one_time', 'grant', 1, 'p' || i, '2021-01-01', '2021-01-01', i from generate_series(1, $1::int) i`,
		"insert into credits values ('u1', $1::int, $1::int, 0, $1::int)",
	} {
		_, err := database.Pool().Exec(ctx, sql, count)
		require.NoError(t, err)
	}
}

func TestASubscriptionOfAnotherKindSaysWhyItIsNotShown(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, unbounded)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, rows.Write(&text, false))
	require.Regexp(t, `Shown to its user: no: it is of kind pro\.\n`, text.String())
}
