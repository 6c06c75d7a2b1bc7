package browse

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// sold is a shop with payments and subscriptions of every kind.
var sold = append([]string{
	`{"id":"x1","eventType":"subscription.paid","object":{"id":"sub_a","last_transaction_id":"ta","current_period_end_date":"2021-04-01T00:00:00Z","metadata":{"credits":10,"user_id":"a"}}}`,
	`{"id":"x2","eventType":"subscription.paid","object":{"id":"sub_b","last_transaction_id":"tb","current_period_end_date":"2021-06-01T00:00:00Z","metadata":{"credits":10,"user_id":"b"}}}`,
	`{"id":"x3","eventType":"subscription.past_due","object":{"id":"sub_b"}}`,
}, shop...)

func allOf[R any](ctx context.Context, t *testing.T, s *store.Store, list *Rows[R], f RowFilter, limit int, id func(R) string) (ids []string) {
	t.Helper()
	for {
		page, err := list.Page(ctx, s, f, limit)
		require.NoError(t, err)
		for _, one := range page.Items {
			ids = append(ids, id(one))
		}
		if f.After = page.Next; f.After == "" {
			return ids
		}
	}
}

func payment(p PaymentItem) string           { return p.ID }
func subscription(s SubscriptionItem) string { return s.ID }
func customer(c CustomerItem) string         { return c.UserID }

func TestEveryFilterSelectsItsRows(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, sold...)
	for name, c := range map[string]struct {
		filter RowFilter
		want   []string
	}{
		"all":                {RowFilter{}, []string{"t11", "t8", "o7", "t4", "o1", "tb", "ta"}},
		"kind":               {RowFilter{Kind: "pro"}, []string{"t8"}},
		"refunded":           {RowFilter{Refunded: "yes"}, []string{"o1"}},
		"not refunded":       {RowFilter{Refunded: "no", Kind: "one_time"}, []string{"o7"}},
		"provider":           {RowFilter{Provider: "nobody"}, nil},
		"product":            {RowFilter{Product: "nothing"}, nil},
		"time that is later": {RowFilter{From: receivedAt(1000)}, nil},
		"time that is past":  {RowFilter{To: receivedAt(1000), Kind: "pro"}, []string{"t8"}},
	} {
		t.Run("payments: "+name, func(t *testing.T) {
			for _, limit := range []int{1, 2, 100} {
				require.Equal(t, c.want, allOf(ctx, t, s, Payments, c.filter, limit, payment))
			}
		})
	}
	for name, c := range map[string]struct {
		filter RowFilter
		want   []string
	}{
		"past due":         {RowFilter{Status: "past_due"}, []string{"sub_b"}},
		"period ends":      {RowFilter{EndsBefore: time.Date(2021, 5, 1, 0, 0, 0, 0, time.UTC)}, []string{"sub_a"}},
		"canceled":         {RowFilter{Status: "canceled"}, []string{"s1"}},
		"status, provider": {RowFilter{Status: "canceled", Provider: "nobody"}, nil},
		"changed":          {RowFilter{Status: "canceled", From: receivedAt(1000)}, nil},
		"kind":             {RowFilter{Kind: "pro"}, nil},
	} {
		t.Run("subscriptions: "+name, func(t *testing.T) {
			for _, limit := range []int{1, 100} {
				require.Equal(t, c.want, allOf(ctx, t, s, Subscriptions, c.filter, limit, subscription))
			}
		})
	}
	require.Equal(t, []string{"a", "b", "u1", "u2", "u3"}, allOf(ctx, t, s, Customers, RowFilter{}, 2, customer))
	require.Equal(t, []string{"b"}, allOf(ctx, t, s, Customers, RowFilter{Status: "past_due"}, 2, customer))
	require.Equal(t, []string{"a"}, allOf(ctx, t, s, Customers, RowFilter{EndsBefore: time.Date(2021, 5, 1, 0, 0, 0, 0, time.UTC)}, 2, customer))
	_, err := Payments.Page(ctx, s, RowFilter{After: "nowhere"}, 1)
	require.ErrorIs(t, err, ErrBadPlace)
}

func TestNewRowsDoNotMoveThePagesOfAList(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, packs(10)...)
	var seen []string
	seq, f := uint64(10), RowFilter{}
	for {
		page, err := Payments.Page(ctx, s, f, 3)
		require.NoError(t, err)
		for _, one := range page.Items {
			seen = append(seen, one.ID)
		}
		if f.After = page.Next; f.After == "" {
			break
		}
		seq++
		apply(ctx, t, s, seq-1, fixture.Pack(fmt.Sprint("new", seq), fmt.Sprint("new", seq), "u0", 1))
	}
	require.Equal(t, []string{"p10", "p9", "p8", "p7", "p6", "p5", "p4", "p3", "p2", "p1"}, seen)
}

// A filter that matches few of many rows ends a page early, and the next page goes on from there.
func TestAPageOfAListLooksAtABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, fixture.Pack("e1", "p1", "u1", 1))
	_, err := s.Pool().Exec(ctx, `insert into payment_facts (provider_payment_id, provider, kind, event_id, occurred_at, stream_seq, paid, known, lasts, reversed_seq)
		select 'x' || i, 'other', 'pro', 'x' || i, now(), i + 1, true, true, false, 0 from generate_series(1, $1::int) i`, window)
	require.NoError(t, err)
	page, err := Payments.Page(ctx, s, RowFilter{Kind: "one_time"}, 10)
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.Zero(t, page.Count)
	require.True(t, page.AtLeast)
	require.Equal(t, []string{"p1"}, allOf(ctx, t, s, Payments, RowFilter{Kind: "one_time"}, 10, payment))
	rows := 0
	require.NoError(t, Payments.Each(ctx, s, RowFilter{}, func(some []PaymentItem) error {
		require.LessOrEqual(t, len(some), batchRows)
		rows += len(some)
		return nil
	}))
	require.Equal(t, window+1, rows)
}
