package pull

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// oldLog has messages that were stored long ago, which no real log can have in a test.
type oldLog struct {
	eventLog
	first    uint64
	messages []events.Message
}

func (l oldLog) Info(context.Context) (eventlog.Info, error) {
	return eventlog.Info{First: 1, ServerFirst: l.first, Last: l.first + uint64(len(l.messages)) - 1}, nil
}

func (l oldLog) StoredBy(_ context.Context, info eventlog.Info, moment time.Time) (uint64, error) {
	n := info.First - 1
	for _, m := range l.messages {
		if !m.StoredAt.After(moment) {
			n++
		}
	}
	return n, nil
}

func (l oldLog) ReadUntil(_ context.Context, from, until uint64, deliver func(events.Message) error) error {
	for seq := from; seq <= until; seq++ {
		if err := deliver(l.messages[seq-l.first]); err != nil {
			return err
		}
	}
	return nil
}

const hours, days = time.Hour, 24 * time.Hour

// delivered are deliveries of a provider every half hour, from so long before now to so long before now.
func delivered(now time.Time, provider string, from, to time.Duration) (list []events.Message) {
	for before := from; before >= to; before -= 30 * time.Minute {
		list = append(list, events.Message{Provider: provider, StoredAt: now.Add(-before)})
	}
	return list
}

func TestTheFirstPullAsksSinceSomethingMayBeMissing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pulled := events.Message{Provider: "a", Source: events.SourcePulled, StoredAt: now.Add(-time.Minute)}
	for name, c := range map[string]struct {
		first    uint64 // that the server has
		messages []events.Message
		before   time.Duration // now
	}{
		"an empty log":                            {1, nil, 30 * days},
		"deliveries without a silence":            {1, delivered(now, "a", 40*days, 0), 3 * days},
		"an outage of an hour, just now":          {1, delivered(now, "a", 40*days, 2*hours), 3 * days},
		"an outage of five days":                  {1, delivered(now, "a", 40*days, 5*days), 5*days + hours},
		"an outage of forty days":                 {1, delivered(now, "a", 50*days, 40*days), 30 * days},
		"an outage that a pull has begun to fill": {1, append(delivered(now, "a", 40*days, 5*days), pulled), 5*days + hours},
		"an outage that ended":                    {1, append(delivered(now, "a", 40*days, 9*days), delivered(now, "a", 4*days, 0)...), 9*days + hours},
		"an outage of this provider only":         {1, append(delivered(now, "a", 40*days, 8*days), delivered(now, "b", 7*days, 0)...), 8*days + hours},
		"a provider that was quiet for long":      {1, append(delivered(now, "a", 50*days, 40*days), delivered(now, "b", 39*days, 0)...), 30 * days},
		"the first delivery after a long silence": {1, append(delivered(now, "a", 50*days, 40*days), delivered(now, "a", 0, 0)...), 30 * days},
		"a log that is pulled only":               {1, []events.Message{pulled}, 30 * days},
		"a provider that is new to the log":       {1, delivered(now, "b", 40*days, 0), 30 * days},
		"a provider that is new to a trimmed log": {7, delivered(now, "b", 40*days, 0), 30 * days},
		"a log that is young":                     {1, delivered(now, "a", 10*days, 0), 30 * days},
		"a log that is trimmed":                   {7, delivered(now, "a", 10*days, 0), 3 * days},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			since, err := firstSince(t.Context(), oldLog{first: c.first, messages: c.messages}, "a", 30*days, now)
			require.NoError(t, err)
			require.Equal(t, c.before, now.Sub(since))
		})
	}
}
