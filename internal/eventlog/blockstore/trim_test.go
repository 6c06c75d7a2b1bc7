package blockstore

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trimmedTo starts a log of four blocks of ten messages, decides to trim it to seq 25, and is
// killed before the server has removed anything.
func trimmedTo25(t *testing.T) *world {
	t.Helper()
	w := build(t, 10, 10, 10, 10).mark(40, false)
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	firsts, err := s.Trim(25)
	require.NoError(t, err)
	require.Equal(t, []uint64{11, 21}, firsts)
	require.NoError(t, s.Close(false))
	return w
}

func (w *world) exists(path string) bool {
	_, err := os.Stat(path)
	require.True(w.t, err == nil || errors.Is(err, fs.ErrNotExist))
	return err == nil
}

// A kill interrupts the removal of blocks. A power cut can bring some of them back, in any
// combination, and the index that names them.
func TestATrimIsCompletedWhateverIsLeftOfIt(t *testing.T) {
	t.Parallel()
	for removed := range 4 {
		for _, closed := range []bool{false, true} {
			w := trimmedTo25(t)
			for n := range 2 {
				if removed&(1<<n) != 0 {
					require.NoError(t, os.Remove(w.block(n+1)))
				}
			}
			w.write(filepath.Join(w.dir, indexFile), []byte("old"))
			mark, err := w.Watermark()
			require.NoError(t, err)
			mark.Closed = closed
			w.markAs(*mark)
			report := w.starts(40, removed, closed)
			require.Equal(t, []uint64{21, 20}, []uint64{report.First, report.Events})
			require.False(t, w.exists(w.block(1)) || w.exists(w.block(2)))
			kept := w.exists(filepath.Join(w.dir, indexFile))
			require.Equal(t, closed && removed == 3, kept, "an index that names removed blocks is removed")
			w.starts(40, "again")
		}
	}
}

func TestATrimKeepsWholeBlocksFromASequenceOn(t *testing.T) {
	t.Parallel()
	for seq, want := range map[uint64]struct {
		firsts []uint64
		block  int
	}{
		1: {nil, 0}, 10: {nil, 0}, 11: {[]uint64{11}, 2}, 20: {[]uint64{11}, 2}, 21: {[]uint64{11, 21}, 3}, 40: {[]uint64{11, 21, 31}, 4},
	} {
		w := build(t, 10, 10, 10, 10).mark(40, false)
		s, err := w.Recover(t.Context(), nil)
		require.NoError(t, err)
		before := w.tree()
		firsts, err := s.Trim(seq)
		require.NoError(t, err)
		require.Equal(t, want.firsts, firsts, seq)
		mark, err := w.Watermark()
		require.NoError(t, err)
		require.Equal(t, want.block, mark.FirstBlock, seq)
		if want.block == 0 {
			require.Equal(t, before, w.tree())
		}
		again, err := s.Trim(seq)
		require.NoError(t, err)
		require.Equal(t, firsts, again, "until the server has removed the blocks")
		_, err = s.Trim(41)
		require.ErrorIs(t, err, ErrUnexpectedLayout, "no message there is durable")
		require.NoError(t, s.Close(true))
	}
}

func TestDamageOfWhatATrimKeepsIsFound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"the first block is gone":  func(w *world) { require.NoError(t, os.Remove(w.block(3))) },
		"a bit of the first block": func(w *world) { w.edit(3, func(b []byte) []byte { b[30] ^= 1; return b }) },
		"all blocks are gone":      func(w *world) { require.NoError(t, os.RemoveAll(w.dir)) },
		"the next block begins a log again": func(w *world) {
			w.edit(3, func([]byte) []byte { return w.message(3, 30) })
		},
	} {
		w := trimmedTo25(t)
		spoil(w)
		report := w.refused(name)
		require.NotZero(t, report.Damage, name)
	}
	w := trimmedTo25(t) // what is removed need not be whole
	w.edit(1, func(b []byte) []byte { b[30] ^= 1; return b })
	w.starts(40)
}

