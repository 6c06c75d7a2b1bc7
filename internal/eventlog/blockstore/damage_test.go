package blockstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any one bit of any block: after an orderly stop a start refuses; after a kill it does,
// too, but for what lies above the durable watermark at the end of the newest block.
func TestAnyFlippedBitIsRefusedOrWasNeverConfirmed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		confirmed uint64
		closed    bool
	}{{"closed", 8, true}, {"killed", 8, false}, {"killed before the last flush", 6, false}, {"without a watermark", 0, false}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, 3, 2, 3)
			if row.confirmed > 0 {
				w.mark(row.confirmed, row.closed)
			}
			tried := 0
			for block := 1; block <= 3; block++ {
				whole := w.read(w.block(block))
				for at := range len(whole) {
					bit := 8*at + rand.IntN(8)
					seq := w.at(block, bit/8)
					flipped := append([]byte(nil), whole...)
					flipped[bit/8] ^= 1 << (bit % 8)
					w.write(w.block(block), flipped)
					report, err := w.Check(t.Context(), false, nil)
					require.NoError(t, err)
					message := fmt.Sprintf("block %d, bit %d, seq %d: %+v", block, bit, seq, report)
					mayBeTorn := !row.closed && block == 3 && seq > row.confirmed
					if len(report.Damage) > 0 {
						require.Contains(t, report.Damage[0].File, fmt.Sprintf("%d.blk", block), message)
						require.LessOrEqual(t, report.Damage[0].From, seq, message)
						require.GreaterOrEqual(t, report.Damage[0].To, seq, message)
					} else {
						require.True(t, mayBeTorn, message)
						require.NotNil(t, report.TornTail, message)
						require.Equal(t, seq-1, report.Last, message)
					}
					if tried++; tried%41 == 0 && len(report.Damage) > 0 {
						w.refused(message)
					}
				}
				w.write(w.block(block), whole)
			}
		})
	}
}

// at is the message at that byte of a block.
func (w *world) at(block, offset int) uint64 {
	for seq, place := range w.places {
		if place.block == block && place.from <= offset && offset < place.to {
			return seq
		}
	}
	w.t.Fatalf("nothing at byte %d of block %d", offset, block)
	return 0
}

func TestWhatWasTornAboveTheWatermarkIsKeptBesideTheLog(t *testing.T) {
	t.Parallel()
	for range 8 {
		cut := rand.IntN(80) // a part of the last message is missing
		w := build(t, 3, 3).mark(5, false)
		w.edit(2, func(b []byte) []byte { return b[:len(b)-1-cut] })
		end := w.places[6].from
		rest := string(w.read(w.block(2))[end:])
		require.Equal(t, end, w.starts(5).TornTail.Offset)
		kept, err := filepath.Glob(filepath.Join(w.root, "unconfirmed-*-2.blk"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		require.Equal(t, rest, string(w.read(kept[0])))
	}
}

// What a power cut leaves where a new block was begun and not flushed yet.
func TestBlocksAboveTheWatermarkGoWithATornEndBeforeThem(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(w *world){
		"within a message":   func(w *world) { w.edit(2, func(b []byte) []byte { return b[:len(b)-7] }) },
		"a whole message":    func(w *world) { w.edit(2, func(b []byte) []byte { return b[:w.places[6].from] }) },
		"zeros":              func(w *world) { w.edit(2, func(b []byte) []byte { clear(b[w.places[6].from:]); return b }) },
		"in the block above": func(w *world) { w.edit(3, func(b []byte) []byte { clear(b[:10]); return b }) },
	} {
		w := build(t, 3, 3, 2, 2).mark(5, false)
		tear(w)
		last := uint64(5)
		if strings.Contains(name, "above") {
			last = 6
		}
		report := w.starts(last, name)
		require.NoFileExists(t, filepath.Join(w.dir, indexFile), name)
		require.NotEmpty(t, report.TornTail.Newer, name)
		for _, file := range report.TornTail.Newer {
			require.NoFileExists(t, file, name)
		}
	}
}

// A kill tears nothing but the end: what is whole stays, confirmed or not.
func TestWholeMessagesAboveTheWatermarkStay(t *testing.T) {
	t.Parallel()
	require.Nil(t, build(t, 3, 3, 2).mark(2, false).starts(8).TornTail)
	require.Nil(t, build(t, 3, 3, 2).starts(8).TornTail, "restored without a watermark")
	require.Nil(t, buildFrom(t, 500, 3, 2).mark(501, false).starts(504).TornTail)
	require.Nil(t, buildFrom(t, 500, 0).mark(499, true).starts(499).TornTail)
	w := build(t, 3).mark(3, false)
	w.write(w.block(2), nil) // begun, and killed
	w.starts(3)
	require.NoFileExists(t, w.block(2))
}

// A power cut can leave an older sequence in the watermark. Its block is not older, and the blocks before it were
// flushed, so none of them is torn.
func TestABlockBeforeThatOfTheWatermarkIsNeverTorn(t *testing.T) {
	t.Parallel()
	for _, block := range []int{1, 2} {
		w := build(t, 3, 3, 2).markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: 1, Block: 3})
		w.edit(block, func(b []byte) []byte { return b[:len(b)-7] })
		w.refused(block)
	}
}

