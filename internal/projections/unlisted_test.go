package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// These are products of fixture.Bodies. The first catalogue leaves some of them out.
const (
	soldFirst = "version: 1\nproducts:\n  pack: {kind: one_time, credits: 25}\n"
	soldLater = soldFirst + "  yearly: {kind: subscription, credits: 3}\n"
)

func rulesOf(t require.TestingT, text string) projections.Rules {
	c, err := catalogue.Parse([]byte(text))
	require.NoError(t, err)
	return projections.Rules{Mode: projections.ModeAny, Catalogue: c}
}

func TestAProductThatNoEventHasNamedChangesNoRow(t *testing.T) {
	t.Parallel()
	first, later := rulesOf(t, soldFirst), rulesOf(t, soldLater)
	added, extends := later.Extends(first.FoldID(), first.Catalogue.Summary())
	require.True(t, extends)
	named, unnamed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		bodies := fixture.Bodies(rt)
		_, before := fixture.OneFold(t, first, bodies)
		_, after := fixture.OneFold(t, later, bodies)
		if _, has := before.Unlisted[added[0]]; has {
			named++
			require.NotContains(rt, after.Unlisted, added[0])
			return
		}
		unnamed++
		requireSameState(rt, before, after)
	})
	require.Positive(t, named)
	require.Positive(t, unnamed)
}

func requireSameState(t require.TestingT, a, b *projections.State) {
	require.Equal(t, a.Events.Inserted(), b.Events.Inserted())
	require.Equal(t, a.Payments.Inserted(), b.Payments.Inserted())
	require.Equal(t, a.Ledger.Inserted(), b.Ledger.Inserted())
	require.Equal(t, a.Credits.Inserted(), b.Credits.Inserted())
	require.Equal(t, a.Subscriptions.Inserted(), b.Subscriptions.Inserted())
	require.Equal(t, a.Current.Inserted(), b.Current.Inserted())
	require.Equal(t, a.Licenses.Inserted(), b.Licenses.Inserted())
	require.Equal(t, a.Unlisted.Inserted(), b.Unlisted.Inserted())
}

func TestOtherModesAndRulesWithoutACatalogueExtendNothing(t *testing.T) {
	t.Parallel()
	first, later := rulesOf(t, soldFirst), rulesOf(t, soldLater)
	sold := first.Catalogue.Summary()
	inLive := later
	inLive.Mode = projections.ModeLive
	for name, rules := range map[string]projections.Rules{"another mode": inLive, "no catalogue": {Mode: projections.ModeAny}, "the same": first} {
		_, extends := rules.Extends(first.FoldID(), sold)
		require.False(t, extends, name)
	}
	_, extends := later.Extends("rules 1, mode any, catalogue "+first.Catalogue.ID, sold)
	require.False(t, extends, "another version of the rules")
}
