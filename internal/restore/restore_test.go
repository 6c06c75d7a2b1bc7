package restore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/archiver"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const partitions = 4

// setup returns a log with that many messages, and the place of its whole archive.
func setup(t *testing.T, messages int) (*testenv.Log, storage.Place) {
	t.Helper()
	log := testenv.NewLog(t, partitions)
	customers := testenv.Customers(7)
	for i := range messages {
		log.Deliver(t, customers.Event(i))
	}
	place := placeAt(t, filepath.Join(t.TempDir(), "archive"))
	archiveAll(t, log.Log, place)
	return log, place
}

func placeAt(t testing.TB, path string) storage.Place {
	t.Helper()
	place, err := storage.Settings{URL: path}.Place()
	require.NoError(t, err)
	return place
}

// archiveAll archives all of the log, in many segments; in at most that many, if a number is given.
func archiveAll(t *testing.T, log *eventlog.Log, place storage.Place, segments ...int) {
	t.Helper()
	opened := archiver.RunToEnd(t, archive.Config{Place: place, Source: log, SegmentBytes: 32 << 10, FrameBytes: 4 << 10}, func() bool {
		paths, err := filepath.Glob(filepath.Join(place.String(), "*", "*.seg"))
		return err == nil && (segments == nil || len(paths) <= segments[0])
	})
	require.Empty(t, opened.Faults())
	require.NoError(t, opened.Check(t.Context(), func(fault error) { require.NoError(t, fault) }))
}

func config(place storage.Place) restore.Config {
	return restore.Config{
		Place: place, Progress: func(string, uint64, uint64) {},
		Stream: eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, DuplicateWindow: time.Minute},
	}
}

// records returns all messages of a log with all their headers.
func records(t *testing.T, log *eventlog.Log) (out []archive.Record) {
	t.Helper()
	info, err := log.Info(t.Context())
	require.NoError(t, err)
	require.NoError(t, log.ReadRecords(t.Context(), info.First, info.Last, func(r archive.Record) error {
		r.Header, r.Body = slices.Clone(r.Header), bytes.Clone(r.Body)
		out = append(out, r)
		return nil
	}))
	return out
}

// requireEqualLogs compares two logs, also as the readers of another process are given them.
func requireEqualLogs(t *testing.T, lost, restored *eventlog.Log) {
	t.Helper()
	want, err := lost.Info(t.Context())
	require.NoError(t, err)
	got, err := restored.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{want.LogID, want.First, want.Last, want.Partitions}, []any{got.LogID, got.First, got.Last, got.Partitions})
	require.NoError(t, got.Unsafe)
	require.Equal(t, records(t, lost), records(t, restored))
	for seq := want.First; seq <= want.Last; seq += 7 {
		message, err := lost.Message(t.Context(), seq)
		require.NoError(t, err)
		other, err := restored.Message(t.Context(), seq)
		require.NoError(t, err)
		require.Equal(t, message, other)
	}
}

func TestARestoredLogIsTheLostOneAndGoesOn(t *testing.T) {
	t.Parallel()
	lost, place := setup(t, 100)
	dir := t.TempDir()
	result, err := restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 100, 1}, []uint64{result.First, result.Last, result.Begun})
	require.True(t, result.StoredTo.Equal(records(t, lost.Log)[99].StoredAt), result.StoredTo)

	again := &testenv.Log{Dir: dir}
	again.Start(t, partitions)
	defer again.Stop(t)
	requireEqualLogs(t, lost.Log, again.Log)
	requireEqualLogs(t, lost.Log, again.Reader(t))
	again.Deliver(t, testenv.Customers(7).Event(100))
	info, err := again.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 101, info.Last)
	archiveAll(t, again.Log, place)
	archiveAll(t, again.Log, placeAt(t, filepath.Join(t.TempDir(), "made-anew")))
}

