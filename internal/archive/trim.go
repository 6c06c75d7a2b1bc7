package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/backoff"
)

// Log is a Source from which the oldest messages can be removed.
type Log interface {
	Source
	// Trim removes messages before seq, and returns the oldest sequence that the log then has. It
	// can keep more. It can be repeated.
	Trim(ctx context.Context, seq uint64) (first uint64, err error)
	// TrimPoint returns what Trim would return, and removes nothing.
	TrimPoint(ctx context.Context, seq uint64) (first uint64, err error)
}

// TrimConfig describes a Trimmer.
type TrimConfig struct {
	Place      storage.Place
	Log        Log
	Keep       Keep
	Interval   time.Duration // between two looks
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Trimmer removes messages from the log's server that need not be kept there, once the archive has
// them. Before it removes messages, it reads every byte of their segment back from the place, and
// compares it with the log. While anything in the archive is damaged, missing or contradicts the
// log, it removes nothing. It keeps no state between two processes. Several processes may trim one
// log.
type Trimmer struct {
	TrimConfig
	failures prometheus.Counter

	archive *Archive      // nil until it was opened
	fault   backoff.Fault // the last one that was logged
}

// NewTrimmer registers its metrics. Run does the work.
func NewTrimmer(config TrimConfig) *Trimmer {
	return &Trimmer{TrimConfig: config, failures: promauto.With(config.Registerer).NewCounter(prometheus.CounterOpts{
		Name: "payfold_log_trim_failures_total", Help: "Attempts to remove archived messages from the log's server that failed; each is repeated.",
	})}
}

// Run blocks until ctx ends, and returns nil. A fault is logged, counted, and tried again.
func (t *Trimmer) Run(ctx context.Context) error {
	for pause := backoff.Every(t.Interval); ; {
		switch err := t.step(ctx); {
		case err == nil:
			t.fault.Clear()
		case ctx.Err() == nil:
			t.failures.Inc()
			if t.fault.IsNew(err) {
				t.Logger.WarnContext(ctx, "the log is not trimmed; no message is lost by that", "archive", t.Place.String(), "error", err)
			}
			t.archive = nil
		}
		if pause.Wait(ctx) != nil {
			return nil
		}
	}
}

var errNotTrimmable = errors.New("its stream was made without LOG_KEEP and keeps every message")

// step removes the messages that need not be kept now.
func (t *Trimmer) step(ctx context.Context) error {
	head, err := t.Log.Head(ctx)
	if err != nil {
		return err
	}
	if !head.Trimmable {
		return errNotTrimmable
	}
	if err := t.open(ctx, head); err != nil {
		return err
	}
	began := head.First
	for tries := 1; ; {
		err := t.trim(ctx, &head)
		if err == nil {
			break
		}
		if errors.Is(err, fs.ErrNotExist) && tries < listTries { // segments were merged meanwhile
			if tries, err = tries+1, t.open(ctx, head); err == nil {
				continue
			}
		}
		now, away := t.Log.Head(ctx)
		if away != nil || now.First <= head.First {
			return err
		}
		head = now // another process has trimmed
	}
	if head.First > began {
		t.Logger.InfoContext(ctx, "the log was trimmed", "first_seq", head.First, "removed", head.First-began)
	}
	return nil
}

// trim removes messages segment by segment, and sets head.First. Nothing is removed that was not
// proven since trim was called: an archive can be damaged at any time.
func (t *Trimmer) trim(ctx context.Context, head *Head) error {
	var released []*Info // segments that need not be kept, from head.First on
	proven := uint64(0)
	for next := head.First; ; {
		info := t.archive.segmentOf(next)
		if info == nil || !t.Keep.releases(t.archive, info, *head, time.Now()) {
			return nil
		}
		released, next = append(released, info), info.Last+1
		seq := min(next, head.Last) // the newest message stays
		point, err := t.Log.TrimPoint(ctx, seq)
		if err != nil {
			return err
		}
		if point <= head.First {
			continue // a whole file is not released yet
		}
		var names []string
		for _, info := range released {
			if info.Last > proven && info.First < point {
				if err := t.prove(ctx, info, *head); err != nil {
					return err
				}
				proven, names = info.Last, append(names, info.Name)
			}
		}
		if err := t.Place.Sync(ctx, head.LogID, names...); err != nil { // a power cut could undo what was proven
			return fmt.Errorf("make the archive durable: %w", err)
		}
		first, err := t.Log.Trim(ctx, point)
		if err != nil {
			return err
		}
		head.First, released = first, nil
		next = max(next, first) // another process may have trimmed more
		if info.Last >= first {
			released = []*Info{info}
		}
	}
}

// open opens the archive, or looks for new segments. It fails if anything is wrong with them.
func (t *Trimmer) open(ctx context.Context, head Head) (err error) {
	if t.archive == nil || t.archive.logID != head.LogID {
		t.archive, err = Open(ctx, t.Place, head.LogID)
	} else {
		err = t.archive.Refresh(ctx)
	}
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	if err := RequireAlone(ctx, t.Place, head.LogID); err != nil {
		return err
	}
	if len(t.archive.faults) > 0 {
		return errors.Join(t.archive.faults...)
	}
	return t.archive.compareEnd(ctx, t.Log)
}

// prove reads all of a segment, as the place returns it, and compares it with those of its
// messages that the log still has. The error is fs.ErrNotExist if the segment was merged meanwhile.
func (t *Trimmer) prove(ctx context.Context, info *Info, head Head) error {
	pause := pauses(ctx, func() bool { return false })
	first, before, after := max(info.First, head.First), info.Before, Hash{}
	err := t.archive.checkSegment(ctx, info, t.archive.treeBefore(info.First), func(seq uint64, value Hash) {
		if seq+1 == first {
			before = value
		}
		after = value
		_ = pause() // checkSegment itself notices that ctx has ended
	})
	if err != nil {
		return err
	}
	if after != info.After {
		return contradiction("segment %s was replaced by another one since it was listed", info.Name)
	}
	fault, err := compareFrom(ctx, info, first, before, nil, pacedSource{t.Log, pause})
	return errors.Join(fault, err)
}