// A running server removes blocks while they are read. What is left is read once.
func TestACheckBesideATrimFindsNoDamage(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(s *Syncer, afterBlock func()) (*Report, error){
		"check": func(s *Syncer, afterBlock func()) (*Report, error) {
			return s.Check(t.Context(), true, func(int, int) { afterBlock() })
		},
		"scrub": func(s *Syncer, afterBlock func()) (*Report, error) {
			return s.Scrub(t.Context(), func(context.Context, int) error { afterBlock(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, 10, 10, 10, 10).mark(40, false)
			s, err := w.Recover(t.Context(), nil)
			require.NoError(t, err)
			calls := 0
			report, err := check(s, func() {
				if calls++; calls == 1 {
					_, err := s.Trim(25)
					require.NoError(t, errors.Join(err, ignoreMissing(os.Remove(w.block(1))), ignoreMissing(os.Remove(w.block(2)))))
				}
			})
			require.NoError(t, err)
			require.Equal(t, 4, calls)
			require.Empty(t, report.Damage)
			require.Equal(t, []uint64{21, 40, 20}, []uint64{report.First, report.Last, report.Events})
			require.NoError(t, s.Close(true))
		})
	}
}

// If everything is removed that was durable when the check began, it begins again.
func TestACheckWhoseMessagesAreAllTrimmedBeginsAgain(t *testing.T) {
	t.Parallel()
	w := build(t, 10, 10, 10, 10).mark(40, false)
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	calls := 0
	report, err := s.Scrub(t.Context(), func(context.Context, int) error {
		if calls++; calls == 1 {
			w.write(w.block(5), w.message(5, 41))
			w.write(w.block(6), w.message(6, 42))
			require.NoError(t, s.Flush(42))
			_, err := s.Trim(42)
			require.NoError(t, err)
			for block := 1; block <= 5; block++ {
				require.NoError(t, os.Remove(w.block(block)))
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, report.Damage)
	require.Equal(t, []uint64{42, 42, 1}, []uint64{report.First, report.Last, report.Events})
	require.NoError(t, s.Close(true))
}

// Without its watermark nobody knows what was trimmed from a log, so it is taken as it is. One that
// cannot be trimmed must begin with its first message.
func TestATrimmedLogWithoutAWatermarkIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	w := trimmedTo25(t)
	w.starts(40)
	require.NoError(t, os.Remove(w.watermarkPath()))
	require.EqualValues(t, 1, w.refused().Damage[0].From)
	w.trimmable()
	for range 2 {
		require.EqualValues(t, 21, w.starts(40).First)
	}
}

func TestAWatermarkSaysWhatWasTrimmedConsistently(t *testing.T) {
	t.Parallel()
	for _, change := range []func(w *Watermark){
		func(w *Watermark) { w.First = 5 },
		func(w *Watermark) { w.FirstBlock = 2 },
		func(w *Watermark) { w.First, w.FirstBlock = 41, 2 },
		func(w *Watermark) { w.First, w.FirstBlock = 5, 3 },
		func(w *Watermark) { w.First, w.FirstBlock = 5, -1 },
	} {
		w := ordinaryWatermark(40)
		change(&w)
		slot := make([]byte, slotSize)
		require.NoError(t, w.encode(slot))
		_, err := decode(slot)
		require.ErrorIs(t, err, errWatermark)
	}
	longest := Watermark{
		Format: watermarkFormat, Writes: math.MaxUint64, Stream: strings.Repeat("s", 200), LogID: testLogID,
		Seq: isTombstone - 1, Block: math.MaxInt32, First: isTombstone - 1, FirstBlock: math.MaxInt32,
	}
	slot := make([]byte, slotSize)
	require.NoError(t, longest.encode(slot))
	read, err := decode(slot)
	require.NoError(t, err)
	require.Equal(t, longest, read)
}

// A watermark that could not be written is written by the next attempt, before anything is removed.
func TestATrimWhoseWatermarkFailsIsNotTakenForDurable(t *testing.T) {
	t.Parallel()
	w := build(t, 10, 10, 10, 10).mark(40, false)
	s, err := w.Recover(t.Context(), nil)
	require.NoError(t, err)
	good := s.watermark.file
	s.watermark.file, err = os.Open(w.watermarkPath()) // cannot be written
	require.NoError(t, err)
	_, err = s.Trim(25)
	require.Error(t, err)
	_, err = s.Trim(25)
	require.Error(t, err, "still not written")
	require.NoError(t, s.watermark.file.Close())
	s.watermark.file = good
	_, err = s.Trim(25)
	require.NoError(t, err)
	mark, err := w.Watermark()
	require.NoError(t, err)
	require.EqualValues(t, 21, mark.First)
	require.NoError(t, s.Close(true))
}

// The server is never told to remove more than was asked for.
func TestATrimNamesOnlySequencesThatMayBeRemoved(t *testing.T) {
	t.Parallel()
	for spoiled := 1; spoiled <= 4; spoiled++ {
		w := build(t, 10, 10, 10, 10).mark(40, false)
		s, err := w.Recover(t.Context(), nil)
		require.NoError(t, err)
		w.edit(spoiled, func(b []byte) []byte { b[30] ^= 1; return b })
		firsts, err := s.Trim(35)
		require.True(t, err == nil || errors.Is(err, ErrUnexpectedLayout), err)
		for _, first := range firsts {
			require.LessOrEqual(t, first, uint64(35))
		}
		require.NoError(t, s.Close(false))
	}
}

// trimmable makes the stream one that can be trimmed.
func (w *world) trimmable() { w.changeSettings(`"metadata":{`, `"metadata":{"trimmable":"true",`) }

// A copy whose only block is damaged at its beginning must not become an empty log that begins with 1.
func TestATrimmedCopyThatIsDamagedDoesNotBeginAgain(t *testing.T) {
	t.Parallel()
	w := build(t, 10, 10, 10).mark(30, false)
	w.trimmable()
	require.NoError(t, os.Remove(w.watermarkPath()))
	require.NoError(t, os.Remove(w.block(1)))
	require.NoError(t, os.Remove(w.block(2)))
	w.edit(3, func(b []byte) []byte { b[30] ^= 1; return b })
	_, err := w.Recover(t.Context(), nil)
	require.ErrorAs(t, err, new(*DamagedError))
	require.ErrorContains(t, err, "nobody knows")
}
