package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestEventsAreConnectedByTheNamesThatTheFoldLooksFor(t *testing.T) {
	t.Parallel()
	log := []events.Event{
		fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1)),
		fixture.Event(t, 2, `{"id":"e2","eventType":"refund.created","object":{"transaction":"p9","metadata":{"user_id":"u1"}}}`),
		fixture.Event(t, 3, `{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"p2"},"metadata":{"kind":"one_time","user_id":"u1"}}}`),
		fixture.Event(t, 4, `{"id":"e4","eventType":"customer.updated","object":{"metadata":{"user_id":"u1"}}}`),
		fixture.Event(t, 5, `{"id":"e4","eventType":"refund.created","object":{"order":"o1"}}`),
		fixture.Event(t, 6, fixture.Pack("e6", "p6", "u6", 1)),
	}
	c := connectedBy([]store.OutOfOrderEvent{{Seq: 5, Later: 7}}) // of which 7 is not read
	var passes int
	for grew := true; grew; passes++ {
		grew = false
		for _, e := range log {
			grew = c.add(e) || grew
		}
	}
	require.Equal(t, 4, passes, "the first finds the order, the second its user, the third that user's other event, the fourth nothing")
	require.Equal(t, []events.Event{log[0], log[2], log[3], log[4]}, c.inOrder(),
		"a user in a refund or in an event without effect connects nothing")
	for _, first := range []eventName{
		{tables.Credits.Key, "u1"},
		{tables.Payments.Key, "p2"},
		{tables.Payments.Key, "o1"},
		{tables.ProcessedEvents.Key, "e4"},
		{tables.DuplicateEvents.Key, "5"},
		{tables.SubscriptionStates.Key, "implicit:u1"},
	} {
		require.True(t, c.includes(Difference{first: first}), "%+v", first)
	}
	for _, first := range []eventName{
		{tables.Credits.Key, "u6"},
		{tables.Payments.Key, "p9"},
		{tables.ProcessedEvents.Key, "e2"},
		{tables.DuplicateEvents.Key, "6"},
		{tables.SubscriptionStates.Key, "implicit:u6"},
		{tables.RevenueByDay.Key, "u1"},
	} {
		require.False(t, c.includes(Difference{first: first}), "%+v", first)
	}
}
