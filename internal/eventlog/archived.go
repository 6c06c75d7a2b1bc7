package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// archiveTimeout bounds one answer of the archive's store. It is enough for the 4 MB that are read
// at once on a line of 1 Mbit/s.
const archiveTimeout = 35 * time.Second

// archived is the archive of the log, for all readers of one Log. It is opened when it is needed.
type archived struct {
	place  storage.Place
	logger *slog.Logger

	mu     sync.Mutex
	opened *archive.Archive // of the log that was asked for last; nil before
	said   string           // the last warning
}

func newArchived(place storage.Place, logger *slog.Logger) *archived {
	if place == nil {
		return nil
	}
	return &archived{place: storage.Bounded(place, archiveTimeout), logger: logger}
}

// errNoArchive: this process was not told of an archive, or that has nothing of the log yet.
var errNoArchive = errors.New("there is no archive of this log")

// view returns the archive for one reader of messages up to until. The error is errNoArchive, or
// why the archive cannot be used.
func (a *archived) view(ctx context.Context, l *Log, info Info, until uint64) (*archive.Archive, error) {
	if a == nil {
		return nil, errNoArchive
	}
	opened, err := a.refreshed(ctx, info.LogID, until)
	if err == nil {
		err = l.agrees(ctx, opened, info)
	}
	return opened, err
}

// refreshed looks for new segments if the known ones do not hold until, or are damaged. What was
// learned stays known after an error, too.
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

// agrees returns an error unless the archive is that of the log: the newest of its messages that
// the server still has must be the same there. Where that one is damaged, an older one counts.
func (l *Log) agrees(ctx context.Context, a *archive.Archive, info Info) error {
	if err := a.Contradiction(); err != nil {
		return err
	}
	if a.Partitions() != info.Partitions {
		return fmt.Errorf("the archive has %d partitions, and the log has %d", a.Partitions(), info.Partitions)
	}
	var damaged error
	for seq := min(a.Last(), info.Last); seq >= max(info.ServerFirst, a.First()); {
		var archived fingerprint.Hash
		err := a.ReadMessages(ctx, seq, seq, func(m events.Message) error {
			archived = fingerprint.Leaf(m)
			return nil
		})
		if from, _ := extent(err); from > 0 {
			damaged, seq = err, min(seq, from)-1
			continue
		}
		if err != nil {
			return err
		}
		m, err := l.message(ctx, seq)
		if err != nil {
			return err
		}
		if fingerprint.Leaf(m) != archived {
			return fmt.Errorf("the archive contradicts the log: seq %d is another message there", seq)
		}
		return nil
	}
	return damaged
}

// extent returns which sequences the archive lacks; to is 0 if it is not known. It returns 0, 0
// for an error that is not about some sequences.
func extent(err error) (from, to uint64) {
	damaged, gap := new(archive.DamagedError), new(archive.GapError)
	switch {
	case errors.As(err, &damaged):
		return damaged.From, damaged.To
	case errors.As(err, &gap):
		return gap.From, gap.To
	}
	return 0, 0
}

// warn says that the log's server is read instead. It does not repeat itself.
func (a *archived) warn(ctx context.Context, fault error, seq uint64) {
	if a == nil || errors.Is(fault, errNoArchive) {
		return
	}
	a.mu.Lock()
	repeated := a.said == fault.Error()
	a.said = fault.Error()
	a.mu.Unlock()
	if !repeated {
		a.logger.WarnContext(ctx, "the archive cannot be read; the log's server is asked instead", "archive", a.place.String(), "from_seq", seq, "error", fault)
	}
}
