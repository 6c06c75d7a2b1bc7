// Package archiver archives the log of a test.
package archiver

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// RunToEnd runs an archiver until its place holds all of the log, and done returns true, unless that is nil. It returns
// the archive. The config needs a place and a source.
func RunToEnd(t testing.TB, config archive.Config, done func() bool) (opened *archive.Archive) {
	t.Helper()
	config.Logger, config.Registerer = slog.New(slog.NewTextHandler(t.Output(), nil)), prometheus.NewRegistry()
	config.PollInterval, config.MinWait = cmp.Or(config.PollInterval, time.Millisecond), time.Millisecond
	archiver := archive.NewArchiver(config)
	ctx, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return archiver.Run(ctx) })
	wait.Until(t, func() bool {
		head, err := config.Source.Head(t.Context())
		if err == nil {
			opened, err = archive.Open(t.Context(), config.Place, head.LogID)
		}
		return err == nil && opened.Last() == head.Last && (done == nil || done())
	}, "the archive holds the log")
	stop()
	require.NoError(t, group.Wait())
	return opened
}