// What a log must not look like, after whatever stop.
func TestALogThatLacksBlocksOrHasOthersIsRefused(t *testing.T) {
	t.Parallel()
	rename := func(w *world, from, to int) { require.NoError(t, os.Rename(w.block(from), w.block(to))) }
	remove := func(w *world, block int) { require.NoError(t, os.Remove(w.block(block))) }
	for name, spoil := range map[string]func(w *world){
		"the first block is missing":    func(w *world) { remove(w, 1) },
		"the second block is missing":   func(w *world) { remove(w, 2) },
		"the newest block is missing":   func(w *world) { remove(w, 3) },
		"only the newest is there":      func(w *world) { remove(w, 1); remove(w, 2) },
		"all blocks are missing":        func(w *world) { require.NoError(t, os.RemoveAll(w.dir)) },
		"the stream is missing":         func(w *world) { require.NoError(t, os.RemoveAll(w.folder)) },
		"two blocks are swapped":        func(w *world) { rename(w, 1, 9); rename(w, 2, 1); rename(w, 9, 2) },
		"a block is there twice":        func(w *world) { w.write(w.block(2), w.read(w.block(1))) },
		"a block has another name":      func(w *world) { require.NoError(t, os.Rename(w.block(2), filepath.Join(w.dir, "02.blk"))) },
		"a block ends early":            func(w *world) { w.edit(2, func(b []byte) []byte { return b[:w.places[5].from] }) },
		"a block ends within a message": func(w *world) { w.edit(1, func(b []byte) []byte { return b[:len(b)-1] }) },
		"the newest ends early":         func(w *world) { w.edit(3, func(b []byte) []byte { return b[:w.places[8].from] }) },
		"a block is longer":             func(w *world) { w.edit(1, func(b []byte) []byte { return append(b, "more"...) }) },
		"a message is there twice":      func(w *world) { w.edit(2, func(b []byte) []byte { return append(b, w.message(2, 5)...) }) },
		"a message was cut out":         func(w *world) { w.edit(2, func(b []byte) []byte { return b[w.places[5].from:] }) },
		"a message was erased": func(w *world) {
			w.edit(1, func(b []byte) []byte { return append(w.record(1, 1|isErased, "", "", ""), b[w.places[2].from:]...) })
		},
		"the server has removed some": func(w *world) {
			w.edit(3, func(b []byte) []byte { return append(b, w.record(3, 4|isTombstone, "", "", "")...) })
		},
		"a length takes the whole block": func(w *world) { w.edit(2, func(b []byte) []byte { b[3] |= 0x01; return b }) },
		"blocks that take their place":   func(w *world) { require.NoError(t, os.Mkdir(filepath.Join(w.folder, "__new_msgs__"), 0o700)) },
		"a limit of messages":            func(w *world) { w.changeSettings(`"max_msgs":-1`, `"max_msgs":5`) },
		"a limit of bytes":               func(w *world) { w.changeSettings(`"max_bytes":-1`, `"max_bytes":5`) },
		"a limit of age":                 func(w *world) { w.changeSettings(`"max_age":0`, `"max_age":5`) },
		"a limit of a subject":           func(w *world) { w.changeSettings(`"max_msgs_per_subject":-1`, `"max_msgs_per_subject":5`) },
		"another storage":                func(w *world) { w.changeSettings(`"storage":"file"`, `"storage":"memory"`) },
		"another retention":              func(w *world) { w.changeSettings(`"retention":"limits"`, `"retention":"workqueue"`) },
		"a compression":                  func(w *world) { w.changeSettings(`"compression":"none"`, `"compression":"s2"`) },
		"another format":                 func(w *world) { w.changeSettings(`"format":"2"`, `"format":"1"`) },
		"another log":                    func(w *world) { w.changeSettings(testLogID, "other") },
		"another stream's settings":      func(w *world) { w.changeSettings(testStream, "OTHER") },
		"no settings":                    func(w *world) { require.NoError(t, os.Remove(filepath.Join(w.folder, metaFile))) },
		"no sum of them":                 func(w *world) { require.NoError(t, os.Remove(filepath.Join(w.folder, metaSum))) },
		"a watermark that is cut":        func(w *world) { w.write(w.watermarkPath(), w.read(w.watermarkPath())[:slotSize]) },
		"a watermark of nothing":         func(w *world) { w.write(w.watermarkPath(), nil) },
		"a watermark of another stream":  func(w *world) { w.markAs(Watermark{Stream: "OTHER", LogID: testLogID, Seq: 8, Block: 3}) },
		"a watermark of another log":     func(w *world) { w.markAs(Watermark{Stream: testStream, LogID: "other", Seq: 8, Block: 3}) },
		"a watermark beyond the log":     func(w *world) { w.markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: 9, Block: 3}) },
		"a watermark of a later block":   func(w *world) { w.markAs(Watermark{Stream: testStream, LogID: testLogID, Seq: 8, Block: 4}) },
		"a longer log than was closed":   func(w *world) { w.mark(7, true) },
		"the settings, a bit each": func(w *world) {
			path := filepath.Join(w.folder, metaFile)
			content := w.read(path)
			content[rand.IntN(len(content))] ^= 1 << rand.IntN(8)
			w.write(path, content)
		},
	} {
		for _, closed := range []bool{true, false} {
			w := build(t, 3, 2, 3).mark(8, closed)
			spoil(w)
			t.Logf("%s: %s", name, w.refused(name, closed).Damage[0])
		}
	}
}

