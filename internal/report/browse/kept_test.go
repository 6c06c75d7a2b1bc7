package browse

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// grow makes the revenue older.
func (m *Measures) grow(age time.Duration) {
	m.revenue.mu.Lock()
	defer m.revenue.mu.Unlock()
	for schema, known := range m.revenue.known {
		known.ended = known.ended.Add(-age)
		m.revenue.known[schema] = known
	}
}

// lockPayments keeps readers of the payments waiting until it is called back.
func lockPayments(ctx context.Context, t *testing.T, s *store.Store) (unlock func()) {
	t.Helper()
	tx, err := s.Pool().Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "lock table payment_facts")
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(ctx)) }
}

func TestAPageShowsTheOldValueWhileANewOneTakesLong(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	late := make(chan struct{}, 1)
	measures := running(ctx, t)
	measures.background.late = func() { late <- struct{}{} }
	first, err := measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.Empty(t, first.Fault)

	measures.grow(keptAge)
	unlock := lockPayments(ctx, t, s)
	again, err := measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.Equal(t, first, again, "it names its own moment")
	unlock()
	<-late
	again, err = measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.True(t, again.At.After(first.At))
}

func TestAPageSaysThatAFirstValueIsBeingCalculated(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	defer lockPayments(ctx, t, s)()
	measures := running(ctx, t)
	measures.background.firstPatience = 0
	got, err := measures.All(ctx, s, time.Time{}, time.Time{}, Month)
	require.NoError(t, err)
	require.Equal(t, computing, got.Revenue.Fault)
	require.Nil(t, got.Revenue.Items)
	require.Equal(t, computing, got.Credits.Fault, "one after the other")
	require.Len(t, got.Span.Periods(), 12)
}

func TestAComputationGivesWayToAPromotion(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	measures := running(ctx, t)
	first, err := measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	measures.grow(keptAge)
	unlock := lockPayments(ctx, t, s)
	started := measures.revenue.start(s)
	require.NoError(t, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		require.NoError(t, store.AskReadersToEnd(ctx, tx))
		select {
		case <-started.ended:
		case <-time.After(wait.Timeout):
			require.Fail(t, "it does not give way")
		}
		return nil
	}))
	unlock()
	measures.grow(-keptAge)
	again, err := measures.RevenueOfLastDays(ctx, s, 10_000)
	require.NoError(t, err)
	require.Equal(t, first.At, again.At, "the value before stays")
}
