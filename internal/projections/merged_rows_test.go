package projections

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leftOf returns what is left of the grants by user and kind, without zeros.
func leftOf(s *State) map[string]int64 {
	sums := map[string]int64{}
	for _, line := range s.Ledger.Lines() {
		sums[line.UserID+" "+line.Kind] += line.Delta
	}
	for whose, sum := range sums {
		if sum == 0 {
			delete(sums, whose)
		}
	}
	return sums
}

// An order of one user and a transaction of another user are one payment. It was paid once, so
// one of them keeps the grant, and a full refund leaves nothing to either.
func TestOnePaymentOfTwoUsersGrantsOnce(t *testing.T) {
	t.Parallel()
	const both = `"order":{"id":"o1","transaction":"t1"}`
	ordered := at(1, checkout("e1", `"order":{"id":"o1","amount_paid":1000},"metadata":{"kind":"one_time","user_id":"a","credits":200}`))
	charged := at(2, paid("e2", `"last_transaction":{"id":"t1","amount":1000},"metadata":{"kind":"one_time","user_id":"b","credits":200}`))
	refunded := refund("e4", `"refund_amount":1000,"transaction":{"id":"t1","order":"o1","amount_paid":1000}`)
	for name, link := range map[string]string{
		"a checkout without user":   checkout("e3", both),
		"a checkout of the first":   checkout("e3", both+`,"metadata":{"user_id":"a"}`),
		"a checkout of the second":  checkout("e3", both+`,"metadata":{"user_id":"b"}`),
		"a checkout of a third":     checkout("e3", both+`,"metadata":{"user_id":"c","credits":7}`),
		"a lifecycle event":         ofType("subscription.active", "e3", `"id":"s1","metadata":{"user_id":"c"},`+both),
		"a refund that comes later": ofType("refund.created", "e3", `"status":"failed",`+both),
	} {
		for _, log := range permutations([]string{ordered, charged}) {
			s := foldInto(t, fold(t, log...), anyMode, link)
			if !strings.Contains(link, "failed") {
				require.Equal(t, map[string]int64{"a one_time": 200}, leftOf(s), "%s: the earlier one, by the provider's time", name)
				require.Zero(t, balanceOf(t, s, "b"))
			}
			s = foldInto(t, s, anyMode, refunded)
			require.Empty(t, leftOf(s), name)
			require.Zero(t, balanceOf(t, s, "a"))
			p, _ := s.Payments.Get("t1")
			require.Equal(t, []string{"a", "o1"}, []string{p.UserID, p.OrderID}, name)
			require.EqualValues(t, 1000, *p.RefundedAmount)
		}
	}
}

func TestAPartlyRefundedPaymentOfTwoUsersIsTakenBackInParts(t *testing.T) {
	t.Parallel()
	ordered := at(2, checkout("e1", `"order":{"id":"o1","amount_paid":1000},"metadata":{"kind":"one_time","user_id":"a","credits":200}`))
	charged := at(1, paid("e2", `"last_transaction":{"id":"t1","amount":1000},"metadata":{"kind":"one_time","user_id":"b","credits":100}`))
	half := refund("e3", `"refund_amount":500,"transaction":{"id":"t1","amount_paid":1000}`)
	quarter := refund("e4", `"refund_amount":250,"order":"o1","transaction":{"order":"o1","amount_paid":1000}`)
	link := refund("e5", `"refund_amount":0,"transaction":{"id":"t1","order":"o1","amount_paid":1000}`)
	for _, log := range permutations([]string{ordered, charged, half, quarter, link}) {
		s := fold(t, log...)
		b := map[string]int64{"b one_time": 25}
		if slices.Index(log, link) < max(slices.Index(log, ordered), slices.Index(log, charged)) { // the first claim decides
			require.Contains(t, []map[string]int64{b, {"a one_time": 50}}, leftOf(s))
		} else {
			require.Equal(t, b, leftOf(s))
		}
		for _, credits := range s.Credits.All() {
			require.Equal(t, leftOf(s)[credits.UserID+" one_time"], credits.Balance)
		}
	}
}

// It does not matter which of the two rows was claimed, and when.
func TestTheFirstEventDecidesWhoseAPaymentOfTwoRowsIs(t *testing.T) {
	t.Parallel()
	pack := at(3, checkout("e1", `"order":{"id":"o1"},"metadata":{"kind":"one_time","user_id":"u1","credits":200}`))
	link := at(5, checkout("e3", `"order":{"id":"o1","transaction":"t1"}`))
	otherKind := paid("e2", `"id":"s1","last_transaction_id":"t1","metadata":{"kind":"subscription","credits":10}`)
	otherUser := checkout("e2", `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u2"}`)
	ofPack := map[string]int64{"u1 one_time": 200}
	for name, c := range map[string]struct {
		other string
		want  map[string]int64
	}{
		"another kind before, without a user":  {at(1, otherKind), ofPack},
		"another kind later":                   {at(4, otherKind), ofPack},
		"another user before, without credits": {at(1, otherUser), ofPack},
		"another user later":                   {at(4, otherUser), ofPack},
	} {
		inEveryOrder(t, anyMode, []string{pack, c.other, link}, func(s *State, order []int) {
			require.Equal(t, c.want, leftOf(s), "%s %v", name, order)
			s = foldInto(t, s, anyMode, refund("e4", `"transaction":{"id":"t1"}`))
			require.Empty(t, leftOf(s), "%s %v", name, order)
		})
	}
}

func TestOnePaymentClaimedAsTwoKindsGrantsOnce(t *testing.T) {
	t.Parallel()
	plan := at(1, paid("e1", `"order":{"id":"o1"},"metadata":{"kind":"subscription","user_id":"u1","credits":100}`))
	pack := at(2, checkout("e2", `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":200}`))
	tool := at(3, checkout("e3", `"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u2"}`))
	link := checkout("e4", `"order":{"id":"o1","transaction":"t1"}`)
	for _, log := range permutations([]string{plan, pack}) {
		require.Equal(t, map[string]int64{"u1 subscription": 100}, leftOf(foldInto(t, fold(t, log...), anyMode, link)))
	}
	for _, log := range permutations([]string{plan, tool}) {
		s := foldInto(t, fold(t, log...), anyMode, link)
		license, _ := s.Licenses.Get("u2")
		require.Equal(t, []any{map[string]int64{"u1 subscription": 100}, "revoked"}, []any{leftOf(s), license.Status})
	}
}
