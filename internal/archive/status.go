package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/fingerprint"
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
	err := opened.compare(ctx, source)
	switch {
	case isContradiction(err), isDamage(err):
		s.Faults = append(s.Faults, err.Error())
	case err != nil:
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

// next returns the sequence with which the next segment begins.
func (a *Archive) next(head Head) uint64 {
	if end := a.end(); end != nil {
		return end.Last + 1
	}
	return head.First
}

// compare compares the end of an archive with the log. It reads the log's head after the archive,
// because both grow meanwhile. If the error is a DamagedError, nothing else is wrong.
func (a *Archive) compare(ctx context.Context, source Source) error {
	end := a.end()
	head, err := source.Head(ctx)
	if err != nil {
		return err
	}
	switch {
	case head.LogID != a.logID:
		return fmt.Errorf("the log was replaced by log %s meanwhile", head.LogID)
	case end == nil && head.First > head.Begin:
		return contradiction("it holds nothing, and seq %d to %d of the log were archived before they were removed there", head.Begin, head.First-1)
	case end == nil:
		return nil
	case end.Partitions != head.Partitions:
		return contradiction("it has %d partitions, the log has %d", end.Partitions, head.Partitions)
	case end.Last > head.Last:
		return contradiction("it holds seq %d, but the log ends with seq %d", end.Last, head.Last)
	case end.Last+1 < head.First:
		return contradiction("it ends with seq %d, but the log begins with seq %d: what lies between them is lost", end.Last, head.First)
	case a.origin > head.Begin:
		return contradiction("it begins with seq %d, the log with seq %d", a.origin, head.Begin)
	case end.Last < head.First:
		return nil
	}
	return a.compareNewest(ctx, source, head)
}

// compareNewest compares the newest message that can be read with the same message of the log. If
// they are equal but a newer message is damaged, the error is the DamagedError.
func (a *Archive) compareNewest(ctx context.Context, source Source, head Head) error {
	var damage error
	for _, info := range slices.Backward(a.segments) {
		for seq := info.Last; seq >= max(info.First, head.First); {
			var archived fingerprint.Hash
			err := a.Read(ctx, seq, seq, func(r Record) error {
				archived = fingerprint.Leaf(r.Message())
				return nil
			})
			if damaged, is := errors.AsType[*DamagedError](err); is {
				damage, seq = cmp.Or(damage, err), min(seq, damaged.From)-1
				continue
			}
			if err != nil {
				return err
			}
			err = source.ReadRecords(ctx, seq, seq, func(r Record) error {
				if fingerprint.Leaf(r.Message()) != archived {
					return contradiction("seq %d of segment %s is another message in the log", r.Seq, info.Name)
				}
				return nil
			})
			return cmp.Or(err, damage)
		}
	}
	return damage
}