func TestALogOfAnotherFormatSaysWhichItHas(t *testing.T) {
	t.Parallel()
	for _, format := range []string{`"1"`, `"3"`, `""`} {
		w := build(t, 3).mark(3, true)
		w.changeSettings(`"format":"2"`, `"format":`+format)
		damage := w.refused("format "+format, true).Damage
		require.Len(t, damage, 1)
		require.Equal(t, "the log has format "+format+", this build reads format 2", damage[0].Reason)
		require.Equal(t, adviceFormat, damage[0].Advice)
	}
}

// Without a watermark, as of a restored backup, only the end of the newest block may
// be torn.
func TestARestoredLogMustBeWholeToo(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"the first block is missing": func(w *world) { require.NoError(t, os.Remove(w.block(1))) },
		"only the newest is there":   func(w *world) { require.NoError(t, errorsOf(os.Remove(w.block(1)), os.Remove(w.block(2)))) },
		"a middle block ends early":  func(w *world) { w.edit(2, func(b []byte) []byte { return b[:w.places[5].from] }) },
		"a middle block is torn":     func(w *world) { w.edit(2, func(b []byte) []byte { return b[:len(b)-1] }) },
	} {
		w := build(t, 3, 2, 3)
		spoil(w)
		w.refused(name)
	}
	w := build(t, 3, 2, 3)
	w.edit(3, func(b []byte) []byte { return b[:len(b)-1] })
	w.starts(7)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A hot backup over a log that the watermark knows less of, or more.
func TestABackupRestoredOverALogLosesNothingSilently(t *testing.T) {
	t.Parallel()
	w := build(t, 2, 2, 2, 2, 2).mark(1, false)
	require.Nil(t, w.starts(10).TornTail, "all of it stays")
	w = build(t, 2, 2).mark(4, false)
	require.NoError(t, os.Remove(w.block(2)))
	report := w.refused()
	require.Contains(t, report.Damage[0].Advice, "remove "+w.watermarkPath())
	require.NoError(t, os.Remove(w.watermarkPath()))
	w.starts(2, "on purpose")
}

func TestAStreamThatIsNotTheLogsIsRefused(t *testing.T) {
	t.Parallel()
	for _, marked := range []bool{true, false} {
		w := build(t, 2)
		if marked {
			w.mark(2, false)
		}
		w.Store = New(w.root, "PAYFOLD", "PAYMENST")
		report := w.refused()
		require.Contains(t, report.Damage[0].Reason, "the log here is stream PAYMENTS, and NATS_STREAM is PAYMENST")
	}
}

// The name is a part of paths.
func TestANameThatNoStreamCanHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../other", `..\other`, "a.b", "a b", "*", ">", "a\tb"} {
		_, err := New(t.TempDir(), "PAYFOLD", name).Recover(t.Context(), nil)
		require.ErrorContains(t, err, "is not a valid name of a stream", name)
	}
}

