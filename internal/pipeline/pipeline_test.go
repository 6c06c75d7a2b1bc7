package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// tape is a log that takes the body back as soon as deliver returns, as ReadUntil may.
type tape struct {
	Log
	breaksAt uint64
	padding  string // of every body
}

var errTape = errors.New("the tape is torn")

func (t tape) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	var buffer []byte
	for seq := from; seq <= until; seq++ {
		if seq == t.breaksAt {
			return errTape
		}
		buffer = fmt.Appendf(buffer[:0], `{"id":"evt_%d","eventType":"any","object":{"padding":%q}}`, seq, t.padding)
		if err := deliver(events.Message{Seq: seq, ID: fmt.Sprintf("evt_%d", seq), Body: buffer}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func TestEveryMessageIsTakenOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.Uint64Range(1, 5).Draw(r, "from")
		until := from + rapid.OneOf(rapid.Uint64Range(0, 30_000), rapid.Uint64Range(0, 100)).Draw(r, "more")
		usualOrAll := rapid.SampledFrom([]uint64{0, 1_000_000})
		most := rapid.OneOf(rapid.Uint64Range(1, 3), rapid.Uint64Range(400, 7000), usualOrAll).Draw(r, "most")
		if most > 0 && most < 4 {
			until = min(until, from+2000)
		}
		var padding string
		if until < from+200 {
			padding = strings.Repeat("x", rapid.IntRange(0, 200_000).Draw(r, "padding"))
		}
		breaksAt := rapid.Uint64Range(0, until).Draw(r, "breaks at")
		refused := rapid.Uint64Range(0, until).Draw(r, "refused")
		fails := rapid.Uint64Range(0, until).Draw(r, "fails")
		errDecode, errTake := errors.New("decode"), errors.New("take")

		decode := func(to []events.Event, m events.Message) ([]events.Event, error) {
			if m.Seq == refused {
				return nil, errDecode
			}
			return append(to, providers.Decode(m)), nil
		}
		next := from
		p := Pipeline{Log: tape{breaksAt: breaksAt, padding: padding}, From: from, Until: until, MaxMessages: most, Decode: decode}
		err := p.Run(context.Background(), func(b *Batch) error {
			began := next
			for _, event := range b.Events {
				require.Equal(r, next, event.Seq)
				require.Equal(r, fmt.Sprintf("evt_%d", next), event.ID)
				next++
			}
			require.Equal(r, next-1, b.Seq())
			require.Less(r, len(b.bodies), decodeBytes+len(padding)+100)
			require.Equal(r, b.last().Digest(), b.Digest)
			require.LessOrEqual(r, next-began, cmp.Or(most, decodeMessages))
			if began <= fails && fails < next {
				return errTake
			}
			return nil
		})
		broken := map[error]bool{errTape: breaksAt >= from, errDecode: refused >= from, errTake: fails >= from}
		if !broken[errTape] && !broken[errDecode] && !broken[errTake] {
			require.NoError(r, err)
			require.Equal(r, until+1, next)
			return
		}
		require.True(r, broken[err], "%v", err)
		require.LessOrEqual(r, next, until+1)
	})
}

func TestBatchesBeforeOneThatCannotBeDecodedAreTaken(t *testing.T) {
	t.Parallel()
	errDecode, taken := errors.New("decode"), uint64(0)
	decode := func(to []events.Event, m events.Message) ([]events.Event, error) {
		if m.Seq == 55 {
			return nil, errDecode
		}
		return append(to, providers.Decode(m)), nil
	}
	p := Pipeline{Log: tape{}, From: 1, Until: 100, MaxMessages: 10, Decode: decode}
	require.ErrorIs(t, p.Run(t.Context(), func(b *Batch) error { taken = b.Seq(); return nil }), errDecode)
	require.EqualValues(t, 50, taken)
}

func TestReadingEndsWithTheErrorOfWhoTakesTheEvents(t *testing.T) {
	t.Parallel()
	errTake, taken := errors.New("enough"), 0
	decode := func(to []events.Event, m events.Message) ([]events.Event, error) {
		return append(to, providers.Decode(m)), nil
	}
	p := Pipeline{Log: tape{}, From: 1, Until: 30_000, Decode: decode}
	err := p.Run(t.Context(), func(b *Batch) error {
		taken += len(b.Events)
		return errTake
	})
	require.ErrorIs(t, err, errTake)
	require.LessOrEqual(t, taken, decodeMessages)
}
