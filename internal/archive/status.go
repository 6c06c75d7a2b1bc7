package archive

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/archive/storage"
)

// Status says what an archive holds and what is wrong with it.
type Status struct {
	Archive     string    `json:"archive"`
	LogID       string    `json:"log_id"`
	Segments    int       `json:"segments"`
	Bytes       int64     `json:"bytes"`
	First       uint64    `json:"first_seq"`
	Last        uint64    `json:"last_seq"`
	StoredTo    time.Time `json:"stored_to,omitzero"`
	Root        string    `json:"root,omitempty"` // of the Merkle tree up to Last, in hexadecimal
	LagMessages uint64    `json:"lag_messages"`
	LagSeconds  float64   `json:"lag_seconds"`
	LogError    string    `json:"log_error,omitempty"` // why the lag is not known
	Faults      []string  `json:"faults,omitempty"`
}

// Inspect reads the archive of a log and compares its end with the log. It changes nothing. source
// is nil if the log cannot be reached; then the place must hold one log only. It fails if the place
// or the log cannot be read.
func Inspect(ctx context.Context, place storage.Place, source Source) (*Status, error) {
	s := &Status{Archive: place.String()}
	logs, err := Logs(ctx, place)
	if err != nil {
		return nil, err
	}
	if source != nil {
		head, err := source.Head(ctx)
		if err != nil {
			return nil, err
		}
		s.LogID = head.LogID
	} else if len(logs) > 0 {
		s.LogID = logs[0]
	}
	if s.LogID == "" {
		return s, nil
	}
	wrong := func(fault error) { s.Faults = append(s.Faults, fault.Error()) }
	opened, err := examine(ctx, place, s.LogID, source, wrong)
	if err != nil {
		return nil, err
	}
	s.Segments, s.First, s.Last = len(opened.segments), opened.First(), opened.Last()
	for _, info := range opened.segments {
		s.Bytes += info.Size
	}
	if end := opened.end(); end != nil {
		s.StoredTo, s.Root = end.StoredTo, fmt.Sprintf("%x", end.Root)
	}
	if source == nil {
		return s, nil
	}
	head, err := source.Head(ctx)
	if err != nil {
		return nil, err
	}
	next, storedAt, err := opened.waiting(ctx, source, head)
	if next > 0 {
		s.LagMessages, s.LagSeconds = head.Last-next+1, max(0, time.Since(storedAt).Seconds())
	}
	return s, err
}

// examine opens the archive of a log, compares its end with the log, and calls wrong with each fault. source is nil if the
// log cannot be read.
func examine(ctx context.Context, place storage.Place, logID string, source Source, wrong func(error)) (*Archive, error) {
	if err := asFault(RequireAlone(ctx, place, logID), wrong); err != nil {
		return nil, err
	}
	opened, err := Open(ctx, place, logID)
	if err != nil {
		return nil, err
	}
	for _, fault := range opened.faults {
		wrong(fault)
	}
	if source != nil {
		err = asFault(opened.compareEnd(ctx, source), wrong)
	}
	return opened, err
}

// asFault calls wrong with an error that is a fault of the archive, and returns any other error.
func asFault(err error, wrong func(error)) error {
	if from, _ := Extent(err); from > 0 || isContradiction(err) {
		wrong(err)
		return nil
	}
	return err
}

// waiting returns the oldest message of the log that the archive lacks: its sequence, and when it was stored. The
// sequence is 0 if there is none.
func (a *Archive) waiting(ctx context.Context, source Source, head Head) (seq uint64, storedAt time.Time, err error) {
	next := max(a.next(head), head.First)
	if next > head.Last {
		return 0, time.Time{}, nil
	}
	err = source.ReadRecords(ctx, next, next, func(r Record) error {
		seq, storedAt = r.Seq, r.StoredAt
		return nil
	})
	return seq, storedAt, err
}
