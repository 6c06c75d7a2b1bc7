package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

// log is what the projector needs of the event log.
type log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
	Read(ctx context.Context, from uint64, deliver func(events.Message) error) error
}

// Config is what a projector works with.
type Config struct {
	Log        log
	Store      *store.Store
	Rules      projections.Rules
	BatchSize  int
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Projector folds the log into the tables. Any number of them may run on the
// same log and database: one works, the others wait for their turn.
type Projector struct {
	Config
	metrics *metrics
	trouble atomic.Pointer[string] // why the projector does not work at present; nil when it does
}

// New returns a projector that is not ready until Run has reached the log and the database.
func New(config Config) *Projector {
	p := &Projector{Config: config, metrics: newMetrics(config.Registerer)}
	p.setTrouble(errors.New("starting"))
	return p
}

// Back-off after a fault: short enough to be back within two seconds of the
// other side's return, long enough to be no busy loop.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = time.Second
)

// Run projects until ctx ends, then returns nil. Faults of the log and the
// database are logged once each and waited out. Run returns an error only for
// what waiting cannot cure: a log that is not the one of the tables.
func (p *Projector) Run(ctx context.Context) error {
	backOff := minBackOff
	lastLogged := ""
	for {
		began := time.Now()
		err := p.work(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrLogLost) || errors.Is(err, store.ErrOtherLog) {
			return err
		}
		p.setTrouble(err)
		p.metrics.faults.Inc()
		if err.Error() != lastLogged {
			p.Logger.WarnContext(ctx, "the projector waits and tries again", "error", err)
			lastLogged = err.Error()
		}
		if time.Since(began) > maxBackOff {
			backOff, lastLogged = minBackOff, ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backOff):
		}
		backOff = min(2*backOff, maxBackOff)
	}
}

// Ready says why the projector does not work, nil when it does or when it
// stands by for another one.
func (p *Projector) Ready(context.Context) error {
	if trouble := p.trouble.Load(); trouble != nil {
		return errors.New(*trouble)
	}
	return nil
}

func (p *Projector) setTrouble(err error) {
	if err == nil {
		p.trouble.Store(nil)
		return
	}
	text := err.Error()
	p.trouble.Store(&text)
}

// callTimeout bounds every single question to the log or the database.
const callTimeout = 5 * time.Second

// work is one life of a reader: from the identity check to the first fault.
func (p *Projector) work(ctx context.Context) error {
	info, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	turn, err := p.waitForTurn(ctx)
	if err != nil {
		return err
	}
	defer turn.Release()

	positions, err := p.checkIdentity(ctx, info)
	if err != nil {
		return err
	}
	p.setTrouble(nil)
	p.Logger.InfoContext(ctx, "projecting", "log_id", info.LogID, "partitions", info.Partitions,
		"position", positions.least(), "head", info.Last)
	return p.follow(ctx, turn, positions)
}

func (p *Projector) prepare(ctx context.Context) (eventlog.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	info, err := p.Log.Info(ctx)
	if err != nil {
		return eventlog.Info{}, err
	}
	if err := p.Store.Prepare(ctx, info.LogID, info.Partitions, p.Rules.FoldID()); err != nil {
		return eventlog.Info{}, fmt.Errorf("prepare the tables: %w", err)
	}
	return info, nil
}

// turnInterval is how soon a waiting projector takes over.
const turnInterval = 250 * time.Millisecond

func (p *Projector) waitForTurn(ctx context.Context) (*store.Turn, error) {
	ticker := time.NewTicker(turnInterval)
	defer ticker.Stop()
	for waiting := false; ; waiting = true {
		turn, err := p.Store.TakeTurn(ctx)
		if turn != nil || err != nil {
			return turn, err
		}
		if !waiting {
			p.setTrouble(nil)
			p.Logger.InfoContext(ctx, "standing by: another projector is at work")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}
