package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAPaymentThatWaitsForItsUserIsCountedWithItsAge(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{
		fixture.Event(t, 1, `{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-02T00:00:00Z","object":{"id":"s1","last_transaction_id":"t1","credits":9}}`),
		fixture.Event(t, 2, `{"id":"e2","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s2","last_transaction_id":"t2","credits":9}}`),
		fixture.Event(t, 3, `{"id":"e3","eventType":"refund.created","created_at":"2025-01-01T00:00:00Z","object":{"transaction":"t3"}}`),
		fixture.Event(t, 4, fixture.Pack("e4", "p4", "u4", 1)),
		fixture.Event(t, 5, `{"id":"e5","eventType":"subscription.paid","created_at":"2025-01-01T00:00:00Z","object":{"id":"s3","last_transaction_id":"t4","credits":9}}`),
		fixture.Event(t, 6, `{"id":"e6","eventType":"refund.created","created_at":"2025-01-02T00:00:00Z","object":{"transaction":"t4"}}`),
	}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 6})
	require.NoError(t, err)
	var waits store.Waiting
	var list []store.WaitingPayment
	var now time.Time
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if waits, list, err = store.WaitingPayments(ctx, tx, 10); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select now()").Scan(&now)
	}))
	oldest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.EqualValues(t, 2, waits.Payments, "a refund without its payment is none, nor is a payment of which nothing is left")
	require.Equal(t, oldest, waits.Since.UTC())
	require.InDelta(t, now.Sub(oldest).Seconds(), waits.Seconds, 0.001)
	require.Equal(t, []store.WaitingPayment{
		{"t2", "subscription", "s2", "e2", oldest}, {"t1", "subscription", "s1", "e1", oldest.AddDate(0, 0, 1)},
	}, list)
	waiting, err := s.Waiting(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, waiting.Payments)

	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{
		fixture.Event(t, 7, `{"id":"e7","eventType":"subscription.active","object":{"id":"s1","metadata":{"user_id":"u1"}}}`),
		fixture.Event(t, 8, `{"id":"e8","eventType":"subscription.active","object":{"id":"s2","metadata":{"user_id":"u2"}}}`),
	}, store.Advance{LogID: "log-1", From: fixture.From(0, 6), To: 8})
	require.NoError(t, err)
	waiting, err = s.Waiting(ctx)
	require.NoError(t, err)
	require.Equal(t, store.Waiting{}, waiting)
}
