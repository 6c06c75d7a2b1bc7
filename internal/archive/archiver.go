package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/backoff"
)

// Head describes the log at one moment.
type Head struct {
	LogID      string
	Partitions int
	Begin      uint64 // sequence of the log's first message, also if it was removed
	First      uint64 // sequence of the oldest message that it has; Last+1 in an empty log
	Last       uint64 // 0 in an empty new log
	Bytes      uint64 // of the messages that it has, about
	Trimmable  bool   // its oldest messages may be removed
}

// Source is the log that is archived.
type Source interface {
	Head(ctx context.Context) (Head, error)
	// ReadRecords delivers the messages from sequence from to until, in order and without gaps,
	// as soon as they are durable.
	ReadRecords(ctx context.Context, from, until uint64, deliver func(Record) error) error
}

// Config describes an Archiver, for which its first five fields are required, or a Heal.
type Config struct {
	Place      storage.Place
	Source     Source
	Interval   time.Duration // how long a message waits at most for its segment
	Logger     *slog.Logger
	Registerer prometheus.Registerer

	SegmentBytes int64         // of records; a segment ends when it has them
	FrameBytes   int           // of records; a frame ends when it has them
	PollInterval time.Duration // between two reads of the log's head
	MinWait      time.Duration // after a first fault
}

const (
	segmentBytes    = 64 << 20
	pollInterval    = time.Second
	minWait         = time.Second
	behindIntervals = 5 // a warning is logged beyond this many intervals
)

// Archiver copies the log into the archive, and merges small segments.
//
//	open ──▶ look at the log ──due?──▶ cut segments ──▶ merge small ones ──▶ look again
//	  ▲                                     │
//	  └──── after any error, with pauses ◀──┘
//
// It keeps no state between two processes: the place shows what is archived. Any number of
// archivers may work on one log. All of them would write the same records, and the first one that
// creates a segment wins.
type Archiver struct {
	Config
	encoder *zstd.Encoder
	metrics *metrics

	archive *Archive // nil until it was opened, and after an error
	proven  bool     // see proveStore
	unsafe  error    // the place cannot be used at all
	agreed  Hash     // the chain value after the newest archived message that is known to be the log's

	head       Head          // of the log, at the last look
	bytes      uint64        // of the log when the archive had all of it; 0 if unknown
	waiting    time.Time     // see look
	fault      backoff.Fault // the last one that was logged
	damage     []string      // the faults of segments that were logged
	stayLogged bool          // it was logged that merged segments cannot be removed

	noted noted // for State
}

// NewArchiver registers its metrics. Run does the work.
func NewArchiver(config Config) *Archiver {
	config.SegmentBytes = cmp.Or(config.SegmentBytes, segmentBytes)
	config.FrameBytes = cmp.Or(config.FrameBytes, segment.FrameBytes)
	config.PollInterval = cmp.Or(config.PollInterval, min(pollInterval, config.Interval))
	config.MinWait = cmp.Or(config.MinWait, minWait)
	a := &Archiver{Config: config, encoder: segment.NewEncoder()}
	a.metrics = newMetrics(config.Registerer, a.State)
	return a
}