// A stream whose making was cut off holds nothing, and is made again.
func TestAStreamThatWasJustBeingMadeIsMadeAgain(t *testing.T) {
	t.Parallel()
	notYetCreated := Watermark{Stream: testStream}
	for _, begins := range []uint64{1, 500} {
		w := buildFrom(t, begins, 0).markAs(notYetCreated)
		w.write(filepath.Join(w.folder, metaFile), []byte("{"))
		s, err := w.Recover(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, s.Recovered.LogID)
		require.NoDirExists(t, w.folder)
		require.NoError(t, s.Close(true))
	}

	w := build(t, 1).markAs(notYetCreated)
	w.write(filepath.Join(w.folder, metaFile), []byte("{"))
	w.refused("there is a message in it")
}

func TestWhatIsWholeIsSalvaged(t *testing.T) {
	t.Parallel()
	w := build(t, 4, 4, 4).mark(12, false)
	w.edit(1, func(b []byte) []byte { b[w.places[2].from+3] ^= 1; return b })                     // a length
	w.edit(2, func(b []byte) []byte { b[w.places[6].to-3] ^= 1; return b })                       // a checksum
	w.edit(3, func(b []byte) []byte { clear(b[w.places[9].from : w.places[10].to-1]); return b }) // two messages
	report := w.refused()
	var lost []string
	for _, d := range report.Damage {
		lost = append(lost, fmt.Sprint(d.From, "-", d.To))
	}
	require.Equal(t, []string{"2-2", "6-6", "9-10"}, lost)
	require.EqualValues(t, 8, report.Events)
	var seqs []uint64
	require.NoError(t, w.Salvage(t.Context(), func(r Record) error {
		require.Equal(t, bodyOf(r.Seq), string(r.Body))
		seqs = append(seqs, r.Seq)
		return nil
	}))
	require.Equal(t, []uint64{1, 3, 4, 5, 7, 8, 11, 12}, seqs)
	_, err := json.Marshal(report)
	require.NoError(t, err)
}

// Beside a running ingest, what is not durable yet is not judged.
func TestARunningLogIsCheckedUpToItsWatermark(t *testing.T) {
	t.Parallel()
	w := build(t, 3, 3).mark(4, false)
	w.edit(2, func(b []byte) []byte { return b[:len(b)-5] })
	report, err := w.Check(t.Context(), true, nil)
	require.NoError(t, err)
	require.Empty(t, report.Damage)
	require.EqualValues(t, 4, report.Last)
	require.EqualValues(t, 4, report.Events)
	w.edit(1, func(b []byte) []byte { b[30] ^= 1; return b })
	report, err = w.Check(t.Context(), true, nil)
	require.NoError(t, err)
	require.Len(t, report.Damage, 1)
}

// A process can have too many open files for a while, or too little memory.
func TestAFileThatThisProcessCannotReadIsNoDamage(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]func(w *world) string{
		"a block":      func(w *world) string { return w.block(2) },
		"the settings": func(w *world) string { return filepath.Join(w.folder, metaFile) },
		"their sum":    func(w *world) string { return filepath.Join(w.folder, metaSum) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, 3, 2, 3).mark(8, true)
			require.NoError(t, os.Remove(file(w)))
			require.NoError(t, os.Symlink(filepath.Base(file(w)), file(w))) // to itself
			for _, running := range []bool{false, true} {
				_, err := w.Check(t.Context(), running, nil)
				require.ErrorIs(t, err, syscall.ELOOP)
			}
			_, err := w.Scrub(t.Context(), func(context.Context, int) error { return nil })
			require.ErrorIs(t, err, syscall.ELOOP)
			_, err = w.Recover(t.Context(), nil)
			require.ErrorIs(t, err, syscall.ELOOP)
		})
	}
	trimmed := build(t, 3, 2, 3)
	trimmed.changeSettings(`"format":"2"`, `"format":"2","trimmable":"true"`)
	require.NoError(t, os.Remove(trimmed.block(1)))
	require.NoError(t, os.Remove(trimmed.block(2)))
	require.NoError(t, os.Symlink("2.blk", trimmed.block(2)))
	_, err := trimmed.Check(t.Context(), false, nil)
	require.ErrorIs(t, err, syscall.ELOOP, "nothing says with which message it begins")
	unwritten := build(t, 3, 2, 3).mark(8, false)
	expected, err := unwritten.expect(false)
	require.NoError(t, err)
	require.NoError(t, os.Remove(unwritten.block(3)))
	require.NoError(t, os.Symlink("3.blk", unwritten.block(3)))
	require.ErrorIs(t, unwritten.writeAgain(expected), syscall.ELOOP, "a later check may read it")
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR, syscall.EACCES} {
		require.False(t, isLost(&fs.PathError{Op: "open", Path: "1.blk", Err: err}), "%v", err)
	}
	for _, err := range []error{syscall.EIO, syscall.ENOENT} {
		require.True(t, isLost(&fs.PathError{Op: "read", Path: "1.blk", Err: err}), "%v", err)
	}
}
