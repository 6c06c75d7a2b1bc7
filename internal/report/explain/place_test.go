package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAPlaceIsASequenceOrAMoment(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	day := time.Date(2026, 1, 30, 23, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text, clock string
		want        Place
	}{
		{"", "", Place{}},
		{"7", "provider", Place{Before: 7}},
		{"2026-01-31", "", Place{At: day, Clock: ReceiptClock}},
		{"2026-01-31T00:00", "provider", Place{At: day, Clock: ProviderClock}},
		{"2026-01-30T23:00:00Z", "receipt", Place{At: day, Clock: ReceiptClock}},
	} {
		got, err := ParsePlace(c.text, c.clock, berlin)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	for _, bad := range [][2]string{{"0", ""}, {"2026-02-30", ""}, {"yesterday", ""}, {"2026-01-31", "mine"}, {"", "mine"}} {
		_, err := ParsePlace(bad[0], bad[1], berlin)
		require.ErrorIs(t, err, ErrPlace, bad)
	}
}

// The log of the month was received on one day, so the two clocks differ.
func TestAUserAsOfAMomentHasTheCreditsOfThatMoment(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 100, fixture.Month()...)
	day := func(month time.Month, day int) time.Time { return time.Date(2021, month, day, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		place         Place
		packs, grants int64
		seq           int64
	}{
		"before a sequence":        {Place{Before: 8}, 200, 100, 7},
		"received before":          {Place{At: day(3, 1).Add(12*time.Hour + 7*time.Minute), Clock: ReceiptClock}, 200, 100, 7},
		"happened before":          {Place{At: day(1, 11), Clock: ProviderClock}, 150, 100, 8},
		"happened before the pack": {Place{At: day(1, 2), Clock: ProviderClock}, 0, 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			user, err := ReadUser(ctx, shop.Tables, "u_anna", c.place, 100)
			require.NoError(t, err)
			require.Equal(t, c.seq, user.AsOf.Seq)
			require.Equal(t, c.packs, user.Packs.Sum)
			require.Equal(t, c.grants, user.SubscriptionCredits.Now)
			require.Equal(t, c.packs+c.grants, *user.Spendable)
			require.Nil(t, user.Wallet)
		})
	}
	now, err := ReadUser(ctx, shop.Tables, "u_anna", Place{}, 100)
	require.NoError(t, err)
	require.Nil(t, now.AsOf)
	_, err = ReadUser(ctx, shop.Tables, "u_anna", Place{At: now.At.Add(time.Hour), Clock: ReceiptClock}, 100)
	require.ErrorIs(t, err, ErrPlace)
	before, err := ReadUser(ctx, shop.Tables, "u_anna", Place{At: day(1, 1), Clock: ReceiptClock}, 100)
	require.NoError(t, err)
	require.Zero(t, before.AsOf.Seq)
	require.Zero(t, *before.Spendable)
	require.Empty(t, before.Events.Items)
	require.Equal(t, []Total{{"EUR", "10000", "2250"}}, now.Totals)
}
