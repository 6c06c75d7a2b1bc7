package identity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// A projector may still have messages of the lost log in hand.
func TestABatchOfTheLostLogIsNotAppliedToTheNewOne(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	everywhere := func(position uint64) map[int]uint64 {
		all := map[int]uint64{}
		for partition := range fixture.Partitions {
			all[partition] = position
		}
		return all
	}
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 5, fixture.Pack("e5", "p5", "u1", 10))}, store.Advance{LogID: "log-1", From: everywhere(0), To: 5})
	require.NoError(t, err)
	_, err = identity.Adopt(ctx, s, eventlog.Info{LogID: "log-2", First: 6, Partitions: fixture.Partitions + 1})
	require.ErrorIs(t, err, identity.ErrNotAdopted, "no projector could work on them")
	_, err = identity.Adopt(ctx, s, eventlog.Info{LogID: "log-2", First: 6, Partitions: fixture.Partitions})
	require.NoError(t, err)
	_, err = identity.Check(ctx, nil, s, eventlog.Info{LogID: "log-3", First: 6, Last: 5, Partitions: fixture.Partitions})
	require.ErrorIs(t, err, identity.ErrLogLost, "a third log that begins there, too")
	late := []events.Event{fixture.Event(t, 6, fixture.Pack("late", "late", "u1", 7))}
	_, err = live.Apply(ctx, s, fixture.AnyMode, late, store.Advance{LogID: "log-1", From: everywhere(5), To: 6})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 6, fixture.Pack("e6", "p6", "u1", 1))}, store.Advance{LogID: "log-2", From: everywhere(5), To: 6})
	require.NoError(t, err)
	require.EqualValues(t, 11, fixture.Number(ctx, t, s, "select balance from credits"))
}

// Live work waits for the lock that adopt-log waits for, so it must not wait for long.
func TestALogIsNotAdoptedWhileABatchHangs(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	hanging := fixture.Connect(ctx, t, s)
	_, err := hanging.Exec(ctx, fmt.Sprintf("begin; select pg_advisory_xact_lock_shared(%d)", store.PromoteLock))
	require.NoError(t, err)
	_, err = identity.Adopt(ctx, s, eventlog.Info{LogID: "log-2", First: 1, Partitions: fixture.Partitions})
	require.True(t, store.TimedOut(err), err)
}

// What the lost log had for them after their positions is lost.
func TestPartitionsThatAreBehindContinueWithTheNewLog(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, nil, store.Advance{LogID: "log-1", From: map[int]uint64{0: 0}, To: 5})
	require.NoError(t, err)
	adopted, err := identity.Adopt(ctx, s, eventlog.Info{LogID: "log-2", First: 6, Partitions: fixture.Partitions})
	require.NoError(t, err)
	require.Equal(t, fixture.Partitions-1, adopted.PartitionsBehind)
	at, err := identity.Check(ctx, nil, s, eventlog.Info{LogID: "log-2", First: 6, Last: 5, Partitions: fixture.Partitions})
	require.NoError(t, err)
	require.Equal(t, identity.Positions{5, 5, 5, 5}, at)
}

// trimmed is a log without its first messages.
type trimmed struct{}

var errTrimmed = errors.New("the archive that has the message cannot be read")

func (trimmed) Info(context.Context) (eventlog.Info, error) { return eventlog.Info{}, nil }
func (trimmed) Message(context.Context, uint64) (events.Message, error) {
	return events.Message{}, errTrimmed
}

// Only an adopted log has no message before its first one.
func TestTheMessageBeforeTheFirstOneOfATrimmedLogIsCompared(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Apply(ctx, s, fixture.AnyMode, nil, store.Advance{LogID: "log-1", From: map[int]uint64{0: 0, 1: 0, 2: 0, 3: 0}, To: 5, Digest: []byte("digest")})
	require.NoError(t, err)
	_, err = identity.Check(ctx, trimmed{}, s, eventlog.Info{LogID: "log-1", First: 6, Last: 9, Partitions: fixture.Partitions})
	require.ErrorIs(t, err, errTrimmed)
}
