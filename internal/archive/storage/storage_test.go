package storage_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/objectstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnObjectInAnObjectStoreIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	s := objectstore.New(t)
	place := s.Place(t, "shop/log")
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	require.NoError(t, place.Create(t.Context(), "log/one", write("first")))
	require.ErrorIs(t, place.Create(t.Context(), "log/one", write("second")), storage.ErrExists)
	object, err := place.Open(t.Context(), "log/one")
	require.NoError(t, err)
	content := make([]byte, object.Size())
	_, err = object.ReadAt(content, 0)
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
}

func TestSettingsOfAPlace(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"/var/archive": "/var/archive", "file:///var/archive": "/var/archive", "data/archive": "data/archive",
		"s3://bucket": "s3://bucket/", "s3://bucket/a/b/": "s3://bucket/a/b/",
	} {
		place, err := storage.Settings{URL: url}.Place()
		require.NoError(t, err, url)
		require.Equal(t, want, place.String())
	}
	for _, wrong := range []storage.Settings{
		{},
		{URL: "none"},
		{URL: "gs://bucket"},
		{URL: "s3://"},
		{URL: "s3:/bucket/prefix"},
		{URL: "s3://key:secret@bucket"},
		{URL: "s3://b", S3Endpoint: "localhost:9000"},
		{URL: "s3://b", S3Endpoint: "https://host/path"},
	} {
		_, err := wrong.Place()
		require.Error(t, err, "%+v", wrong)
	}
}

func TestAnObjectThatIsNotThereCannotBeMadeDurable(t *testing.T) {
	t.Parallel()
	place := &storage.Folder{Root: t.TempDir()}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	require.NoError(t, place.Create(t.Context(), "log/one", write))
	require.NoError(t, place.Sync(t.Context(), "log"))
	require.NoError(t, place.Sync(t.Context(), "log", "one"))
	require.ErrorIs(t, place.Sync(t.Context(), "log", "one", "two"), fs.ErrNotExist)
}

func TestFilesThatKilledProcessesHaveLeftAreRemoved(t *testing.T) {
	t.Parallel()
	place := &storage.Folder{Root: t.TempDir()}
	create := func(name string) {
		require.NoError(t, place.Create(t.Context(), "log/"+name, func(io.Writer) error { return nil }))
	}
	create("1.seg")
	left := func(name string, age time.Duration) string {
		path := filepath.Join(place.Root, "log", name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		return path
	}
	created, copied, foreign := left(".new-1", 2*time.Hour), left("1.seg.new", 2*time.Hour), left("notes", 2*time.Hour)
	young := left("2.seg.new", time.Minute) // of a process that may be running
	create("2.seg")
	require.NoFileExists(t, created)
	require.NoFileExists(t, copied)
	require.FileExists(t, young)
	require.FileExists(t, foreign)
}

// An archiver logs a fault again when its text changes.
func TestAFaultOfAFolderHasTheSameTextEachTime(t *testing.T) {
	t.Parallel()
	place := &storage.Folder{Root: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(place.Root, "log"), nil, 0o600)) // a file where the folder should be
	create := func() error {
		return place.Create(t.Context(), "log/one", func(io.Writer) error { return nil })
	}
	first := create()
	require.ErrorIs(t, first, syscall.ENOTDIR)
	require.EqualError(t, create(), first.Error())
}

func TestAFaultOfTheSpoolHasTheSameTextEachTime(t *testing.T) {
	place := objectstore.New(t).Place(t, "shop/log")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	create := func() error {
		return place.Create(t.Context(), "log/one", func(io.Writer) error { return nil })
	}
	first := create()
	require.ErrorIs(t, first, fs.ErrNotExist)
	require.EqualError(t, create(), first.Error())
}

// late opens its objects when it is released.
type late struct {
	storage.Place
	released chan struct{}
	object   lateObject
}

func (l late) Open(context.Context, string) (storage.Object, error) {
	<-l.released
	return l.object, nil
}

type lateObject struct {
	storage.Object
	closed chan struct{}
}

func (o lateObject) Close() error {
	close(o.closed)
	return nil
}

// Otherwise each slow answer of a disk would leave an open file.
func TestAnObjectThatIsOpenedTooLateIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		place := late{released: make(chan struct{}), object: lateObject{closed: make(chan struct{})}}
		_, err := storage.Bounded(place, time.Second).Open(t.Context(), "log/one")
		require.ErrorContains(t, err, "does not answer within 1s")
		close(place.released)
		<-place.object.closed
	})
}
