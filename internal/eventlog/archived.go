package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/backoff"
)

// archiveTimeout bounds one answer of the archive's store. It is enough for the 4 MB that are read
// at once on a line of 1 Mbit/s.
const archiveTimeout = 35 * time.Second

// archived is the archive of the log, for all readers of one Log. It is opened when it is needed.
type archived struct {
	place  storage.Place
	logger *slog.Logger

	mu     sync.Mutex
	opened *archive.Archive // the archive of the log that was last asked for; nil before
	fault  backoff.Fault    // the last one that was logged
}

func newArchived(place storage.Place, logger *slog.Logger) *archived {
	if place == nil {
		return nil
	}
	return &archived{place: storage.Bounded(place, archiveTimeout), logger: logger}
}

// errNoArchive means that this process has no archive configured, or that the archive has nothing
// of the log yet.
var errNoArchive = errors.New("there is no archive of this log")

// refreshed returns the archive of a log. It looks for new segments if the known ones do not have
// the message at until, or are damaged. Known segments stay known after an error.
func (a *archived) refreshed(ctx context.Context, logID string, until uint64) (*archive.Archive, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	switch {
	case a.opened == nil || a.opened.LogID() != logID:
		a.opened, err = archive.Open(ctx, a.place, logID)
	case a.opened.Last() < until || len(a.opened.Faults()) > 0:
		err = a.opened.Refresh(ctx)
	}
	if err == nil && a.opened.Last() == 0 {
		if err = archive.RequireAlone(ctx, a.place, logID); err == nil {
			err = errNoArchive
		}
	}
	return a.opened.Clone(), err
}

// warn logs that the log's server is read instead of the archive. It does not repeat the same
// warning.
func (a *archived) warn(ctx context.Context, err error, seq uint64) {
	if a == nil || errors.Is(err, errNoArchive) {
		return
	}
	a.mu.Lock()
	isNew := a.fault.IsNew(err)
	a.mu.Unlock()
	if isNew {
		a.logger.WarnContext(ctx, "the archive cannot be read; the log's server is asked instead", "archive", a.place.String(), "from_seq", seq, "error", err)
	}
}
