package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCreditsAreWholeNumbersFromOneToATrillion(t *testing.T) {
	t.Parallel()
	for credits, granted := range map[string]int64{
		`1`: 1, `200`: 200, `"200"`: 200, `200.0`: 200, `2e2`: 200,
		`1000000000000`: 1_000_000_000_000, `"1000000000000"`: 1_000_000_000_000,

		`0`: 0, `-1`: 0, `"-1"`: 0, `0.5`: 0, `"0.5"`: 0, `1000000000001`: 0, `9223372036854775808`: 0, `1e400`: 0,
		`"many"`: 0, `" 5"`: 0, `true`: 0, `[5]`: 0, `{}`: 0,
	} {
		for _, kind := range []string{KindOneTime, KindSubscription} {
			t.Run(kind+" "+credits, func(t *testing.T) {
				t.Parallel()
				requireGranted(t, granted, kind, fmt.Sprintf(`"metadata":{"kind":%q,"user_id":"u1","credits":%s}`, kind, credits))
			})
		}
	}
}

func TestUnitsMultiplyCredits(t *testing.T) {
	t.Parallel()
	for object, granted := range map[string]int64{
		`"units":3`:                              300,
		`"units":"3"`:                            300,
		`"items":[{"units":4},{"units":9}]`:      400,
		`"units":2,"items":[{"units":4}]`:        200,
		`"units":null,"items":[{"units":4}]`:     400,
		`"items":[]`:                             100,
		`"items":[{}]`:                           100,
		`"units":""`:                             100,
		`"units":10000000000`:                    1_000_000_000_000,
		`"units":10000000001`:                    0,
		`"units":9223372036854775807`:            0,
		`"units":92233720368547759`:              0, // times 100 it is 84 in 64 bits
		`"units":0`:                              100,
		`"units":-1`:                             100,
		`"units":1.5`:                            100,
		`"units":"a few","items":[{"units":4}]`:  100,
		`"units":[2]`:                            100,
		`"items":[{"units":0}]`:                  100,
		`"units":1,"items":[{"units":"no end"}]`: 100,
	} {
		for _, kind := range []string{KindOneTime, KindSubscription} {
			t.Run(kind+" "+object, func(t *testing.T) {
				t.Parallel()
				requireGranted(t, granted, kind, fmt.Sprintf(`%s,"metadata":{"kind":%q,"user_id":"u1","credits":100}`, object, kind))
			})
		}
	}
}

func TestUnitsThatCannotBeUsedCountAsOneAndAreNoted(t *testing.T) {
	t.Parallel()
	for units, note := range map[string]Note{`0`: UnitsUnreadable, `-1`: UnitsUnreadable, `1.5`: UnitsUnreadable, `"a few"`: UnitsUnreadable, `3`: "", `null`: ""} {
		s := fold(t, checkout("e1", `"units":`+units+`,`+pack))
		require.Equal(t, string(note), recorded(t, s, "e1").Note, units)
	}
}

// requireGranted requires that grant. If credits is 0, it requires out_of_range.
func requireGranted(t *testing.T, credits int64, kind, object string) {
	t.Helper()
	s := fold(t, checkout("e1", `"provider_payment_id":"t1",`+object))
	if credits == 0 {
		require.Equal(t, map[string]string{"e1": "rejected out_of_range"}, outcomes(s))
		require.Len(t, tables(s), 1)
		return
	}
	require.Equal(t, []string{fmt.Sprintf("e1 gives u1 %d %s for t1", credits, kind)}, grants(s))
	balance, hasPacks := s.Credits.Get("u1")
	require.Equal(t, kind == KindOneTime, hasPacks, "only packs have a balance")
	if hasPacks {
		require.Equal(t, Credits{UserID: "u1", Balance: credits, Granted: credits, StreamSeq: 1}, balance)
	}
}

func TestPacksAddUpPerUser(t *testing.T) {
	t.Parallel()
	buy := func(id, user, credits string) string {
		return checkout(id, fmt.Sprintf(`"provider_payment_id":"of %s","metadata":{"kind":"one_time","user_id":%q,"credits":%s}`, id, user, credits))
	}
	s := fold(t, buy("e1", "u1", "200"), buy("e2", "u2", "7"), buy("e3", "u1", "50"))
	require.Equal(t, []Credits{
		{UserID: "u1", Balance: 250, Granted: 250, StreamSeq: 3},
		{UserID: "u2", Balance: 7, Granted: 7, StreamSeq: 2},
	}, s.Credits.Inserted())
}

func TestAGrantThatWouldOverflowTheBalanceIsOutOfRange(t *testing.T) {
	t.Parallel()
	for granted, want := range map[int64]string{
		maxBalance - 200: "applied",
		maxBalance - 199: "rejected out_of_range",
	} {
		s := NewState()
		s.LoadCredits(&Credits{UserID: "u1", Balance: 3, Granted: granted, Reversed: granted - 3})
		foldInto(t, s, anyMode, checkout("e1", pack))
		require.Equal(t, map[string]string{"e1": want}, outcomes(s))
	}
}
