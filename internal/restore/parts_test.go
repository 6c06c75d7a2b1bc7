package restore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// keeping is a place that removes nothing: the parts of a merged segment stay.
type keeping struct{ storage.Place }

func (keeping) Remove(context.Context, string) error { return errors.New("access denied") }

// What is damaged in a merged segment is restored from its parts, as long as these are there.
func TestALogIsRestoredFromThePartsOfADamagedSegment(t *testing.T) {
	t.Parallel()
	lost := testenv.NewLog(t, partitions)
	place := placeAt(t, filepath.Join(t.TempDir(), "archive"))
	ctx, stop := context.WithCancel(t.Context())
	archiver := archive.NewArchiver(archive.Config{
		Place: keeping{place}, Source: lost.Log, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(), PollInterval: time.Millisecond,
	})
	var group errgroup.Group
	group.Go(func() error { return archiver.Run(ctx) })
	var paths []string
	for i := range 8 {
		lost.Deliver(t, testenv.Customers(7).Event(i))
		wait.Until(t, func() (found bool) {
			var err error
			paths, err = filepath.Glob(filepath.Join(place.String(), "*", "*.seg"))
			return err == nil && len(paths) == i+1+i/7 // the eighth segment is merged with the others
		}, "a segment of its own")
	}
	stop()
	require.NoError(t, group.Wait())
	merged := func(place string) string {
		return filepath.Join(place, filepath.Base(filepath.Dir(paths[0])), filepath.Base(paths[0]))
	}
	for where, at := range map[string]func(size int) int{
		"a frame":  func(int) int { return 200 },
		"a header": func(int) int { return 9 },
		"a footer": func(size int) int { return size - 1 },
	} {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprint(where, ", parts whole: ", whole), func(t *testing.T) {
				t.Parallel()
				copied := filepath.Join(t.TempDir(), "archive")
				require.NoError(t, os.CopyFS(copied, os.DirFS(place.String())))
				segment := merged(copied)
				damage(t, segment, at)
				if !whole {
					require.NoError(t, os.Remove(filepath.Join(filepath.Dir(segment), filepath.Base(paths[1]))))
				}
				dir := t.TempDir()
				_, err := restore.Embedded(t.Context(), config(placeAt(t, copied)), dir, testenv.Logger(t))
				if !whole {
					require.ErrorAs(t, err, new(*restore.UnusableError))
					require.ErrorContains(t, err, filepath.Base(segment))
					return
				}
				require.NoError(t, err)
				again := &testenv.Log{Dir: dir}
				again.Start(t, partitions)
				defer again.Stop(t)
				requireEqualLogs(t, lost.Log, again.Log)
			})
		}
	}
}
