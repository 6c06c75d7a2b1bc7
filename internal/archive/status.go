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
	for _, other := range logs {
		if other != s.LogID {
			s.Faults = append(s.Faults, fmt.Sprintf("%s also holds segments of log %s", place, other))
		}
	}
	if s.LogID == "" {
		return s, nil
	}
	opened, err := Open(ctx, place, s.LogID)
	if err != nil {
		return nil, err
	}
	for _, fault := range opened.Faults() {
		s.Faults = append(s.Faults, fault.Error())
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
	return s, s.compare(ctx, opened, source)
}

// compare adds the lag, and how the archive contradicts the log.
func (s *Status) compare(ctx context.Context, opened *Archive, source Source) error {
	wrong := func(fault error) { s.Faults = append(s.Faults, fault.Error()) }
	if err := asFault(opened.compareEnd(ctx, source), wrong); err != nil {
		return err
	}
	head, err := source.Head(ctx)
	if err != nil {
		return err
	}
	next := opened.next(head)
	if next > head.Last {
		return nil
	}
	s.LagMessages = head.Last - next + 1
	return source.ReadRecords(ctx, next, next, func(r Record) error {
		s.LagSeconds = max(0, time.Since(r.StoredAt).Seconds())
		return nil
	})
}
