package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

// log is what the projector needs of the event log.
type log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
	Read(ctx context.Context, from uint64, deliver func(events.Message) error) error
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// Config is what a projector works with.
type Config struct {
	Log        log
	Store      *store.Store
	Owner      string // the store's
	LeaseTime  time.Duration
	Rules      projections.Rules
	BatchSize  int
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Projector folds the log into the tables. Any number of them may run on the
// same log and database: they share the partitions.
type Projector struct {
	Config
	metrics    *metrics
	lastError  atomic.Pointer[string] // why the projector does not work at present; nil when it does
	quarantine store.Quarantine
	measured   time.Time // when the payments that wait for their user were counted
}

// New returns a projector that is not ready until Run has reached the log and the database.
func New(config Config) *Projector {
	p := &Projector{Config: config, metrics: newMetrics(config.Registerer)}
	p.setLastError(errors.New("starting"))
	return p
}

// Back-off after a fault: short enough to be back within two seconds of the
// other side's return, long enough to be no busy loop.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = time.Second
)

// confirmLost is how long the log must look like another one, at every try: a
// server that starts or stops may say strange things.
const confirmLost = 2 * time.Second

// Run projects until ctx ends, then hands its partitions over and returns nil.
// Faults of the log and the database are logged once each and waited out. Run
// returns an error only for what waiting cannot cure: a log that is not the one
// of the tables.
func (p *Projector) Run(ctx context.Context) error {
	wait := backoff.Backoff{Min: minBackOff, Max: maxBackOff}
	lastLogged := ""
	var lost time.Time // since when the log looks like another one, without a break
	for {
		began := time.Now()
		err := p.work(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch isLost := errors.Is(err, identity.ErrLogLost) || errors.Is(err, store.ErrOtherLog); {
		case !isLost:
			lost = time.Time{}
		case lost.IsZero():
			lost = began
		case began.Sub(lost) >= confirmLost:
			return err
		}
		p.setLastError(err)
		p.metrics.faults.Inc()
		if err.Error() != lastLogged {
			p.Logger.WarnContext(ctx, "the projector waits and tries again", "error", err)
			lastLogged = err.Error()
		}
		if time.Since(began) > maxBackOff {
			lastLogged = ""
			wait.Reset()
		}
		if wait.Wait(ctx) != nil {
			return nil
		}
	}
}

// Ready says why the projector does not work; nil when it does, or when others
// hold all partitions.
func (p *Projector) Ready(context.Context) error {
	if last := p.lastError.Load(); last != nil {
		return errors.New(*last)
	}
	return nil
}

func (p *Projector) setLastError(err error) {
	if err == nil {
		p.lastError.Store(nil)
		return
	}
	text := err.Error()
	p.lastError.Store(&text)
}

// callTimeout bounds every single question to the log or the database.
const callTimeout = 2 * time.Second

// work is one membership: from joining the others to the first fault.
func (p *Projector) work(ctx context.Context) error {
	info, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	defer p.leave(ctx)
	for {
		share, over, err := p.heartbeat(ctx, info.Partitions)
		if err != nil {
			return err
		}
		if len(over) > 0 {
			if err := p.release(ctx, over); err != nil {
				return err
			}
		}
		p.metrics.partitions.Set(float64(len(share)))
		if err := p.checkHead(ctx, &info); err != nil {
			return err
		}
		if err := p.serve(ctx, info, share); err != nil {
			return err
		}
	}
}

func (p *Projector) prepare(ctx context.Context) (eventlog.Info, error) {
	info, err := p.askLog(ctx)
	if err != nil {
		return eventlog.Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := p.Store.Prepare(ctx, info.LogID, info.Partitions, p.Rules); err != nil {
		return eventlog.Info{}, fmt.Errorf("prepare the tables: %w", err)
	}
	return info, nil
}

// askLog does not wait for long: a question may be lost with its connection. What is
// projected from a log that may lose it would be in the tables alone.
func (p *Projector) askLog(ctx context.Context) (eventlog.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := p.Log.Info(ctx)
	return info, cmp.Or(err, info.Unsafe)
}

// prepareTimeout is long: another projector may be creating the tables.
const prepareTimeout = 10 * time.Second

// heartbeat keeps the membership and takes what is free. It returns the
// partitions to work on from now on, and those to be given up once nothing
// works on them. It ends what it began after ctx has ended, too: the database
// might do later what was given up, and undo what leave does.
func (p *Projector) heartbeat(ctx context.Context, partitions int) (share, over []int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	standing, err := Heartbeat(ctx, p.Store)
	if err != nil {
		return nil, nil, err
	}
	next := nextStep(p.Owner, partitions, standing)
	share = slices.Clone(next.held[:len(next.held)-len(next.over)])
	if len(next.free) > 0 {
		taken, err := TakeLeases(ctx, p.Store, next.free)
		if err != nil {
			return nil, nil, err
		}
		share = append(share, taken...)
		slices.Sort(share)
	}
	return share, next.over, nil
}

func (p *Projector) release(ctx context.Context, partitions []int) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return ReleaseLeases(ctx, p.Store, partitions)
}

// leave hands everything over at once, also after ctx has ended. Where it fails
// the leases expire.
func (p *Projector) leave(ctx context.Context) {
	p.metrics.partitions.Set(0)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := Leave(ctx, p.Store); err != nil {
		p.Logger.DebugContext(ctx, "leases are left to expire", "error", err)
	}
}

// serve works on a share until a heartbeat finds another one (nil) or something
// fails. When it returns nothing works on the share any more.
func (p *Projector) serve(ctx context.Context, info eventlog.Info, share []int) error {
	tables, err := p.inForce(ctx)
	if err != nil {
		return err
	}
	positions, err := identity.Check(ctx, p.Log, p.Store, info)
	if err != nil {
		return err
	}
	p.setLastError(nil)
	p.measure(ctx)
	p.Logger.InfoContext(ctx, "projecting", "partitions", len(share), "of", info.Partitions,
		"log_id", info.LogID, "position", positions.LeastOf(share), "head", info.Last)

	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, logID := make(chan error, 1), info.LogID
	go func() { ended <- p.follow(following, logID, share, positions) }()
	ticker := time.NewTicker(HeartbeatEvery(p.LeaseTime))
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return p.unlessReplaced(ctx, tables, err)
		case <-ticker.C:
			goOn, err := p.attend(ctx, &info, share, tables)
			if goOn {
				continue
			}
			cancel()
			followed := <-ended // nothing works on the share any more
			return p.unlessReplaced(ctx, tables, cmp.Or(err, followed))
		}
	}
}

