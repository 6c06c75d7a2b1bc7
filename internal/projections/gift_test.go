package projections

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const giftCatalogue = "version: 1\nproducts:\n  pack: {kind: one_time, credits: 10}\n"

// eachRules runs a test with a catalogue and without one.
func eachRules(t *testing.T, test func(t *testing.T, rules Rules)) {
	for name, rules := range map[string]Rules{
		"catalogue": {Mode: ModeLive, Catalogue: catalogueOf(giftCatalogue)}, "no catalogue": {Mode: ModeLive},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, rules) })
	}
}

func gift(id, rest string) [2]string { return own(id, "gift", rest) }

// expiries lists credits and expiry of what is left of each grant.
func expiries(s *State) (all []string) {
	sums := map[time.Time]int64{}
	for _, line := range s.Ledger.Lines() {
		sums[line.ExpiresAt] += line.Delta
	}
	for at, sum := range sums {
		if sum != 0 {
			all = append(all, fmt.Sprintf("%d until %s", sum, at.Format(time.RFC3339)))
		}
	}
	slices.Sort(all)
	return all
}

func TestAGiftGrantsItsOwnCreditsWhateverTheCatalogueSells(t *testing.T) {
	t.Parallel()
	eachRules(t, func(t *testing.T, rules Rules) {
		s := by(t, rules,
			gift("g1", `"user":"u1","payment":"g1","credits":50,"reason":"goodwill","product":"pack","kind":"pro"`),
			gift("g2", `"user":"u1","payment":"g2","credits":30,"expires_at":"2026-05-01T10:00:00Z"`))
		require.Equal(t, map[string]string{"g1": "applied", "g2": "applied"}, outcomes(s))
		credits, _ := s.Credits.Get("u1")
		require.EqualValues(t, 50, credits.Balance, "credits that expire are in no balance of packs that never do")
		require.Equal(t, []string{"30 until 2026-05-01T10:00:00Z", "50 until 0001-01-01T00:00:00Z"}, expiries(s))
		p, _ := s.Payments.Get("g1")
		require.Equal(t, []any{KindOneTime, "", (*int64)(nil)}, []any{p.Kind, p.ProductKey, p.Amount})
	})
}

func TestAGiftThatCannotBeReadGrantsNothing(t *testing.T) {
	t.Parallel()
	eachRules(t, func(t *testing.T, rules Rules) {
		for rest, reason := range map[string]string{
			`"user":"u1","payment":"g1"`:                                            "missing_credits",
			`"user":"u1","payment":"g1","credits":0`:                                "out_of_range",
			`"user":"u1","payment":"g1","credits":-5`:                               "out_of_range",
			`"user":"u1","payment":"g1","credits":1.5`:                              "out_of_range",
			`"user":"u1","payment":"g1","credits":1000000000001`:                    "out_of_range",
			`"user":"u1","payment":"g1","credits":5,"expires_at":"soon"`:            "out_of_range",
			`"user":"u1","payment":"g1","credits":5,"expires_at":"2100-01-01"`:      "out_of_range",
			`"user":"u1","payment":"g1","credits":5,"expires_at":{"in":"a year"}`:   "out_of_range",
			`"payment":"g1","credits":5`:                                            "missing_user",
			`"user":"u1","credits":5`:                                               "missing_payment_id",
			`"user":"u1","payment":"g1","credits":5,"expires_at":"` + farAway + `"`: "out_of_range",
			`"user":"u1","payment":"g1","credits":1000000000000,"units":1000000000`: "out_of_range",
		} {
			s := by(t, rules, gift("g1", rest))
			require.Equal(t, map[string]string{"g1": "rejected " + reason}, outcomes(s), rest)
			require.Empty(t, s.Ledger.Lines(), rest)
		}
	})
}

// farAway is a time that payfold does not read.
const farAway = "2100-01-01T00:00:00Z"

func TestOnlyTheShopItselfGivesCredits(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf(giftCatalogue)}
	s := by(t, rules,
		specified(checkout("e1", `"provider_payment_id":"t1","credits":50,"metadata":{"kind":"one_time","user_id":"u1","credits":50,"type":"gift","expires_at":"2026-05-01T10:00:00Z"}`)),
		specified(ofType("gift", "e2", `"provider_payment_id":"t2","metadata":{"user_id":"u1","credits":50}`)),
		own("e3", "payment", `"user":"u1","payment":"t3","kind":"one_time","credits":50`))
	require.Equal(t, map[string]string{"e1": "rejected unknown_product", "e2": "ignored", "e3": "rejected unknown_product"}, outcomes(s))
	require.Empty(t, s.Ledger.Lines())
}

// Two events of one gift: the larger one counts, then the one that expires later.
func TestTheExpiryOfAGiftDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	const until1, until2 = `,"expires_at":"2026-05-01T10:00:00Z"`, `,"expires_at":"2026-05-03T10:00:00Z"`
	eachRules(t, func(t *testing.T, rules Rules) {
		for name, c := range map[string]struct{ one, two, want string }{
			"the later day":        {`"credits":50` + until1, `"credits":50` + until2, "50 until 2026-05-03T10:00:00Z"},
			"never is the latest":  {`"credits":50` + until1, `"credits":50`, "50 until 0001-01-01T00:00:00Z"},
			"more credits decide":  {`"credits":60` + until1, `"credits":50` + until2, "60 until 2026-05-01T10:00:00Z"},
			"more, and the latest": {`"credits":60` + until2, `"credits":50` + until1, "60 until 2026-05-03T10:00:00Z"},
		} {
			one, two := gift("g1", `"time":"2026-01-02T10:00:00Z","user":"u1","payment":"g1",`+c.one), gift("g2", `"time":"2026-01-03T10:00:00Z","user":"u1","payment":"g1",`+c.two)
			require.Equal(t, []string{c.want}, expiries(by(t, rules, one, two)), name)
			require.Equal(t, []string{c.want}, expiries(by(t, rules, two, one)), name)
		}
	})
}
