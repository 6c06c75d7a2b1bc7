package projections

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const packOf100 = `"provider_payment_id":"t1","amount":1000,"currency":"EUR","metadata":{"kind":"one_time","user_id":"u1","credits":100}`

func refund(id, object string) string { return ofType("refund.created", id, object) }

func dispute(id, object string) string { return ofType("dispute.created", id, object) }

// balanceOf returns the user's balance, after it is compared with the ledger.
func balanceOf(t *testing.T, s *State, user string) int64 {
	t.Helper()
	credits, _ := s.Credits.Get(user)
	var sum int64
	for _, line := range s.Ledger.Inserted() {
		if line.UserID == user && line.Kind == KindOneTime {
			sum += line.Delta
		}
	}
	require.Equal(t, sum, credits.Balance)
	require.Equal(t, credits.Granted-credits.Reversed, credits.Balance)
	return credits.Balance
}

func TestReversalsTakeBackTheRefundedShare(t *testing.T) {
	t.Parallel()
	const cumulative = `"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":%d}`
	const single = `"transaction":{"id":"t1","amount_paid":1000},"refund_amount":%d`
	for name, test := range map[string]struct {
		bodies   []string
		left     int64
		refunded int64
	}{
		"a part":                            {[]string{refund("r1", fmt.Sprintf(single, 250))}, 75, 250},
		"rounded in favour of the customer": {[]string{refund("r1", fmt.Sprintf(single, 999))}, 1, 999},
		"parts add up":                      {[]string{refund("r1", fmt.Sprintf(single, 250)), refund("r2", fmt.Sprintf(single, 250))}, 50, 500},
		"a cumulative one does not":         {[]string{refund("r1", fmt.Sprintf(cumulative, 250)), refund("r2", fmt.Sprintf(cumulative, 400))}, 60, 400},
		"a cumulative one out of order":     {[]string{refund("r2", fmt.Sprintf(cumulative, 400)), refund("r1", fmt.Sprintf(cumulative, 250))}, 60, 400},
		"a refund and its dispute":          {[]string{refund("r1", fmt.Sprintf(cumulative, 1000)), dispute("d1", `"amount":1000,"transaction":"t1"`)}, 0, 1000},
		"a part and a dispute of all":       {[]string{refund("r1", fmt.Sprintf(single, 500)), dispute("d1", `"amount":1000,"transaction":"t1"`)}, 0, 1000},
		"no amounts: everything":            {[]string{refund("r1", `"transaction":"t1"`)}, 0, 1000},
		"of the payment's amount":           {[]string{refund("r1", `"refund_amount":100,"transaction":"t1"`)}, 90, 100},
		"more than was paid":                {[]string{refund("r1", fmt.Sprintf(single, 5000))}, 0, 1000},
		"pending, failed and canceled ones": {[]string{refund("r1", fmt.Sprintf(single, 250)+`,"status":"pending"`), refund("r2", fmt.Sprintf(single, 250)+`,"status":"failed"`), refund("r3", fmt.Sprintf(single, 250)+`,"status":"canceled"`)}, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := fold(t, append([]string{checkout("e1", packOf100)}, test.bodies...)...)
			before := fold(t, append(append([]string{}, test.bodies...), checkout("e1", packOf100))...)
			for order, s := range map[string]*State{"after the payment": after, "before it": before} {
				require.Equal(t, test.left, balanceOf(t, s, "u1"), order)
				payment, _ := s.Payments.Get("t1")
				require.Equal(t, "u1", payment.UserID, order)
				require.Equal(t, "e1", payment.EventID, order)
				if test.refunded == 0 {
					require.Nil(t, payment.RefundedAmount, order)
				} else {
					require.Equal(t, test.refunded, *payment.RefundedAmount, order)
				}
				require.Equal(t, test.left == 0, !payment.ReversedAt.IsZero(), order)
			}
		})
	}
}

func TestOnlyReversalsThatSucceededTakeCreditsBack(t *testing.T) {
	t.Parallel()
	part := func(id, status string) string {
		return refund(id, `"refund_amount":250,"status":"`+status+`","transaction":{"id":"t1","amount_paid":1000}`)
	}
	bought := checkout("e1", packOf100)
	for _, status := range []string{"pending", "requiresAction", "requires_action", "failed", "canceled", "Succeeded", "anything"} {
		s := fold(t, bought, part("r1", status))
		require.Equal(t, "ignored", outcomes(s)["r1"], status)
		require.EqualValues(t, 100, balanceOf(t, s, "u1"), status)
		require.EqualValues(t, 75, balanceOf(t, foldInto(t, s, anyMode, part("r2", "succeeded")), "u1"), "it succeeded later")
	}
	require.EqualValues(t, 75, balanceOf(t, fold(t, bought, part("r1", "")), "u1"), "a reversal without a status counts")
}

