package check_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/archiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// messages is how many a log of setup has.
const messages = 30

// setup returns a log whose server is stopped, and a check of it and of its whole archive.
func setup(t *testing.T) (*testenv.Log, check.Config) {
	t.Helper()
	log := testenv.NewLog(t, 4)
	for i := range messages {
		log.Deliver(t, testenv.Customers(7).Event(i))
	}
	place := archiveAll(t, log.Log)
	log.Stop(t)
	return log, check.Config{Stream: testenv.Stream, Place: place}
}

// archiveAll archives all of the log in a new place, with about five messages in a segment.
func archiveAll(t *testing.T, log *eventlog.Log) storage.Place {
	t.Helper()
	place, err := storage.Settings{URL: filepath.Join(t.TempDir(), "archive")}.Place()
	require.NoError(t, err)
	archiver.RunToEnd(t, archive.Config{Place: place, Source: log, SegmentBytes: 8 << 10, FrameBytes: 1 << 10}, nil)
	return place
}

// flipBit changes one bit of a file.
func flipBit(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[at] ^= 1
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// segment returns the path of a segment that is neither the first nor the last.
func segment(t *testing.T, place storage.Place) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(place.String(), "*", "*.seg"))
	require.NoError(t, err)
	require.Greater(t, len(paths), 2)
	return paths[1]
}

func TestAWholeLogIsComparedWithItsArchive(t *testing.T) {
	t.Parallel()
	log, config := setup(t)
	for _, running := range []bool{false, true} {
		if running {
			log.Start(t, 4)
		}
		result, err := check.Files(t.Context(), config, log.Dir)
		require.NoError(t, err)
		require.True(t, result.Whole)
		require.Equal(t, running, result.Running)
		require.EqualValues(t, messages, result.Events)
		require.Empty(t, result.Archive.Faults)
		require.Equal(t, []uint64{1, messages}, []uint64{result.Archive.First, result.Archive.Last})
	}
	config.Place = nil
	result, err := check.Files(t.Context(), config, log.Dir)
	require.NoError(t, err)
	require.True(t, result.Whole)
	require.Nil(t, result.Archive)
}

func TestAFaultOfTheArchiveIsFoundInAWholeLog(t *testing.T) {
	t.Parallel()
	log, config := setup(t)
	path := segment(t, config.Place)
	flipBit(t, path, 200) // in a frame
	for _, full := range []bool{false, true} {
		config.Full = full
		result, err := check.Files(t.Context(), config, log.Dir)
		require.NoError(t, err)
		require.Equal(t, !full, result.Whole, "only a full check reads the frames")
		require.Equal(t, !full, len(result.Archive.Faults) == 0)
	}
	require.NoError(t, os.Remove(path))
	config.Full = false
	result, err := check.Files(t.Context(), config, log.Dir)
	require.NoError(t, err)
	require.False(t, result.Whole)
	require.Empty(t, result.Damage)
	require.Len(t, result.Archive.Faults, 1)
}

// The newest message is read twice: with its segment, and to compare it with the log.
func TestDamageOfTheNewestMessageIsNamedOnce(t *testing.T) {
	t.Parallel()
	log, config := setup(t)
	paths, err := filepath.Glob(filepath.Join(config.Place.String(), "*", "*.seg"))
	require.NoError(t, err)
	last := paths[len(paths)-1]
	content, err := os.ReadFile(last)
	require.NoError(t, err)
	flipBit(t, last, len(content)*7/8)
	config.Full = true
	result, err := check.Files(t.Context(), config, log.Dir)
	require.NoError(t, err)
	require.Len(t, result.Archive.Faults, 1)
	require.Contains(t, result.Archive.Faults[0], "seq 30 to 30")
}

func TestADamagedLogIsSalvagedAndNotComparedWithItsArchive(t *testing.T) {
	t.Parallel()
	log, config := setup(t)
	flipBit(t, filepath.Join(log.Dir, "log/jetstream/PAYFOLD/streams", testenv.Stream, "msgs/1.blk"), 20_000)
	config.Salvage = filepath.Join(t.TempDir(), "events.jsonl")
	result, err := check.Files(t.Context(), config, log.Dir)
	require.NoError(t, err)
	require.False(t, result.Whole)
	require.NotEmpty(t, result.Damage)
	require.Empty(t, result.Archive.Faults)
	require.Zero(t, result.Archive.Segments)
	require.Equal(t, messages-1, result.Salvaged)
	require.Equal(t, config.Salvage, result.SalvagedTo)

	content, err := os.ReadFile(config.Salvage)
	require.NoError(t, err)
	info, err := os.Stat(config.Salvage)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode(), "it has what customers sent")
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	require.Len(t, lines, messages-1)
	var last eventlog.Salvaged
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.EqualValues(t, messages, last.Seq)
	require.Equal(t, testenv.Customers(7).Event(messages-1), string(last.Data()))
}

func TestASalvageOverwritesNoFile(t *testing.T) {
	t.Parallel()
	log, config := setup(t)
	config.Salvage = filepath.Join(t.TempDir(), "events.jsonl")
	require.NoError(t, os.WriteFile(config.Salvage, []byte("kept"), 0o600))
	_, err := check.Files(t.Context(), config, log.Dir)
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, "salvage: ")
	content, err := os.ReadFile(config.Salvage)
	require.NoError(t, err)
	require.Equal(t, "kept", string(content))
	log.Start(t, 4) // the check holds it no longer
}

func TestTheArchiveOfAClustersLogIsCompared(t *testing.T) {
	t.Parallel()
	server := testenv.NewNATS(t)
	server.CreateStream(t.Context(), t, 4)
	log := server.Log(t)
	for i := range messages {
		require.NoError(t, testenv.Append(t.Context(), log, testenv.Delivery(t, testenv.Customers(7).Event(i))))
	}
	config := check.Config{Place: archiveAll(t, log), Full: true}
	result, err := check.Cluster(t.Context(), config, log)
	require.NoError(t, err)
	require.True(t, result.Whole)
	require.Nil(t, result.Report)
	require.EqualValues(t, messages, result.Archive.Last)

	_, other := setup(t)
	result, err = check.Cluster(t.Context(), other, log)
	require.NoError(t, err)
	require.False(t, result.Whole)
	require.Contains(t, result.Archive.Faults[0], "segments of log")
}