// Run blocks until ctx ends, and returns nil. A fault of the place or of the log is logged,
// counted, and tried again after a pause.
func (a *Archiver) Run(ctx context.Context) error {
	defer func() { _ = a.encoder.Close() }() // of an encoder without a stream
	var warning sync.WaitGroup
	defer warning.Wait()
	warning.Go(func() { a.warnBehind(ctx) }) // also while the archive does not answer
	wait := backoff.Backoff{Min: a.MinWait, Max: max(a.MinWait, a.Interval)}
	ticker := time.NewTicker(a.PollInterval)
	defer ticker.Stop()
	for {
		err := a.step(ctx)
		a.noteEnd(err)
		if err == nil {
			wait.Reset()
			a.logRecovery(ctx)
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		} else if ctx.Err() == nil {
			a.archive = nil // it is read again
			a.failed(ctx, err)
			if wait.Wait(ctx) != nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// step looks at the log once and does what is due.
func (a *Archiver) step(ctx context.Context) error {
	if a.unsafe != nil {
		return a.unsafe
	}
	head, err := a.Source.Head(ctx)
	if err != nil {
		return fmt.Errorf("ask the log how far it is: %w", err)
	}
	a.head = head
	if err := a.open(ctx, head); err != nil {
		return err
	}
	if err := a.look(ctx, head); err != nil {
		return err
	}
	if !a.due(head) {
		return nil
	}
	a.noteBegin()
	if err := a.checkEnd(ctx, head); err != nil {
		return err
	}
	for {
		if err := a.agree(ctx); err != nil {
			return err
		}
		if a.archive.next(head) > head.Last {
			break
		}
		a.noteBegin()
		if err := a.cut(ctx, head); err != nil {
			return err
		}
	}
	a.bytes, a.waiting = head.Bytes, time.Time{}
	return a.merge(ctx)
}

// open opens the archive of this log, and compares its end with the log.
func (a *Archiver) open(ctx context.Context, head Head) error {
	if a.archive != nil && a.archive.logID == head.LogID {
		return nil
	}
	a.noteBegin()
	opened, err := Open(ctx, a.Place, head.LogID)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	if err := RequireAlone(ctx, a.Place, head.LogID); err != nil {
		return err
	}
	a.metrics.faults.Set(float64(len(opened.faults)))
	if err := opened.Contradiction(); err != nil {
		return err
	}
	if err := a.compareEnd(ctx, opened); err != nil {
		return err
	}
	a.archive, a.bytes, a.waiting = opened, 0, time.Time{}
	return a.tidy(ctx)
}

// compareEnd compares the end of an archive with the log. If the end is damaged, the archive
// continues after it. What others have written becomes durable first: a power cut could keep the next segment and
// lose one before it.
func (a *Archiver) compareEnd(ctx context.Context, opened *Archive) error {
	err := opened.compareEnd(ctx, a.Source)
	if isDamage(err) {
		opened.faults, err = append(opened.faults, err), nil
	}
	a.logDamage(ctx, opened.faults)
	end := opened.end()
	if err != nil || end == nil {
		return err
	}
	if err := a.Place.Sync(ctx, opened.logID); err != nil {
		return fmt.Errorf("make durable what the archive has: %w", err)
	}
	a.agreed = end.After
	return nil
}

// agree compares the end of the archive with the log, if another archiver wrote it. That archiver may copy another
// instance of this log: for example, the old machine still runs after a restore.
func (a *Archiver) agree(ctx context.Context) error {
	if end := a.archive.end(); end == nil || end.After == a.agreed {
		return nil
	}
	return a.compareEnd(ctx, a.archive)
}

// look sets waiting to the time when the oldest message that is not archived was stored, or to now if its clock was
// ahead. A clock that is set later does not change it. waiting is zero if no message waits.
func (a *Archiver) look(ctx context.Context, head Head) error {
	next := a.archive.next(head)
	switch {
	case next > head.Last+1 && a.archive.end() != nil: // another archiver may have archived what came after the head was read
		return a.compareEnd(ctx, a.archive)
	case next > head.Last:
		a.bytes, a.waiting = head.Bytes, time.Time{}
	case a.waiting.IsZero():
		waits, storedAt, err := a.archive.waiting(ctx, a.Source, head)
		if waits > 0 {
			a.waiting = time.Now().Add(-max(0, time.Since(storedAt)))
		}
		return err
	}
	return nil
}

// checkEnd checks that the newest segment still exists, before the next one follows it. If somebody has removed it, or
// a disk is not mounted any more, the archive continues from what is there. Another archiver may also have merged it.
// An empty archive is read again, too: another archiver may have begun it, and the log may lack what that one has
// archived.
func (a *Archiver) checkEnd(ctx context.Context, head Head) error {
	end := a.archive.end()
	if end != nil {
		object, err := a.Place.Open(ctx, a.archive.logID+"/"+end.Name)
		if err == nil {
			return object.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for the newest segment: %w", err)
		}
	}
	a.archive = nil
	if err := a.open(ctx, head); err != nil {
		return err
	}
	if last := a.archive.Last(); end != nil && last < end.Last {
		a.Logger.ErrorContext(ctx, "segments of the archive are gone; what the log still has is archived again", "archive", a.Place.String(), "gone_to_seq", end.Last, "left_to_seq", last)
	}
	return a.look(ctx, head)
}

// due reports whether it is time for a segment.
func (a *Archiver) due(head Head) bool {
	switch {
	case a.waiting.IsZero():
		return false
	case time.Since(a.waiting) >= a.Interval:
		return true
	default:
		return a.bytes > 0 && head.Bytes >= a.bytes+uint64(a.SegmentBytes)
	}
}