func TestADisputeTakesTheLargerOfItsAmountAndTheRefundedTotal(t *testing.T) {
	t.Parallel()
	for object, left := range map[string]int64{
		`"amount":1000,"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":0}`:   0,
		`"amount":400,"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":700}`:  30,
		`"amount":700,"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":null}`: 30,
	} {
		require.Equal(t, left, balanceOf(t, fold(t, checkout("e1", packOf100), dispute("d1", object)), "u1"), object)
	}
}

// Only the name of its payment, its amounts and its status matter.
func TestAReversalIsNotRejectedForFieldsThatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	live := Rules{Mode: ModeLive}
	bought := checkout("e1", `"mode":"live",`+packOf100)
	for _, more := range []string{
		`"mode":"test"`, `"metadata":{"user_id":"a\u0000b"}`, `"metadata":{"kind":"\ud800"}`, `"currency":"\u0000"`, `"mode":"\u0000"`,
		`"subscription":"implicit:u1"`,
	} {
		s := foldInto(t, NewState(), live, bought, refund("r1", `"transaction":"t1",`+more))
		require.Equal(t, "applied", outcomes(s)["r1"], more)
		require.Zero(t, balanceOf(t, s, "u1"), more)
	}
	for _, object := range []string{`"transaction":"t1\u0000"`, `"transaction":"t1","order":"\u0000"`, `"transaction":"t1","status":"\u0000"`} {
		s := fold(t, checkout("e1", packOf100), refund("r1", object))
		require.Equal(t, "rejected invalid_text", outcomes(s)["r1"], object)
	}
}

func TestASecondReversalOfTheWholePaymentTakesNothingMore(t *testing.T) {
	t.Parallel()
	s := fold(t, checkout("e1", packOf100), refund("r1", `"transaction":"t1"`), dispute("d1", `"transaction":"t1","amount":1000`))
	require.Equal(t, map[string]string{"e1": "applied", "r1": "applied", "d1": "applied"}, outcomes(s))
	require.Len(t, s.Ledger.Inserted(), 2, "a step of zero writes no line")
	require.Zero(t, balanceOf(t, s, "u1"))
}

func TestAReversalNeedsANameOfItsPayment(t *testing.T) {
	t.Parallel()
	s := fold(t, refund("r1", `"refund_amount":5`), refund("r2", `"refund_amount":-5,"transaction":"t1"`))
	require.Equal(t, map[string]string{"r1": "rejected missing_payment_id", "r2": "rejected out_of_range"}, outcomes(s))
	require.Empty(t, s.Reversals.Inserted())
}

func TestAReversalTakesUserAndKindFromThePayment(t *testing.T) {
	t.Parallel()
	s := fold(t, checkout("e1", packOf100), refund("r1", `"transaction":"t1","metadata":{"kind":"pro","user_id":"u2"}`))
	row := recorded(t, s, "r1")
	require.Equal(t, "u1", row.UserID)
	require.Equal(t, "one_time", row.Kind)
	require.Zero(t, balanceOf(t, s, "u1"))
}

func TestALicenceEndsWhenAllItsPaymentsAreReversed(t *testing.T) {
	t.Parallel()
	pro := func(id, payment, github string) string {
		return checkout(id, `"provider_payment_id":"`+payment+`","amount":1000,"metadata":{"kind":"pro","user_id":"u1","github_username":"`+github+`"}`)
	}
	first, second := at(1, pro("e1", "t1", "octo")), at(2, pro("e2", "t2", "cat"))
	license := func(bodies ...string) ProLicense {
		row, _ := fold(t, bodies...).Licenses.Get("u1")
		return row
	}
	require.Equal(t, "active", license(first, refund("r1", `"transaction":"t1","refund_amount":400`)).Status, "a part does not end it")
	revoked := license(first, at(3, refund("r1", `"transaction":"t1"`)))
	require.Equal(t, "revoked", revoked.Status)
	require.Equal(t, minuteOf(3), revoked.RevokedAt)
	require.Equal(t, revoked.RevokedAt, license(at(3, refund("r1", `"transaction":"t1"`)), first).RevokedAt, "the refund came first")

	both := license(first, second, refund("r1", `"transaction":"t2"`))
	require.Equal(t, "active", both.Status)
	require.Equal(t, "t1", both.ProviderPaymentID, "the newest that is not reversed")
	again := license(first, refund("r1", `"transaction":"t1"`), second)
	require.Equal(t, "active", again.Status)
	require.Equal(t, "cat", again.GitHubUsername)
	require.True(t, again.RevokedAt.IsZero())
	require.Equal(t, "revoked", license(first, second, refund("r1", `"transaction":"t2"`), refund("r2", `"transaction":"t1"`)).Status)
}

