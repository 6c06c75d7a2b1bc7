package restore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// UnusableError means that no whole log can be made from the archive.
type UnusableError struct {
	Archive string
	Faults  []error
}

func (e *UnusableError) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "no whole log can be restored from %s:", e.Archive)
	for _, fault := range e.Faults {
		fmt.Fprintf(&out, "\n  %v", fault)
	}
	return out.String()
}

// Result describes a log that was restored.
type Result struct {
	Archive string `json:"archive"`
	LogID   string `json:"log_id"`
	archive.Compared
	StoredTo  time.Time `json:"stored_to"`                // of the newest message
	LostUntil uint64    `json:"lost_until_seq,omitempty"` // the messages from Last+1 to here are marks (events.Lost)
	Begun     uint64    `json:"begun_seq"`                // the first sequence that this run has written
	Seconds   float64   `json:"seconds"`
}

// Config describes a restore.
type Config struct {
	Place    storage.Place
	Log      *eventlog.Log
	Stream   eventlog.StreamConfig                // its LogID, Partitions and FirstSeq come from the archive
	Progress func(doing string, seq, last uint64) // called for each message written and each segment compared

	// LostUntil is the newest sequence that the lost log had assigned, or 0 if it is not known. Run
	// writes marks (events.Lost) for the messages after the archive's end.
	LostUntil uint64
}

// maxLost bounds the marks, in case LostUntil is mistyped.
const maxLost = 50_000_000

// Run restores the log of the only archive in a place. The error is an UnusableError if the archive
// is damaged, has a gap, or differs from what was restored, and eventlog.ErrNotEmpty if there is a
// log already. After any error the same call continues.
func Run(ctx context.Context, config Config) (Result, error) {
	began := time.Now()
	opened, result, err := open(ctx, config.Place)
	if err != nil {
		return result, err
	}
	if config.LostUntil > 0 && (config.LostUntil < opened.Last() || config.LostUntil > opened.Last()+maxLost) {
		return result, fmt.Errorf("the archive ends with seq %d: %d cannot be the newest sequence of the lost log", opened.Last(), config.LostUntil)
	}
	config.Stream.LogID, config.Stream.Partitions, config.Stream.FirstSeq = result.LogID, opened.Partitions(), opened.First()
	restoration, err := config.Log.Restore(ctx, config.Stream)
	if err != nil {
		return result, err
	}
	result.Begun = restoration.Next()
	if err := copyTo(ctx, restoration, opened, config); err != nil {
		return result, err
	}
	var differences []error
	result.Compared, err = opened.Compare(ctx, config.Log, func(difference error) {
		differences = append(differences, difference)
	}, func(seq uint64) { config.Progress("compared", seq, opened.Last()) })
	if err != nil {
		return result, fmt.Errorf("read the restored log: %w", err)
	}
	if len(differences) > 0 {
		return result, &UnusableError{result.Archive, differences}
	}
	if result.Last != opened.Last() || result.First != opened.First() {
		return result, fmt.Errorf("seq %d to %d were compared, the archive has %d to %d", result.First, result.Last, opened.First(), opened.Last())
	}
	if err := markLost(ctx, restoration, config); err != nil {
		return result, err
	}
	result.LostUntil = config.LostUntil
	if err := restoration.Finish(ctx); err != nil {
		return result, err
	}
	result.Seconds = time.Since(began).Seconds()
	return result, nil
}

// open opens the only archive in a place.
func open(ctx context.Context, place storage.Place) (opened *archive.Archive, result Result, err error) {
	result.Archive = place.String()
	logs, err := archive.Logs(ctx, place)
	switch {
	case err != nil:
		return nil, result, err
	case len(logs) == 0:
		return nil, result, fmt.Errorf("%s holds no segment of any log: name the archive of the lost log, which is its ARCHIVE_URL, or else the folder archive in its DATA_DIR", place)
	case len(logs) > 1:
		return nil, result, fmt.Errorf("%s holds segments of several logs: %s; name a place with one", place, strings.Join(logs, ", "))
	}
	result.LogID = logs[0]
	if opened, err = archive.Open(ctx, place, result.LogID); err != nil {
		return nil, result, err
	}
	if faults := opened.Lacks(); len(faults) > 0 {
		return nil, result, &UnusableError{result.Archive, faults}
	}
	result.StoredTo = opened.StoredTo()
	return opened, result, nil
}

// copyTo writes the records that the log does not have yet.
func copyTo(ctx context.Context, to *eventlog.Restoration, from *archive.Archive, config Config) error {
	if last := to.Next() - 1; last > max(from.Last(), config.LostUntil) {
		return fmt.Errorf("the log that is being restored has messages up to seq %d, the archive up to %d", last, from.Last())
	}
	var err error
	for err == nil && to.Next() <= from.Last() { // the archive may have grown when it was read
		err = from.Read(ctx, to.Next(), from.Last(), func(r archive.Record) error {
			config.Progress("restored", r.Seq, from.Last())
			return to.Append(ctx, r)
		})
	}
	if lacking, _ := archive.Extent(err); lacking > 0 {
		return &UnusableError{config.Place.String(), []error{err}}
	}
	if err != nil {
		return err
	}
	return to.Flush(ctx)
}

// markLost writes the marks that the log does not have yet.
func markLost(ctx context.Context, to *eventlog.Restoration, config Config) error {
	for seq := to.Next(); seq <= config.LostUntil; seq++ {
		id, body := events.Lost(seq)
		event := events.Event{Key: id}
		mark := archive.Record{
			Seq: seq, Partition: event.Partition(config.Stream.Partitions), StoredAt: time.Now(), Body: body,
			Header: []events.Header{{Name: events.HeaderID, Value: id}, {Name: events.HeaderProvider, Value: events.OwnEvents}},
		}
		config.Progress("marked as lost", seq, config.LostUntil)
		if err := to.Append(ctx, mark); err != nil {
			return err
		}
	}
	return to.Flush(ctx)
}
