package projections

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func permutations(items []string) [][]string {
	if len(items) < 2 {
		return [][]string{items}
	}
	var all [][]string
	for i, first := range items {
		rest := append(append([]string{}, items[:i]...), items[i+1:]...)
		for _, tail := range permutations(rest) {
			all = append(all, append([]string{first}, tail...))
		}
	}
	return all
}

// ofItsEvent matches the columns that depend on which of several events came first.
var ofItsEvent = regexp.MustCompile(` (event_id|stream_seq|occurred_at|available_at|started_at|received_at)=\S+`)

func withoutEvents(s *State, names ...string) []string {
	var rows []string
	for _, row := range tables(s) {
		for _, name := range names {
			if strings.HasPrefix(row, name+" ") {
				rows = append(rows, ofItsEvent.ReplaceAllString(row, ""))
			}
		}
	}
	return rows
}

func TestTheThreeEventsOfAFirstPaymentGiveTheSameRowsInAnyOrder(t *testing.T) {
	t.Parallel()
	// Both events that can claim name the same product and credits.
	sameSale := strings.NewReplacer(`"credits": "50"`, `"credits": 100`, `"units": 2,`, ``, `"key": "team",`, ``)
	trio := []string{sameSale.Replace(fixture(t, "checkout")), fixture(t, "active"), fixture(t, "paid")}
	var first []string
	for _, order := range permutations(trio) {
		s := fold(t, order...)
		require.Equal(t, "100", fmt.Sprint(s.Ledger.Inserted()[0].Delta))
		require.Len(t, s.Ledger.Inserted(), 1)
		rows := withoutEvents(s, "subscription", "credit_ledger", "payment")
		require.Len(t, rows, 3)
		if first == nil {
			first = rows
		}
		require.Equal(t, first, rows)
	}
}

// In the documented samples the checkout names only its order.
func TestARefundedPurchaseIsFullyReversedInAnyOrder(t *testing.T) {
	t.Parallel()
	for back, amount := range map[string]int64{"refund": 1210, "dispute": 1331} {
		for _, order := range permutations([]string{fixture(t, "checkout_order_only"), fixture(t, "paid"), fixture(t, back)}) {
			s := fold(t, order...)
			granted, left := 0, int64(0)
			for _, line := range s.Ledger.Inserted() {
				left += line.Delta
				if line.Entry == entryGrant {
					granted++
				} else {
					require.Equal(t, "evt_"+back, line.EventID)
					require.EqualValues(t, 1, *line.ReversesLine)
				}
			}
			require.Equal(t, 1, granted)
			require.Zero(t, left)
			payment, _ := s.Payments.Get("tran_A1")
			require.Equal(t, "u_7", payment.UserID)
			require.False(t, payment.ReversedAt.IsZero())
			require.Equal(t, amount, *payment.RefundedAmount)
		}
	}
}