func TestAPendingOrFailedReversalIsKeptAndHasNoEffect(t *testing.T) {
	t.Parallel()
	s := fold(t, refund("r1", `"transaction":"t1","status":"pending"`), checkout("e1", packOf100))
	require.Equal(t, map[string]string{"r1": "ignored", "e1": "applied"}, outcomes(s))
	require.Len(t, s.Reversals.Inserted(), 1)
	require.EqualValues(t, 100, balanceOf(t, s, "u1"))
	s = fold(t, refund("r1", `"transaction":"t1","status":"failed"`))
	require.Equal(t, map[string]string{"r1": "ignored"}, outcomes(s))
	require.Len(t, s.Payments.Inserted(), 1)
	require.Empty(t, s.Payments.Inserted()[0].UserID, "it only names a payment")
}

// The first reversal says what was paid. The second one does not, but the amount holds for it.
func TestASmallDisputeAfterAPartialRefundTakesItsShare(t *testing.T) {
	t.Parallel()
	bought := checkout("e1", `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":100}`)
	tenth := refund("e2", `"refund_amount":100,"transaction":{"id":"t1","amount_paid":1000}`)
	another := dispute("e3", `"amount":100,"transaction":"t1"`)
	require.EqualValues(t, 80, balanceOf(t, fold(t, bought, tenth, another), "u1"))
}

func TestARefundOfZeroTakesNothing(t *testing.T) {
	t.Parallel()
	s := fold(t, pro("e1", "t1", ""), refund("e2", `"refund_amount":0,"transaction":"t1"`))
	license, _ := s.Licenses.Get("u1")
	require.Equal(t, "active", license.Status)
	require.EqualValues(t, 100, balanceOf(t, fold(t, checkout("e1", packOf100), refund("e2", `"refund_amount":0,"transaction":"t1"`)), "u1"))
}

// The sum of these amounts has more than 64 bits.
func TestReversalsOfAnyAmountThatFailGiveEverythingBack(t *testing.T) {
	t.Parallel()
	of := func(id, reversal, amount, status string, minute int) string {
		return at(minute, refund(id, `"id":"`+reversal+`","refund_amount":`+amount+`,"status":"`+status+`","transaction":{"id":"t1","amount_paid":50}`))
	}
	const most = "9223372036854775807"
	for _, amount := range []string{most, "5"} {
		s := fold(t, checkout("e1", packOf100),
			of("e2", "r1", most, "succeeded", 1), of("e3", "r2", amount, "succeeded", 2), of("e4", "r1", most, "failed", 3))
		require.Zero(t, balanceOf(t, foldInto(t, NewState(), anyMode, checkout("e1", packOf100),
			of("e2", "r1", most, "succeeded", 1), of("e3", "r2", most, "succeeded", 2), of("e4", "r1", most, "failed", 3)), "u1"))
		s = foldInto(t, s, anyMode, of("e5", "r2", amount, "failed", 4))
		require.EqualValues(t, 100, balanceOf(t, s, "u1"))
	}
}

// The event of the other refund is lost: only the total of the refund that failed names it.
func TestATotalIsTakenBackThoughTheReversalThatNamesItFailed(t *testing.T) {
	t.Parallel()
	refunds := []string{
		at(1, refund("r1", `"id":"f1","refund_amount":250,"transaction":{"id":"t1","amount_paid":1000,"refunded_amount":750}`)),
		at(2, refund("r2", `"id":"f1","refund_amount":250,"status":"failed","transaction":{"id":"t1","amount_paid":1000}`)),
	}
	bought := checkout("e1", packOf100)
	for order, s := range map[string]*State{
		"after the payment": fold(t, bought, refunds[0], refunds[1]),
		"before it":         fold(t, refunds[0], refunds[1], bought),
		"around it":         fold(t, refunds[1], bought, refunds[0]),
	} {
		require.EqualValues(t, 50, balanceOf(t, s, "u1"), order)
		payment, _ := s.Payments.Get("t1")
		require.EqualValues(t, 500, *payment.RefundedAmount, order)
	}
}

func TestOfTwoReversalsAtTheSameTimeTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	t.Parallel()
	of := func(id, reversal, amount string, minute int) string {
		return at(minute, refund(id, `"id":"`+reversal+`","refund_amount":`+amount+`,"transaction":"t1"`))
	}
	all, less, rest := of("r1", "f1", "1000", 1), of("r2", "f1", "500", 1), of("r3", "f2", "500", 2)
	var times []time.Time
	for _, refunds := range [][]string{{all, less, rest}, {less, all, rest}} {
		payment, _ := fold(t, append([]string{checkout("e1", packOf100)}, refunds...)...).Payments.Get("t1")
		times = append(times, payment.ReversedAt)
	}
	require.Equal(t, times[0], times[1])
}
