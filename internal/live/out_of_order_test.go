package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAnOutOfOrderEventIsRecorded(t *testing.T) {
	t.Parallel()
	const paidOfS1 = `{"id":"e9","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t9","metadata":{"user_id":"u9"}}}`
	for name, test := range map[string]struct{ later, earlier, shared string }{
		"a user":         {fixture.Pack("e9", "p9", "u1", 1), fixture.Pack("e5", "p5", "u1", 1), "user"},
		"a payment":      {fixture.Pack("e9", "p1", "u1", 1), fixture.Pack("e5", "p1", "u2", 1), "payment"},
		"an event id":    {fixture.Pack("e1", "p9", "u9", 1), fixture.Pack("e1", "p5", "u5", 1), "event_id"},
		"a subscription": {paidOfS1, `{"id":"e5","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t5"}}`, "user"},
		"nothing":        {fixture.Pack("e9", "p9", "u9", 1), fixture.Pack("e5", "p5", "u5", 1), ""},
		"an ignored one, which gives the subscription its user": {
			`{"id":"e9","eventType":"subscription.active","object":{"id":"s1","metadata":{"kind":"pro","user_id":"u9"}}}`,
			`{"id":"e5","eventType":"subscription.active","object":{"id":"s1","metadata":{"kind":"pro","user_id":"u5"}}}`, "subscription",
		},
		"one without an effect": {
			`{"id":"e9","eventType":"customer.created","object":{"metadata":{"user_id":"u1"}}}`, fixture.Pack("e5", "p5", "u1", 1), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			result, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 9, test.later)}, store.Advance{LogID: "log-1", From: fixture.From(1, 0), To: 9})
			require.NoError(t, err)
			require.Zero(t, result.OutOfOrder)
			result, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 5, test.earlier)}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 5})
			require.NoError(t, err)
			if test.shared == "" {
				require.Zero(t, result.OutOfOrder)
				return
			}
			require.Equal(t, 1, result.OutOfOrder)
			require.EqualValues(t, 1, fixture.Number(ctx, t, s,
				"select count(*) from payfold.out_of_order_event where log_id = 'log-1' and stream_seq = 5 and later_seq = 9 and shared = '"+test.shared+"'"))
		})
	}
}

func TestNoEventIsOutOfOrderInTheOrderOfTheLog(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for i, batch := range [][]events.Event{
		{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1)), fixture.Event(t, 2, fixture.Pack("e1", "p1", "u1", 1))},
		{fixture.Event(t, 3, fixture.Pack("e3", "p1", "u1", 1)), fixture.Event(t, 4, fixture.Pack("e4", "p4", "u1", 1))},
	} {
		result, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(0, uint64(2*i)), To: uint64(2*i + 2)})
		require.NoError(t, err)
		require.Zero(t, result.OutOfOrder)
	}
}

// The tables were lost and made again. The record of the lost ones must not hide that of the new ones.
func TestAnOutOfOrderEventIsRecordedForEachTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for range 2 {
		for partition, event := range []events.Event{fixture.Event(t, 9, fixture.Pack("e9", "p9", "u1", 1)), fixture.Event(t, 5, fixture.Pack("e5", "p5", "u1", 1))} {
			_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{event}, store.Advance{LogID: "log-1", From: fixture.From(partition, 0), To: event.Seq})
			require.NoError(t, err)
		}
		recorded, err := store.OutOfOrder(ctx, s.Pool(), s.Schema())
		require.NoError(t, err)
		require.Equal(t, []store.OutOfOrderEvent{{Seq: 5, Later: 9}}, recorded)
		_, err = s.Pool().Exec(ctx, "drop schema portal cascade")
		require.NoError(t, err)
		require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	}
}
