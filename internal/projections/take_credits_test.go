package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// paidPack is a pack of 200 credits for 10.00 EUR, which a provider sold.
var paidPack = specified(checkout("e1", `"order":{"id":"o1","transaction":"t1","amount_paid":1000,"currency":"EUR"},"metadata":{"kind":"one_time","user_id":"u1","credits":200}`))

func TestAReversalOfCreditsTakesSoManyAndNoMoney(t *testing.T) {
	t.Parallel()
	take := own("r1", "reversal", `"payment":"t1","credits":30`)
	for name, log := range map[string][][2]string{"after": {paidPack, take}, "before": {take, paidPack}} {
		s := by(t, anyMode, log...)
		require.EqualValues(t, 170, balanceOf(t, s, "u1"), name)
		p, _ := s.Payments.Get("t1")
		require.Nil(t, p.RefundedAmount, name)
		require.True(t, p.ReversedAt.IsZero(), name)
	}
}

func TestAReversalOfMoreCreditsThanWereGrantedTakesThemAll(t *testing.T) {
	t.Parallel()
	s := by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1","credits":150`), own("r2", "reversal", `"payment":"t1","credits":150`))
	require.Zero(t, balanceOf(t, s, "u1"))
	require.Equal(t, map[string]string{"e1": "applied", "r1": "applied", "r2": "applied"}, outcomes(s))
	s = by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1","credits":1000000000000`), own("r2", "reversal", `"payment":"t1","credits":1000000000000`))
	require.Zero(t, balanceOf(t, s, "u1"))
}

func TestCreditsThatWereTakenAndARefundAddUp(t *testing.T) {
	t.Parallel()
	half := specified(refund("r2", `"amount":500,"transaction":{"id":"t1"}`))
	s := by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1","credits":30`), half)
	require.EqualValues(t, 70, balanceOf(t, s, "u1"), "200, without 30, without the half of 200")
	p, _ := s.Payments.Get("t1")
	require.EqualValues(t, 500, *p.RefundedAmount)
	s = by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1","credits":150`), half)
	require.Zero(t, balanceOf(t, s, "u1"), "never below what was granted")
}

// A buyer who names a tax number later gets the tax back, and keeps what was bought.
func TestARefundOfOnlyTheTaxLeavesTheCredits(t *testing.T) {
	t.Parallel()
	of := func(id, rest string) [2]string { return own(id, "reversal", `"payment":"t1",`+rest) }
	tax, half, rest := of("r1", `"amount":200,"credits":0`), of("r2", `"amount":400`), of("r3", `"amount":400`)
	const named = `"reversal":"x","amount":200,"credits":0`
	for name, c := range map[string]struct {
		log            [][2]string
		left, refunded int64
		whole          bool
	}{
		"alone":                      {[][2]string{tax}, 200, 200, false},
		"and a half of the rest":     {[][2]string{tax, half}, 100, 600, false},
		"and all of the rest":        {[][2]string{tax, half, rest}, 0, 1000, true},
		"in parts":                   {[][2]string{tax, of("r4", `"amount":100,"credits":0`)}, 200, 300, false},
		"told twice":                 {[][2]string{of("r5", named), of("r6", named)}, 200, 200, false},
		"that failed":                {[][2]string{of("r5", named), of("r6", named+`,"status":"failed"`), half}, 120, 400, false},
		"beside credits of the shop": {[][2]string{tax, of("r7", `"credits":30`)}, 170, 200, false},
	} {
		all := append([][2]string{paidPack}, c.log...)
		for _, order := range orders(len(all)) {
			var log [][2]string
			for _, i := range order {
				log = append(log, all[i])
			}
			s := by(t, anyMode, log...)
			p, _ := s.Payments.Get("t1")
			got := []any{balanceOf(t, s, "u1"), orZero(p.RefundedAmount), !p.ReversedAt.IsZero()}
			require.Equal(t, []any{c.left, c.refunded, c.whole}, got, "%s %v", name, order)
		}
	}
}

func TestAReversalOfCreditsThatFailedGivesThemBack(t *testing.T) {
	t.Parallel()
	s := by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1","reversal":"x","credits":30`),
		own("r2", "reversal", `"payment":"t1","reversal":"x","status":"failed"`))
	require.EqualValues(t, 200, balanceOf(t, s, "u1"))
}

func TestALicenceStaysIfCreditsAreTaken(t *testing.T) {
	t.Parallel()
	s := by(t, anyMode, own("e1", "payment", `"user":"u1","payment":"t1","kind":"pro","github_username":"ada"`), own("r1", "reversal", `"payment":"t1","credits":30`))
	licence, _ := s.Licenses.Get("u1")
	require.Equal(t, "active", licence.Status)
}

func TestAReversalOfCreditsThatCannotBeReadTakesNothing(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{
		`"credits":0`, `"credits":-1`, `"credits":1.5`, `"credits":"many"`, `"credits":1000000000001`, `"credits":{}`,
		`"credits":0,"amount_paid":100`, `"credits":0,"total_reversed":100`, `"credits":0,"amount":100,"total_reversed":100`,
		`"credits":5,"amount":100`, `"credits":5,"total_reversed":100`, `"credits":5,"amount_paid":100`,
	} {
		s := by(t, anyMode, paidPack, own("r1", "reversal", `"payment":"t1",`+rest))
		require.Equal(t, "rejected out_of_range", outcomes(s)["r1"], rest)
		require.EqualValues(t, 200, balanceOf(t, s, "u1"), rest)
	}
}

// The metadata of a provider's refund has credits, too.
func TestOnlyOwnReversalsAreOfCredits(t *testing.T) {
	t.Parallel()
	s := by(t, anyMode, paidPack, specified(refund("r1", `"transaction":{"id":"t1"},"credits":5,"metadata":{"credits":5}`)))
	require.Zero(t, balanceOf(t, s, "u1"), "the whole payment was refunded")
	for _, r := range s.Reversals.All() {
		require.Nil(t, r.Credits)
	}
}
