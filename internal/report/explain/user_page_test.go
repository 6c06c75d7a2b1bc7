package explain

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// history is what somebody saw who went through all pages of a user's history.
type history struct {
	events, payments, lines []string
	pages                   int
}

// goThrough reads all pages, from the newest to the oldest. Each ledger line has its balance.
func goThrough(ctx context.Context, t *testing.T, database *store.Store, user string, limit int) (all history) {
	t.Helper()
	for before := int64(0); ; {
		rows, err := ReadUser(ctx, database, user, Place{Before: before}, limit)
		require.NoError(t, err)
		all.pages++
		for _, ledger := range []Lines{rows.Packs, rows.Grants} {
			sum := ledger.EarlierSum
			for _, line := range ledger.Items {
				sum += line.Delta
				all.lines = append(all.lines, fmt.Sprint(line.EventID, line.Line, line.Kind, sum, ledger.NotSummed))
			}
		}
		for _, e := range rows.Events.Items {
			all.events = append(all.events, e.EventID)
		}
		for _, p := range rows.Payments.Items {
			all.payments = append(all.payments, p.ProviderPaymentID)
		}
		if rows.Next == nil {
			require.Zero(t, rows.Events.Earlier+rows.Packs.EarlierSum+rows.Grants.EarlierSum)
			slices.Sort(all.events)
			slices.Sort(all.payments)
			slices.Sort(all.lines)
			return all
		}
		before = *rows.Next
	}
}

func TestThePagesOfAHistoryHaveEverythingOnce(t *testing.T) {
	t.Parallel()
	bodies := append(fixture.Month(),
		`{"id":"f1","eventType":"refund.created","object":{"refund_amount":50,"transaction":{"id":"f_t1","amount_paid":100}}}`,
		`{"id":"f2","eventType":"subscription.paid","object":{"id":"f_s1","last_transaction_id":"f_t1","metadata":{"credits":10}}}`,
		fixture.Pack("f3", "f_other", "u_anna", 7),
		`{"id":"f4","eventType":"checkout.completed","object":{"order":"f_o1","subscription":"f_s1","metadata":{"kind":"subscription","user_id":"u_anna"}}}`,
		`{"id":"f5","eventType":"checkout.completed","object":{"transaction":"f_t1","metadata":{"kind":"gift","user_id":"other"}}}`,
	)
	ctx, shop := fixture.NewFolded(t, len(bodies), bodies...)
	for _, user := range []string{"u_anna", "u_bob", "other"} {
		whole := goThrough(ctx, t, shop.Tables, user, unbounded)
		require.Equal(t, 1, whole.pages)
		for limit := 1; limit < 10; limit++ {
			paged := goThrough(ctx, t, shop.Tables, user, limit)
			require.True(t, paged.pages > 1 || len(whole.events) <= limit)
			paged.pages = 1
			require.Equal(t, whole, paged, "%s by %d", user, limit)
		}
	}
}

// A page reads 20 lines for each of its items at most, and says no sum that it does not know.
func TestAPageOfALongHistoryReadsAFewOfItsLines(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	manyRows(ctx, t, shop.Tables, 1000)
	whole := goThrough(ctx, t, shop.Tables, "u1", 1000)
	require.Len(t, whole.lines, 1000)
	paged := goThrough(ctx, t, shop.Tables, "u1", 4)
	require.Equal(t, 250, paged.pages)
	require.Equal(t, whole.events, paged.events)
	require.Equal(t, whole.payments, paged.payments)
	require.Len(t, paged.lines, 1000)

	for _, before := range []int64{0, 500} {
		rows, err := ReadUser(ctx, shop.Tables, "u1", Place{Before: before}, 4)
		require.NoError(t, err)
		require.True(t, rows.Packs.NotSummed)
		require.Zero(t, rows.Packs.Sum+rows.Packs.EarlierSum)
		require.Nil(t, rows.Spendable)
		require.EqualValues(t, 76, rows.Events.Earlier)
		require.True(t, rows.Events.More)
	}
}

func TestAPlaceIsASequence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 0, "1": 1, "9223372036854775807": math.MaxInt64} {
		before, err := ParseSequence(text)
		require.NoError(t, err, text)
		require.Equal(t, want, before)
	}
	for _, text := range []string{"0", "-1", "x", "1:", ":1", "1:2", "9223372036854775808", " 1"} {
		_, err := ParseSequence(text)
		require.Error(t, err, text)
	}
}
