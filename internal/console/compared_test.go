package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/reconcile"
)

func TestItIsSaidWhereNothingDiffered(t *testing.T) {
	t.Parallel()
	hours := func(n int) *time.Time { return new(noon.Add(-time.Duration(n) * time.Hour)) }
	require.Empty(t, nothingDiffers(nil, noon))
	require.Equal(t, "Compared with creem 60 min ago, paddle 9 days ago: nothing differed.", nothingDiffers([]reconcile.Kept{
		{Provider: "creem", ComparedAt: hours(1)},
		{Provider: "paddle", ComparedAt: hours(220)},
		{Provider: "polar", ComparedAt: hours(1), Stranger: true},
		{Provider: "stripe", ComparedAt: hours(1), Found: []reconcile.Found{{What: reconcile.OtherStatus, Count: 1}}},
		{Provider: "other", FailedAt: hours(1), Error: "no"},
	}, noon))
}

func TestEveryKindOfDifferenceHasWords(t *testing.T) {
	t.Parallel()
	for _, what := range []reconcile.What{
		reconcile.MissingPayment, reconcile.UnknownPayment, reconcile.OtherAmount, reconcile.MissingSubscription, reconcile.UnknownSubscription,
		reconcile.OtherStatus, reconcile.OtherPeriod, reconcile.MissingRefund, reconcile.UnknownRefund, reconcile.OtherRefund,
	} {
		require.NotContains(t, said(&reconcile.Kept{Found: []reconcile.Found{{What: what, Count: 1}}}), string(what))
	}
	require.Equal(t, "2 differences of_a_newer_build", said(&reconcile.Kept{Found: []reconcile.Found{{What: "of_a_newer_build", Count: 2}}}))
}
