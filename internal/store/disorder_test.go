package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestAnEventBehindALaterOneItSharesANameWithIsNoted(t *testing.T) {
	t.Parallel()
	const paidOfS1 = `{"id":"e9","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t9","metadata":{"user_id":"u9"}}}`
	for name, test := range map[string]struct{ later, earlier, shared string }{
		"a user":         {pack("e9", "p9", "u1", 1), pack("e5", "p5", "u1", 1), "user"},
		"a payment":      {pack("e9", "p1", "u1", 1), pack("e5", "p1", "u2", 1), "payment"},
		"an event id":    {pack("e1", "p9", "u9", 1), pack("e1", "p5", "u5", 1), "event_id"},
		"a subscription": {paidOfS1, `{"id":"e5","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t5"}}`, "user"},
		"nothing":        {pack("e9", "p9", "u9", 1), pack("e5", "p5", "u5", 1), ""},
		"an ignored one": {
			`{"id":"e9","eventType":"customer.created","object":{"metadata":{"user_id":"u1"}}}`, pack("e5", "p5", "u1", 1), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := setup(t)
			result, err := s.Apply(ctx, anyMode, []events.Event{event(t, 9, test.later)}, Advance{LogID: "log-1", From: from(1, 0), To: 9})
			require.NoError(t, err)
			require.Zero(t, result.Disorder)
			result, err = s.Apply(ctx, anyMode, []events.Event{event(t, 5, test.earlier)}, Advance{LogID: "log-1", From: from(0, 0), To: 5})
			require.NoError(t, err)
			if test.shared == "" {
				require.Zero(t, result.Disorder)
				return
			}
			require.Equal(t, 1, result.Disorder)
			require.EqualValues(t, 1, number(ctx, t, s,
				"select count(*) from payfold.disorder where log_id = 'log-1' and stream_seq = 5 and later_seq = 9 and shared = '"+test.shared+"'"))
		})
	}
}

func TestThereIsNoDisorderInTheOrderOfTheLog(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for i, batch := range [][]events.Event{
		{event(t, 1, pack("e1", "p1", "u1", 1)), event(t, 2, pack("e1", "p1", "u1", 1))},
		{event(t, 3, pack("e3", "p1", "u1", 1)), event(t, 4, pack("e4", "p4", "u1", 1))},
	} {
		result, err := s.Apply(ctx, anyMode, batch, Advance{LogID: "log-1", From: from(0, uint64(2*i)), To: uint64(2*i + 2)})
		require.NoError(t, err)
		require.Zero(t, result.Disorder)
	}
}

func TestAPanicOfTheRulesIsARefusalOfThatEvent(t *testing.T) {
	t.Parallel()
	err := fold(anyMode, nil, events.Event{Seq: 7})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, 7, refused.Seq)
}
