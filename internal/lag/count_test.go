package lag_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/lag"
)

// trimmed is a log of 3,000 messages in two partitions. Its server has those from seq 1001 on.
type trimmed struct{ lag.Log }

var infoOfTrimmed = eventlog.Info{First: 1, ServerFirst: 1001, Last: 3000}

func (trimmed) Info(context.Context) (eventlog.Info, error) { return infoOfTrimmed, nil }

func (l trimmed) Waiting(ctx context.Context, partition int, after uint64) (out eventlog.Waiting, err error) {
	return out, l.ReadUntil(ctx, max(after+1, infoOfTrimmed.ServerFirst), infoOfTrimmed.Last, func(m events.Message) error {
		if m.Partition == partition {
			if out.Count++; out.Count == 1 {
				out.Oldest = m
			}
		}
		return nil
	})
}

func (trimmed) ReadUntil(_ context.Context, from, until uint64, deliver func(events.Message) error) error {
	for seq := from; seq <= until; seq++ {
		if err := deliver(events.Message{Seq: seq, Partition: int(seq % 2)}); err != nil {
			return err
		}
	}
	return nil
}

func TestWhatOnlyTheArchiveHasIsCounted(t *testing.T) {
	t.Parallel()
	before := infoOfTrimmed
	before.ServerFirst = 501
	for _, info := range []eventlog.Info{infoOfTrimmed, before} { // the log is trimmed after the second one
		found, err := lag.Count(t.Context(), trimmed{}, info, map[int]uint64{0: 100, 1: 2000})
		require.NoError(t, err)
		require.Equal(t, lag.ByPartition{
			0: {Count: 1450, Oldest: events.Message{Seq: 102}},
			1: {Count: 500, Oldest: events.Message{Seq: 2001, Partition: 1}},
		}, found)
	}
}

func TestALogThatEndsBeforeTheTablesIsNoLagOfNothing(t *testing.T) {
	t.Parallel()
	_, err := lag.Count(t.Context(), trimmed{}, infoOfTrimmed, map[int]uint64{0: 3000, 1: 3001})
	require.ErrorContains(t, err, "it has lost messages")
}

func TestTheOldestMessageOfAllPartitionsCounts(t *testing.T) {
	t.Parallel()
	waiting := func(count, second uint64) eventlog.Waiting {
		return eventlog.Waiting{Count: count, Oldest: events.Message{ReceivedAt: time.Unix(int64(second), 0)}}
	}
	sum := lag.ByPartition{0: waiting(3, 20), 1: {}, 2: waiting(1, 10), 3: waiting(2, 30)}.Sum()
	require.Equal(t, waiting(6, 10), sum)
}
