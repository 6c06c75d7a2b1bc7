package projections

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A refund counts on its own day, in its payment's currency, also where it came before the payment.
func TestRevenueDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	const day = 24 * 60
	meta := `"currency":"EUR","metadata":{"kind":"one_time","user_id":"u1","credits":10}`
	bought := at(0, checkout("e1", `"provider_payment_id":"t1","amount_paid":1000,`+meta))
	ordered := at(0, checkout("e2", `"order":{"id":"o1","amount_paid":1000,"currency":"EUR"},`+meta))
	for name, test := range map[string]struct {
		log  []string
		want []string
	}{
		"a part": {
			[]string{bought, at(2*day, refund("r1", `"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":250}`))},
			[]string{"2026-01-02 EUR one_time: 1 paid 1000, refunded 0", "2026-01-04 EUR one_time: 0 paid 0, refunded 250"},
		},
		"all, without an amount": {
			[]string{bought, at(2*day, refund("r1", `"transaction":{"id":"t1"}`))},
			[]string{"2026-01-02 EUR one_time: 1 paid 1000, refunded 0", "2026-01-04 EUR one_time: 0 paid 0, refunded 1000"},
		},
		"under one name, until a third event gives both": {
			[]string{
				ordered, at(day, refund("r1", `"transaction":{"order":"o1","amount_paid":1000,"refunded_amount":1000}`)),
				at(2*day, ofType("subscription.active", "e3", `"id":"s1","last_transaction":{"id":"t1","order":"o1"},"metadata":{"kind":"one_time"}`)),
			},
			[]string{"2026-01-02 EUR one_time: 1 paid 1000, refunded 0", "2026-01-03 EUR one_time: 0 paid 0, refunded 1000"},
		},
		"two rows that are one payment": {
			[]string{
				bought, ordered, at(day, refund("r1", `"transaction":{"order":"o1","amount_paid":1000,"refunded_amount":1000}`)),
				at(2*day, refund("r2", `"transaction":{"id":"t1","order":"o1","amount_paid":1000,"refunded_amount":1000}`)),
			},
			[]string{"2026-01-02 EUR one_time: 1 paid 1000, refunded 0", "2026-01-03 EUR one_time: 0 paid 0, refunded 1000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, log := range permutations(test.log) {
				if !slices.Equal(refundsIn(log), refundsIn(test.log)) { // the first of two refunds of all takes it all
					continue
				}
				s := foldInto(t, NewState(), Rules{Mode: ModeAny, Extras: []string{"revenue_daily"}}, log...)
				require.Equal(t, test.want, revenueIn(s), log)
			}
		})
	}
}

// What a rejected event names can be in the gross, too: only the user is missing, or another event is used.
func TestTheMoneyOfARejectedEventIsNotBesideTheGross(t *testing.T) {
	t.Parallel()
	pack := func(id, user string) string {
		return at(0, checkout(id, `"provider_payment_id":"t1","amount_paid":1000,"currency":"EUR","metadata":{"kind":"one_time","credits":10`+user+`}`))
	}
	for _, log := range [][]string{
		{pack("e1", ``)},
		{pack("e1", ``), pack("e2", `,"user_id":"u1"`)},
		{pack("e1", `,"user_id":"u1"`), pack("e2", `,"user_id":"u2"`)},
	} {
		s := foldInto(t, NewState(), Rules{Mode: ModeAny, Extras: []string{"revenue_daily"}}, log...)
		require.Equal(t, []string{"2026-01-02 EUR one_time: 1 paid 1000, refunded 0"}, revenueIn(s), log)
		require.EqualValues(t, 1000, s.Revenue.All()[0].Rejected, log)
	}
}

// refundsIn lists the refunds of a log.
func refundsIn(log []string) []string {
	return slices.DeleteFunc(slices.Clone(log), func(body string) bool { return !strings.Contains(body, "refund.created") })
}

// revenueIn lists the days that have any money.
func revenueIn(s *State) (all []string) {
	for _, r := range s.Revenue.All() {
		if r.Payments != 0 || r.Gross != 0 || r.Refunded != 0 {
			all = append(all, fmt.Sprintf("%s %s %s: %d paid %d, refunded %d", r.Day.Format("2006-01-02"), r.Currency, r.Kind, r.Payments, r.Gross, r.Refunded))
		}
	}
	slices.Sort(all)
	return all
}
