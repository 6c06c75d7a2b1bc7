package eventlog

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// tryStart is StartEmbedded on a stream of any name.
func tryStart(t *testing.T, dir, stream string) (*Server, error) {
	t.Helper()
	return StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir, Stream: stream, Logger: slog.New(slog.DiscardHandler)})
}

// requireRefused starts a server, which must not open the log nor change it.
func requireRefused(t *testing.T, dir, stream string) *blockstore.Report {
	t.Helper()
	before := contents(t, logFolder(dir))
	_, err := tryStart(t, dir, stream)
	var damaged *blockstore.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, before, contents(t, logFolder(dir)))
	return damaged.Report
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var content []byte
			content, err = os.ReadFile(filepath.Join(folder, path))
			out[path] = string(content)
		}
		return err
	}))
	return out
}

// When the server opens a block it truncates it at the first damaged record, and assigns the
// later sequences again.
func TestADamagedLogIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l, last := filled(t, dir)
	killed := aside(t, dir) // what a kill would leave
	stop(t, s, l)
	for _, dir := range []string{dir, killed} {
		for number := 1; number <= newestBlock(t, dir); number++ {
			whole, err := os.ReadFile(block(dir, number))
			require.NoError(t, err)
			at := rand.IntN(len(whole))
			edit(t, block(dir, number), func(b []byte) []byte { b[at] ^= 1 << rand.IntN(8); return b })
			report := requireRefused(t, dir, "PAYMENTS")
			require.Equal(t, block(dir, number), report.Damage[0].File)
			require.NoError(t, os.WriteFile(block(dir, number), whole, 0o600))
		}
		s, l := embedded(t, dir)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, last, info.Last)
		require.Equal(t, last, info.Messages)
		stop(t, s, l)
	}
}

func TestAStartWithAnotherStreamsNameLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	add(t, l, "e1", 10)
	killed := aside(t, dir)
	stop(t, s, l)
	for _, dir := range []string{dir, killed} {
		require.Contains(t, requireRefused(t, dir, "PAYMENST").Damage[0].Reason, "the log here is stream PAYMENTS")
		s, l := embedded(t, dir)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, info.Last)
		stop(t, s, l)
	}
}

func TestAServerThatOpensSomethingElseIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	add(t, l, "e1", 10)
	stop(t, s, l)
	for _, pretend := range []func(found *blockstore.Report){
		func(found *blockstore.Report) { found.Last++ },
		func(found *blockstore.Report) { found.Events++ },
		func(found *blockstore.Report) { found.LogID = "other" },
	} {
		s, err := tryStart(t, dir, "PAYMENTS")
		require.NoError(t, err)
		pretend(s.syncer.Recovered)
		_, err = s.Connect()
		require.ErrorContains(t, err, "the server has opened 1 messages, seq 1 to 1")
		require.NoError(t, s.Close())
		require.False(t, watermark(t, dir).Closed)
	}
	s, err := tryStart(t, dir, "PAYMENTS")
	require.NoError(t, err)
	defer s.Close()
	s.config.Stream = "GONE"
	_, err = s.Connect()
	require.ErrorContains(t, err, "the server does not open the log of stream GONE")
}

func TestALogIsCheckedBesideItsServerAndAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := OpenFiles(dir, "PAYMENTS")
	require.ErrorContains(t, err, "there is no log in DATA_DIR")
	s, l, last := filled(t, dir)
	check := func(running bool) {
		files, err := OpenFiles(dir, "PAYMENTS")
		require.NoError(t, err)
		defer files.Close()
		require.Equal(t, running, files.Running())
		report, err := files.Check(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, report.Damage)
		require.Equal(t, last, report.Last)
		require.Equal(t, last, report.Events)
		if !running {
			_, err := tryStart(t, dir, "PAYMENTS")
			require.ErrorIs(t, err, ErrLocked)
		}
		var bodies int
		require.NoError(t, files.Salvage(t.Context(), func(Salvaged) error { bodies++; return nil }))
		require.EqualValues(t, last, bodies)
	}
	check(true)
	stop(t, s, l)
	check(false)
	require.NoError(t, os.Remove(lockFile(dir))) // as of a backup
	files, err := OpenFiles(dir, "PAYMENTS")
	require.NoError(t, err)
	require.False(t, files.Running())
	require.NoFileExists(t, lockFile(dir), "a check changes nothing")
	s, err = tryStart(t, dir, "PAYMENTS")
	require.NoError(t, err, "and so it locks nothing here")
	require.NoError(t, s.Close())
	require.NoError(t, files.Close())
}

func TestACheckEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, l := embedded(t, dir)
	for i := range 3 {
		add(t, l, fmt.Sprint("e", i), 10)
	}
	stop(t, s, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := StartEmbedded(ctx, EmbeddedConfig{DataDir: dir, Stream: "PAYMENTS", Logger: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, err, context.Canceled)
}
