package report

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// Log is what is asked of the log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Waiting(ctx context.Context, partition int, after uint64) (eventlog.Waiting, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// Status is how the work stands. What is away is missing, and says why.
type Status struct {
	Log           *LogStatus      `json:"log"`
	LogFault      string          `json:"log_fault,omitempty"`
	Database      *DatabaseStatus `json:"database"`
	DatabaseFault string          `json:"database_fault,omitempty"`
	Lag           *Lag            `json:"lag"` // null where one of both is away
	Partitions    []Partition     `json:"partitions"`
}

// LogStatus is the log as its server tells.
type LogStatus struct {
	LogID      string `json:"log_id"`
	Partitions int    `json:"partitions"`
	First      uint64 `json:"first_seq"`
	Head       uint64 `json:"head"`
	Replicas   int    `json:"replicas"`
	Durability string `json:"durability"` // what a 200 has survived: fsynced, quorum, one_server
}

// Lag is what is in the log and not in the tables.
type Lag struct {
	Events  uint64     `json:"events"`
	Oldest  *time.Time `json:"oldest_received_at"` // null where nothing waits
	Seconds float64    `json:"seconds"`            // since then, by the database's clock
}

// Partition is one of the log's: how far the live tables have it, and what waits.
type Partition struct {
	Number   int        `json:"partition"`
	Position int64      `json:"position"`       // every message of it up to there is applied
	Owner    string     `json:"owner"`          // empty: nobody holds a lease that has not expired
	Waiting  *uint64    `json:"waiting" db:"-"` // messages that are not applied; null where the log is away
	Oldest   *time.Time `json:"oldest_received_at" db:"-"`
}

// logTime bounds the questions to the log, which may have gone silent.
const logTime = 10 * time.Second

// askAtOnce is how many partitions the log is asked about at the same time.
const askAtOnce = 8

// NewStatus puts together what the database said (or why it did not) and what
// the log says. The log is asked after the database, so that what arrives in
// between counts as waiting.
func NewStatus(ctx context.Context, log Log, database DatabaseStatus, fault error) Status {
	out := Status{Partitions: []Partition{}}
	if fault != nil {
		out.DatabaseFault = fault.Error()
	} else {
		out.Database = &database
		out.Partitions = append(out.Partitions, database.Partitions...)
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	info, err := log.Info(ctx)
	if err == nil {
		out.Log = &LogStatus{info.LogID, info.Partitions, info.First, info.Last, info.Replicas, string(info.Durability)}
		err = cmp.Or(out.measure(ctx, log), info.Unsafe)
	}
	if err != nil {
		out.LogFault = err.Error()
	}
	return out
}

// ErrForeignLog: the log is not the one the tables were folded from.
var ErrForeignLog = errors.New("it is not the log the tables were folded from")

// measure finds the lag of every partition that is behind the head.
func (s *Status) measure(ctx context.Context, log Log) error {
	if s.Database == nil {
		return nil
	}
	if s.Log.LogID != s.Database.Live.LogID {
		return ErrForeignLog
	}
	found := make([]eventlog.Waiting, len(s.Partitions))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(askAtOnce)
	for i, p := range s.Partitions {
		if uint64(p.Position) > s.Log.Head {
			return errors.New("it ends before what the tables hold: it has lost messages")
		}
		if uint64(p.Position) == s.Log.Head {
			continue
		}
		group.Go(func() (err error) {
			found[i], err = log.Waiting(asking, p.Number, uint64(p.Position))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.add(found)
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

// Write writes it for a person, or as one JSON object.
func (s Status) Write(w io.Writer, asJSON bool) error {
	return write(w, asJSON, s, s.text)
}

func write(w io.Writer, asJSON bool, value any, text func(*page)) error {
	if asJSON {
		return writeJSON(w, value)
	}
	var p page
	text(&p)
	_, err := p.text.WriteTo(w)
	return err
}
