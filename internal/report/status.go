package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// Status is the state of log and tables. A part that cannot be reached is nil, and its
// fault says why.
type Status struct {
	Log           *LogStatus      `json:"log"`
	LogFault      string          `json:"log_fault,omitempty"`
	Database      *DatabaseStatus `json:"database"`
	DatabaseFault string          `json:"database_fault,omitempty"`
	Lag           *Lag            `json:"lag"`            // nil where log or database cannot be reached
	Pace          *Pace           `json:"pace,omitempty"` // since an earlier status; nil where there is none to compare with
	Partitions    []Partition     `json:"partitions"`
}

// LogStatus is the state of the log.
type LogStatus struct {
	LogID      string `json:"log_id"`
	Partitions int    `json:"partitions"`
	First      uint64 `json:"first_seq"`
	Head       uint64 `json:"head"`
	Replicas   int    `json:"replicas"`
	Durability string `json:"durability"` // of an event that was answered 200: fsynced, quorum, one_server
}

// Lag counts the messages of the log that are not in the tables.
type Lag struct {
	Events  uint64     `json:"events"`
	Oldest  *time.Time `json:"oldest_received_at"` // nil where there is no lag
	Seconds float64    `json:"seconds"`            // since Oldest, by the database's clock
}

// Pace says how the work goes on between two statuses.
type Pace struct {
	Seconds         float64  `json:"seconds"` // between the two, by the database's clock
	EventsPerSecond float64  `json:"events_per_second"`
	SecondsLeft     *float64 `json:"seconds_left"` // until there is no lag; nil if it does not shrink, or is unknown
}

// maxConcurrentQueries bounds the queries to the log at the same time.
const maxConcurrentQueries = 8

// ReadStatus reads the state of the tables and of the log. tables calls work with the tables, and
// returns its error, or why there are none. ReadStatus returns a status in any case. The error says
// why the database could not be read; it is nil if there are no tables yet.
func ReadStatus(ctx context.Context, log Log, tables func(ctx context.Context, work func(context.Context, *store.Store) error) error) (Status, error) {
	var database DatabaseStatus
	fault := tables(ctx, func(ctx context.Context, s *store.Store) (err error) {
		database, err = readDatabase(ctx, s)
		return err
	})
	status := newStatus(ctx, log, database, fault)
	if errors.Is(fault, store.ErrNotPrepared) {
		return status, nil
	}
	return status, fault
}

// newStatus joins the state of the database, or its fault, with the state of the log. It
// queries the log after the database, so that events that arrive in between count as lag.
func newStatus(ctx context.Context, log Log, database DatabaseStatus, fault error) Status {
	out := Status{Partitions: []Partition{}}
	if fault != nil {
		out.DatabaseFault = fault.Error()
	} else {
		out.Database = &database
		out.Partitions = append(out.Partitions, database.Partitions...)
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err == nil {
		out.Log = &LogStatus{info.LogID, info.Partitions, info.First, info.Last, info.Replicas, string(info.Durability)}
		err = cmp.Or(out.measure(ctx, log, info), info.Unsafe)
	}
	if err != nil {
		out.LogFault = err.Error()
	}
	return out
}

// measure computes the lag of every partition that is behind the head.
func (s *Status) measure(ctx context.Context, log Log, info eventlog.Info) error {
	if s.Database == nil {
		return nil
	}
	if s.Log.LogID != s.Database.Live.LogID {
		return errForeignLog
	}
	for _, p := range s.Partitions {
		if uint64(p.Position) > s.Log.Head {
			return errors.New("it ends before what the tables hold: it has lost messages")
		}
	}
	for {
		found, err := s.count(ctx, log, info.ServerFirst)
		if err != nil {
			return err
		}
		now, err := log.Info(ctx)
		if err != nil {
			return err
		}
		if now.ServerFirst == info.ServerFirst {
			s.add(found)
			return nil
		}
		info = now // the log was trimmed meanwhile
	}
}

// count returns what waits in each partition. The log's server has the messages from serverFirst on.
func (s *Status) count(ctx context.Context, log Log, serverFirst uint64) ([]eventlog.Waiting, error) {
	found := make([]eventlog.Waiting, len(s.Partitions))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentQueries)
	for i, p := range s.Partitions {
		if uint64(p.Position) == s.Log.Head {
			continue
		}
		group.Go(func() (err error) {
			found[i], err = log.Waiting(asking, p.Number, uint64(p.Position))
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		err = s.countRemoved(ctx, log, serverFirst, found)
	}
	return found, err
}

// countRemoved adds the messages that wait and are in the archive only.
func (s *Status) countRemoved(ctx context.Context, log Log, serverFirst uint64, found []eventlog.Waiting) error {
	next, place := serverFirst, map[int]int{}
	for i, p := range s.Partitions {
		next, place[p.Number] = min(next, uint64(p.Position)+1), i
	}
	removed := make([]eventlog.Waiting, len(found))
	err := log.ReadUntil(ctx, next, serverFirst-1, func(m events.Message) error {
		i, known := place[m.Partition]
		if !known || m.Seq <= uint64(s.Partitions[i].Position) {
			return nil
		}
		if m.Body = nil; removed[i].Count == 0 {
			removed[i].Oldest = m
		}
		removed[i].Count++
		return nil
	})
	if err != nil {
		return fmt.Errorf("count what waits and is in the archive only: %w", err)
	}
	for i := range removed {
		if removed[i].Count > 0 {
			found[i] = eventlog.Waiting{Count: found[i].Count + removed[i].Count, Oldest: removed[i].Oldest}
		}
	}
	return nil
}

func (s *Status) add(found []eventlog.Waiting) {
	s.Lag = &Lag{}
	for i, waiting := range found {
		s.Partitions[i].Waiting = &waiting.Count
		if waiting.Count == 0 {
			continue
		}
		s.Lag.Events += waiting.Count
		received := waiting.Oldest.ReceivedAt
		s.Partitions[i].Oldest = &received
		if s.Lag.Oldest == nil || received.Before(*s.Lag.Oldest) {
			s.Lag.Oldest = &received
			s.Lag.Seconds = max(s.Database.At.Sub(received).Seconds(), 0)
		}
	}
}

// Write writes text for people, or one JSON object.
func (s Status) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, s, s.text)
}
