package lag

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/minutes"
	"github.com/payfold/payfold/internal/store"
)

const (
	measureInterval = 5 * time.Second
	measureTimeout  = 5 * time.Second // of the tables, and of the log
)

// Config describes a Meter.
type Config struct {
	Log        Log
	Store      *store.Store
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: the Meter shows no metrics
	Interval   time.Duration         // 0 means five seconds
}

// Meter measures how far the tables are behind the log. It does not depend on the projector of its
// process, so it also notices if that projector stands still. It measures all partitions, no matter
// who works on them.
type Meter struct {
	Config

	mu       sync.Mutex
	tables   *tables // as they were read last; nil before
	head     uint64  // of the log; 0 while unknown
	measured *measured
	failing  bool // the last count failed, so measured is old
	hour     minutes.Ring[Minute]
}

// measured is what waited at one moment.
type measured struct {
	eventlog.Waiting
	at time.Time
}

// NewMeter registers its metrics. Run does the work.
func NewMeter(config Config) *Meter {
	if config.Interval == 0 {
		config.Interval = measureInterval
	}
	m := &Meter{Config: config}
	if m.Registerer != nil {
		m.Registerer.MustRegister(newCollector(m))
	}
	return m
}

// Run blocks until ctx ends, and returns nil.
func (m *Meter) Run(ctx context.Context) error {
	for pause := backoff.Every(m.Interval); ; {
		if err := m.measure(ctx); err != nil && ctx.Err() == nil {
			m.Logger.DebugContext(ctx, "the lag is not measured", "error", err)
		}
		if pause.Wait(ctx) != nil {
			return nil
		}
	}
}

// measure reads the tables and then the log. If the database does not answer, the tables count as
// unchanged: nobody can see newer rows.
func (m *Meter) measure(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	now, tablesErr := readTables(reading, m.Store)
	m.mu.Lock()
	if tablesErr == nil {
		m.tables = &now
	}
	last := m.tables
	m.mu.Unlock()
	if last == nil {
		return tablesErr
	}
	head, waiting, err := m.count(ctx, last)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing = err != nil; !m.failing {
		m.head, m.measured = head, &measured{waiting, time.Now()}
		m.hour.At(m.measured.at).note(m.measured)
	}
	return errors.Join(tablesErr, err)
}

// Minute is the most that waited in one minute, and the longest that a message had waited.
type Minute struct {
	Begin   time.Time `json:"minute"`
	Events  uint64    `json:"events"`
	Seconds float64   `json:"seconds"`
}

func (m *Minute) note(now *measured) {
	m.Begin = minutes.Begin(now.at)
	m.Events, m.Seconds = max(m.Events, now.Count), max(m.Seconds, now.age(false).Seconds())
}

// LastHour returns what was measured in the last hour, by minute, oldest first. Minutes in which nothing could be
// measured are left out.
func (m *Meter) LastHour() []Minute {
	out := []Minute{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, minute := range m.hour.Last(time.Now()) {
		out = append(out, minute.Value)
	}
	return out
}

func (m *Meter) count(ctx context.Context, of *tables) (head uint64, sum eventlog.Waiting, err error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	info, err := m.Log.Info(ctx)
	if err != nil {
		return 0, sum, err
	}
	if info.LogID != of.logID {
		return 0, sum, identity.ErrLogLost
	}
	found, err := Count(ctx, m.Log, info, of.positions)
	return info.Last, found.Sum(), err
}

// age returns how long the oldest message has waited; 0 if none waits.
func (m *measured) age(failing bool) time.Duration {
	until := m.at
	if failing {
		until = time.Now()
	}
	if m.Count == 0 {
		return 0
	}
	return max(0, until.Sub(m.Oldest.ReceivedAt))
}
