package browse

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestRejectedEventsNameTheProductsThatTheCatalogueLacks(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Reset(ctx, t, s, fixture.Sold)
	const paid = `"subscription":"s1","metadata":{"user_id":"u1"}}}`
	log := []events.Event{
		fixture.Event(t, 1, `{"id":"e1","eventType":"subscription.paid","object":{"transaction":"t1","product":"prod_1",`+paid),
		fixture.Event(t, 2, `{"id":"e2","eventType":"subscription.paid","object":{"transaction":"t2","product":"prod_2",`+paid),
		fixture.Event(t, 3, `{"id":"e3","eventType":"subscription.paid","object":{"transaction":"t3","product":"prod_1",`+paid),
	}
	_, err := live.Apply(ctx, s, fixture.Sold, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 3})
	require.NoError(t, err)
	got, err := running(ctx, t).Rejected(ctx, s)
	require.NoError(t, err)
	require.Len(t, got.Groups, 1)
	require.Equal(t, string(projections.UnknownProduct), got.Groups[0].Reason)
	require.ElementsMatch(t, []string{"prod_1", "prod_2"}, got.Groups[0].Products)
	require.Contains(t, got.Groups[0].Newest[0].Why, "The catalogue does not have product prod_1.")
}
