// Package status shows the state of the system: the log, the tables, who works on them, and how far they are behind.
//
//	the database at one moment, then the log ──▶ text or one JSON object
//
// A part that cannot be reached is missing, and the status says why. The package escapes everything that a terminal could
// take for a command, in text and in JSON. Times are UTC.
package status

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second

// Status is the state of log and tables. A part that cannot be reached is nil, and its
// fault says why.
type Status struct {
	Log           *Log        `json:"log"`
	LogFault      string      `json:"log_fault,omitempty"`
	Database      *Database   `json:"database"`
	DatabaseFault string      `json:"database_fault,omitempty"`
	Lag           *Lag        `json:"lag"` // nil if log or database cannot be reached
	Partitions    []Partition `json:"partitions"`
}

// Log is the state of the log.
type Log = logreport.Log

// Lag counts the messages of the log that are not in the tables.
type Lag struct {
	Events  uint64     `json:"events"`
	Oldest  *time.Time `json:"oldest_received_at"` // nil if there is no lag
	Seconds float64    `json:"seconds"`            // since Oldest, by the database's clock
}

// Read reads the state of the tables and of the log. The argument tables calls work with the
// tables, and returns the error of work, or why there are no tables. Read returns a status in
// any case. The error says why the database could not be read; it is nil if there are no tables yet.
func Read(ctx context.Context, log lag.Log, tables func(ctx context.Context, work func(context.Context, *store.Store) error) error) (Status, error) {
	var database Database
	fault := tables(ctx, func(ctx context.Context, s *store.Store) (err error) {
		database, err = readWithCounts(ctx, s)
		return err
	})
	status := WithLog(ctx, log, database, fault)
	if errors.Is(fault, store.ErrNotPrepared) {
		return status, nil
	}
	return status, fault
}

// WithLog joins the state of the database, or the fault with which it could not be read, with the state
// of the log. It queries the log now, so events that arrived after the database was read count as lag.
func WithLog(ctx context.Context, log lag.Log, database Database, fault error) Status {
	var out Status
	if fault != nil {
		out.DatabaseFault = fault.Error()
	} else {
		out.Database = &database
		out.Partitions = slices.Clone(database.Partitions)
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err == nil {
		out.Log = new(logreport.LogOf(info))
		err = cmp.Or(out.measure(ctx, log, info), info.Unsafe)
	}
	if err != nil {
		out.LogFault = err.Error()
	}
	return out
}

// measure computes the lag of every partition that is behind the head.
func (s *Status) measure(ctx context.Context, log lag.Log, info eventlog.Info) error {
	if s.Database == nil {
		return nil
	}
	if s.Log.LogID != s.Database.Live.LogID {
		return identity.ErrLogLost
	}
	positions := map[int]uint64{}
	for _, p := range s.Partitions {
		positions[p.Number] = uint64(p.Position)
	}
	found, err := lag.Count(ctx, log, info, positions)
	if err == nil {
		s.add(found)
	}
	return err
}

func (s *Status) add(found lag.ByPartition) {
	for i := range s.Partitions {
		waiting := found[s.Partitions[i].Number]
		s.Partitions[i].Waiting = &waiting.Count
		if waiting.Count > 0 {
			s.Partitions[i].Oldest = &waiting.Oldest.ReceivedAt
		}
	}
	sum := found.Sum()
	s.Lag = &Lag{Events: sum.Count}
	if sum.Count > 0 {
		s.Lag.Oldest = &sum.Oldest.ReceivedAt
		s.Lag.Seconds = max(s.Database.At.Sub(sum.Oldest.ReceivedAt).Seconds(), 0)
	}
}

// Goal returns the position at which the tables of a schema are complete; nil if it is not known. A rebuild moves them on
// by up to a million messages at once.
func (s Status) Goal(of store.Schema) *int64 {
	if of.UntilSeq == nil && s.Log != nil && s.Log.LogID == of.LogID {
		return new(int64(s.Log.Head))
	}
	return of.UntilSeq
}

// Write writes text for people, or one JSON object.
func (s Status) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, s, s.text)
}