// Two events of one id can both be in a log, if the second came after the duplicate window. A
// restore writes them within a second.
func TestARestoreDropsNoSecondEventOfOneID(t *testing.T) {
	t.Parallel()
	server := testenv.NewNATS(t)
	lost := server.Log(t)
	require.NoError(t, lost.EnsureStream(t.Context(), eventlog.StreamConfig{
		Name: testenv.Stream, Replicas: 1, Partitions: partitions, DuplicateWindow: 100 * time.Millisecond,
	}, testenv.Logger(t)))
	for _, id := range []string{"evt_1", "evt_2", "evt_1"} {
		delivery := testenv.Delivery(t, fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{}}`, id))
		wait.Until(t, func() bool {
			duplicate, err := lost.Append(t.Context(), delivery)
			require.NoError(t, err)
			return !duplicate
		})
	}
	place := placeAt(t, t.TempDir())
	archiveAll(t, lost, place)
	dir := t.TempDir()
	_, err := restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.NoError(t, err)
	again := &testenv.Log{Dir: dir}
	again.Start(t, partitions)
	defer again.Stop(t)
	requireEqualLogs(t, lost, again.Log)
}

func TestARestoreIntoACluster(t *testing.T) {
	t.Parallel()
	lost, place := setup(t, 60)
	c := config(place)
	c.Log = testenv.NewNATS(t).Log(t)
	_, err := restore.Run(t.Context(), c)
	require.NoError(t, err)
	requireEqualLogs(t, lost.Log, c.Log)
	_, err = restore.Run(t.Context(), c)
	require.ErrorIs(t, err, eventlog.ErrNotEmpty)
	requireEqualLogs(t, lost.Log, c.Log)
}

// An ingest that still runs on the cluster whose stream was lost knows the lost stream's settings
// for some seconds. What it confirmed would stand at the sequence of another event.
func TestNobodyElseAppendsDuringARestore(t *testing.T) {
	t.Parallel()
	lost, place := setup(t, 60)
	server := testenv.NewNATS(t)
	server.CreateStream(t.Context(), t, partitions)
	running := server.Log(t)
	delivery := testenv.Delivery(t, testenv.Customers(7).Event(60))
	_, err := running.Append(t.Context(), delivery)
	require.NoError(t, err)
	require.NoError(t, server.JetStream.DeleteStream(t.Context(), testenv.Stream))

	c := config(place)
	c.Log, c.LostUntil = server.Log(t), 62
	c.Progress = func(doing string, seq, _ uint64) {
		if seq == 30 || seq >= 60 {
			_, err := running.Append(t.Context(), delivery)
			require.Error(t, err, "%s %d", doing, seq)
		}
	}
	_, err = restore.Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, records(t, lost.Log), records(t, c.Log)[:60])
	info, err := c.Log.Info(t.Context())
	require.NoError(t, err)
	require.NoError(t, info.Unsafe)
	require.EqualValues(t, 62, info.Last)
	duplicate, err := running.Append(t.Context(), delivery)
	require.NoError(t, err)
	require.False(t, duplicate)
	message, err := c.Log.Message(t.Context(), 63)
	require.NoError(t, err)
	require.Equal(t, delivery.Event.ID, message.ID)
}

// interrupt begins a restore into dir, and interrupts it when its progress is as wanted.
func interrupt(t *testing.T, c restore.Config, dir string, at func(doing string, seq uint64) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(doing string, seq, _ uint64) {
		if at(doing, seq) {
			cancel()
		}
	}
	_, err := restore.Embedded(ctx, c, dir, testenv.Logger(t))
	require.ErrorIs(t, err, context.Canceled)
}

// Until it is whole, a restored log is used by nobody, and the same command goes on.
func TestAnInterruptedRestoreGoesOn(t *testing.T) {
	t.Parallel()
	lost, place := setup(t, 100)
	for _, stop := range []struct {
		doing string
		seq   uint64
	}{{"restored", 1}, {"restored", 50}, {"restored", 100}, {"compared", 100}} {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			interrupt(t, config(place), dir, func(doing string, seq uint64) bool { return doing == stop.doing && seq >= stop.seq })
			found, err := check.Files(t.Context(), check.Config{Stream: testenv.Stream}, dir)
			require.NoError(t, err)
			require.True(t, found.Restoring)
			require.False(t, found.Whole)

			server, err := eventlog.StartEmbedded(t.Context(), eventlog.EmbeddedConfig{DataDir: dir, Stream: testenv.Stream, Logger: testenv.Logger(t)})
			require.NoError(t, err)
			half, err := server.Connect()
			require.NoError(t, err)
			require.ErrorIs(t, half.EnsureStream(t.Context(), eventlog.StreamConfig{Name: testenv.Stream, Replicas: 1, Partitions: partitions}, testenv.Logger(t)), eventlog.ErrRestoring)
			require.ErrorIs(t, half.Ready(t.Context()), eventlog.ErrRestoring)
			_, err = half.Append(t.Context(), testenv.Delivery(t, testenv.Customers(7).Event(1)))
			require.ErrorIs(t, err, eventlog.ErrRestoring)
			require.ErrorIs(t, half.ReadUntil(t.Context(), 1, 1, nil), eventlog.ErrRestoring)
			half.Close()
			require.NoError(t, server.Close())

			_, other := setup(t, 3)
			_, err = restore.Embedded(t.Context(), config(other), dir, testenv.Logger(t))
			require.ErrorIs(t, err, eventlog.ErrNotEmpty, "another log is being restored there")
			trimmable := config(place)
			trimmable.Stream.Trimmable = true
			_, err = restore.Embedded(t.Context(), trimmable, dir, testenv.Logger(t))
			require.ErrorContains(t, err, "LOG_KEEP")

			result, err := restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
			require.NoError(t, err)
			require.Positive(t, result.Begun)
			again := &testenv.Log{Dir: dir}
			again.Start(t, partitions)
			defer again.Stop(t)
			requireEqualLogs(t, lost.Log, again.Log)
		})
	}
}

// damage changes one byte of a file.
func damage(t *testing.T, path string, at func(size int) int) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[at(len(content))] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// The disk fails during a restore. What was restored can be thrown away, as the archive has it.
func TestADamagedHalfRestoredLogSaysWhatToRemove(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 100)
	dir := t.TempDir()
	interrupt(t, config(place), dir, func(doing string, _ uint64) bool { return doing == "compared" })
	blocks, err := filepath.Glob(filepath.Join(dir, "log", "jetstream", "*", "streams", testenv.Stream, "msgs", "*.blk"))
	require.NoError(t, err)
	require.NotEmpty(t, blocks)
	damage(t, blocks[0], func(size int) int { return size / 2 })
	_, err = restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.ErrorContains(t, err, "remove "+filepath.Join(dir, "log")+" and restore again")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "log")))
	_, err = restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.NoError(t, err)
}

// An operator follows what a start of ingest and the restore say.
func TestARestoreOverADamagedLogSaysToMoveItAway(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, stream string){
		"a damaged block": func(t *testing.T, stream string) {
			damage(t, filepath.Join(stream, "msgs", "1.blk"), func(size int) int { return size / 2 })
		},
		"the stream is gone": func(t *testing.T, stream string) { require.NoError(t, os.RemoveAll(stream)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost, place := setup(t, 20)
			before := records(t, lost.Log)
			lost.Stop(t)
			streams, err := filepath.Glob(filepath.Join(lost.Dir, "log", "jetstream", "*", "streams", testenv.Stream))
			require.NoError(t, err)
			require.Len(t, streams, 1)
			spoil(t, streams[0])
			_, err = restore.Embedded(t.Context(), config(place), lost.Dir, testenv.Logger(t))
			require.ErrorContains(t, err, "move DATA_DIR/log away, and restore the log from its archive")
			require.NoError(t, os.Rename(filepath.Join(lost.Dir, "log"), filepath.Join(lost.Dir, "log.damaged")))
			_, err = restore.Embedded(t.Context(), config(place), lost.Dir, testenv.Logger(t))
			require.NoError(t, err)
			lost.Start(t, partitions)
			require.Len(t, records(t, lost.Log), len(before))
		})
	}
}

// altered is a log with another message.
type altered struct{ *eventlog.Log }

func (a altered) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return a.Log.ReadRecords(ctx, from, until, func(r archive.Record) error {
		if r.Seq == 50 {
			r.Body = []byte("{}")
		}
		return deliver(r)
	})
}

// Somebody goes on with an older copy of the archive, or with one that was changed.
func TestARestoreIsFinishedOnlyWithTheArchiveThatItBeganWith(t *testing.T) {
	t.Parallel()
	lost, place := setup(t, 100)
	dir := t.TempDir()
	interrupt(t, config(place), dir, func(doing string, _ uint64) bool { return doing == "compared" })

	older := filepath.Join(t.TempDir(), "archive")
	require.NoError(t, os.CopyFS(older, os.DirFS(place.String())))
	segments, err := filepath.Glob(filepath.Join(older, "*", "*.seg"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(segments[len(segments)-1]))
	_, err = restore.Embedded(t.Context(), config(placeAt(t, older)), dir, testenv.Logger(t))
	require.ErrorContains(t, err, "has messages up to seq 100, the archive up to")

	changed := placeAt(t, filepath.Join(t.TempDir(), "archive"))
	archiver.RunToEnd(t, archive.Config{Place: changed, Source: altered{lost.Log}, SegmentBytes: 32 << 10}, nil)
	_, err = restore.Embedded(t.Context(), config(changed), dir, testenv.Logger(t))
	require.ErrorAs(t, err, new(*restore.UnusableError))
	require.ErrorContains(t, err, "are others than in segment")

	_, err = restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.NoError(t, err)
}

func TestARestoreTouchesNoOtherLog(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 10)
	other, _ := setup(t, 5)
	before := records(t, other.Log)
	other.Stop(t)
	_, err := restore.Embedded(t.Context(), config(place), other.Dir, testenv.Logger(t))
	require.ErrorIs(t, err, eventlog.ErrNotEmpty)
	other.Start(t, partitions)
	require.Equal(t, before, records(t, other.Log))
}

// A log whose first message was not number 1 continues another one.
func TestALogThatBeginsLaterIsRestoredWithItsSequences(t *testing.T) {
	t.Parallel()
	lost := testenv.NewNATS(t).Log(t)
	require.NoError(t, lost.EnsureStream(t.Context(), eventlog.StreamConfig{
		Name: testenv.Stream, Replicas: 1, Partitions: partitions, DuplicateWindow: time.Minute, FirstSeq: 1000,
	}, testenv.Logger(t)))
	for i := range 20 {
		require.NoError(t, testenv.Append(t.Context(), lost, testenv.Delivery(t, testenv.Customers(7).Event(i))))
	}
	place := placeAt(t, t.TempDir())
	archiveAll(t, lost, place)
	dir := t.TempDir()
	result, err := restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
	require.NoError(t, err)
	require.Equal(t, []uint64{1000, 1019}, []uint64{result.First, result.Last})
	again := &testenv.Log{Dir: dir}
	again.Start(t, partitions)
	defer again.Stop(t)
	requireEqualLogs(t, lost, again.Log)
}

// Nothing of a damaged archive is taken for the log.
func TestADamagedArchiveIsNotRestored(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 100)
	segments, err := filepath.Glob(filepath.Join(place.String(), "*", "*.seg"))
	require.NoError(t, err)
	require.Greater(t, len(segments), 2)
	for _, where := range []string{"a frame", "a footer", "a missing segment"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), "archive")
			require.NoError(t, os.CopyFS(copied, os.DirFS(place.String())))
			segment := filepath.Join(copied, filepath.Base(filepath.Dir(segments[1])), filepath.Base(segments[1]))
			switch where {
			case "a frame":
				damage(t, segment, func(int) int { return 200 })
			case "a footer":
				damage(t, segment, func(size int) int { return size - 1 })
			default:
				require.NoError(t, os.Remove(segment))
			}
			dir := t.TempDir()
			_, err := restore.Embedded(t.Context(), config(placeAt(t, copied)), dir, testenv.Logger(t))
			unusable := new(restore.UnusableError)
			require.ErrorAs(t, err, &unusable)
			if where != "a missing segment" {
				require.ErrorContains(t, err, filepath.Base(segment))
			}
			_, err = restore.Embedded(t.Context(), config(place), dir, testenv.Logger(t))
			require.NoError(t, err, "the same command goes on with a whole archive")
		})
	}
}

// An archiver may be at work: it merges the segments that the restore is about to read.
func TestARestoreFollowsAnArchiveThatGrows(t *testing.T) {
	t.Parallel()
	log := testenv.NewLog(t, partitions)
	place := placeAt(t, filepath.Join(t.TempDir(), "archive"))
	grow := func(from, until int) {
		for i := from; i < until; i++ {
			log.Deliver(t, testenv.Customers(7).Event(i))
			archiveAll(t, log.Log, place) // a segment of its own
		}
	}
	grow(0, 6)
	c := config(place)
	grown := false
	c.Progress = func(string, uint64, uint64) {
		if !grown {
			grown = true
			grow(6, 8)
			log.Deliver(t, testenv.Customers(7).Event(8))
			archiveAll(t, log.Log, place, 2) // eight or more are merged, and the parts are removed
		}
	}
	dir := t.TempDir()
	result, err := restore.Embedded(t.Context(), c, dir, testenv.Logger(t))
	require.NoError(t, err)
	require.EqualValues(t, 9, result.Last)
}

func TestADrillLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 30)
	scratch, clustered := t.TempDir(), config(place)
	clustered.Stream.Replicas = 3
	result, err := restore.Drill(t.Context(), clustered, scratch, testenv.Logger(t))
	require.NoError(t, err)
	require.EqualValues(t, 30, result.Last)
	segments, err := filepath.Glob(filepath.Join(place.String(), "*", "*.seg"))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(segments[0], 200))
	_, err = restore.Drill(t.Context(), clustered, scratch, testenv.Logger(t))
	require.ErrorAs(t, err, new(*restore.UnusableError))
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnEmptyPlaceAndOneWithTwoLogsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := restore.Embedded(t.Context(), config(placeAt(t, t.TempDir())), t.TempDir(), testenv.Logger(t))
	require.ErrorContains(t, err, "no segment of any log")
	_, one := setup(t, 3)
	_, two := setup(t, 3)
	both := t.TempDir()
	require.NoError(t, errors.Join(os.CopyFS(both, os.DirFS(one.String())), os.CopyFS(both, os.DirFS(two.String()))))
	_, err = restore.Embedded(t.Context(), config(placeAt(t, both)), t.TempDir(), testenv.Logger(t))
	require.ErrorContains(t, err, "several logs")
}

// What the archive does not have is lost, but its sequences are not given out again.
func TestMarksStandForWhatTheArchiveLacks(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 10)
	for _, wrong := range []uint64{3, 1 << 40} {
		c := config(place)
		c.LostUntil = wrong
		_, err := restore.Embedded(t.Context(), c, t.TempDir(), testenv.Logger(t))
		require.ErrorContains(t, err, "cannot be the newest sequence")
	}
	c := config(place)
	c.LostUntil = 10
	result, err := restore.Embedded(t.Context(), c, t.TempDir(), testenv.Logger(t))
	require.NoError(t, err, "the archive has all of it")
	require.EqualValues(t, 10, result.Last)
	c.LostUntil = 15
	dir := t.TempDir()
	interrupt(t, c, dir, func(_ string, seq uint64) bool { return seq == 13 })
	result, err = restore.Embedded(t.Context(), c, dir, testenv.Logger(t))
	require.NoError(t, err)
	require.Equal(t, []uint64{10, 15}, []uint64{result.Last, result.LostUntil})
	again := &testenv.Log{Dir: dir}
	again.Start(t, partitions)
	defer again.Stop(t)
	for seq := uint64(9); seq <= 15; seq++ {
		message, err := again.Message(t.Context(), seq)
		require.NoError(t, err)
		require.Equal(t, seq > 10, message.Lost())
		if message.Lost() {
			require.Equal(t, events.OwnEvents, message.Provider)
		}
	}
	archiveAll(t, again.Log, place)
}

// Somebody writes into the stream by hand, so the last mark cannot be written.
func TestARestoreWithoutItsLastMarkHasNotEnded(t *testing.T) {
	t.Parallel()
	_, place := setup(t, 10)
	server := testenv.NewNATS(t)
	c := config(place)
	c.Log, c.LostUntil = server.Log(t), 12
	c.Progress = func(doing string, seq, _ uint64) {
		if seq == 12 {
			stream, err := server.JetStream.Stream(t.Context(), testenv.Stream)
			require.NoError(t, err)
			subject := strings.NewReplacer("*", "0", ">", "0").Replace(stream.CachedInfo().Config.Subjects[0])
			_, err = server.JetStream.Publish(t.Context(), subject, []byte("{}"))
			require.NoError(t, err)
		}
	}
	_, err := restore.Run(t.Context(), c)
	require.ErrorContains(t, err, "wrong last sequence")
}