// inForce is what the live tables are now; ErrFoldID where they are not this build's.
func (p *Projector) inForce(ctx context.Context) (store.TablesID, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return p.Store.CurrentTables(ctx, p.Rules)
}

// unlessReplaced: a batch that has waited for a promotion finds the checkpoints of other
// tables. That is no fault: the work goes on from there.
func (p *Projector) unlessReplaced(ctx context.Context, tables store.TablesID, err error) error {
	if !errors.Is(err, store.ErrFenced) {
		return err
	}
	if now, unknown := p.inForce(ctx); unknown != nil || now == tables {
		return err
	}
	p.Logger.InfoContext(ctx, "a promotion has replaced the tables")
	return nil
}

// attend looks after the lease, the log and the tables while the share is worked on,
// and says whether to go on with it.
func (p *Projector) attend(ctx context.Context, info *eventlog.Info, share []int, tables store.TablesID) (goOn bool, err error) {
	next, over, err := p.heartbeat(ctx, info.Partitions)
	if err != nil {
		return false, err
	}
	if err := p.checkHead(ctx, info); err != nil {
		return false, err
	}
	p.measure(ctx)
	now, err := p.inForce(ctx)
	return now == tables && len(over) == 0 && slices.Equal(next, share), err
}

// checkHead notices a log that is replaced or cut short under a running reader,
// which would not be told so.
func (p *Projector) checkHead(ctx context.Context, seen *eventlog.Info) error {
	now, err := p.askLog(ctx)
	if err != nil {
		return err
	}
	if now.LogID != seen.LogID {
		return fmt.Errorf("%w: its log_id was %s and is %s", identity.ErrLogLost, seen.LogID, now.LogID)
	}
	if now.Last < seen.Last {
		return fmt.Errorf("%w: it ended at seq %d and ends at seq %d", identity.ErrLogLost, seen.Last, now.Last)
	}
	*seen = now
	return nil
}
