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
	"github.com/payfold/payfold/internal/telemetry/traces"
)

// log is what the projector needs of the event log.
type log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
	Read(ctx context.Context, from uint64, deliver func(m events.Message, traceParent string) error) error
}

// liveTables is what a projector needs of the database to fold into the live tables.
type liveTables interface {
	Prepare(ctx context.Context, logID string, partitions int, rules projections.Rules) error
	CurrentTables(ctx context.Context, rules projections.Rules) (store.TablesID, error)
	Checkpoints(ctx context.Context) ([]store.Checkpoint, error)
	Waiting(ctx context.Context) (store.Waiting, error)
}

// batches is what a projector needs of the database to apply events, each batch in one transaction.
type batches interface {
	// apply is Apply.
	apply(context.Context, projections.Rules, []events.Event, store.Advance) (Result, error)
	// applyOrQuarantine is ApplyOrQuarantine.
	applyOrQuarantine(context.Context, projections.Rules, events.Event, store.Advance) (result Result, cause, err error)
	// beginBacklog returns a backlog without rows. The tables must be at one position in all partitions.
	beginBacklog(context.Context, projections.Rules) (backlog, error)
}

// Config configures a Projector. All fields but Tracer are required.
type Config struct {
	Log        log
	Store      *store.Store
	Rules      projections.Rules
	BatchSize  int
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Tracer     *traces.Tracer // nil: no traces
}

// Projector folds the log into the live tables. Any number of projectors may run on the
// same log and database; they share the partitions.
type Projector struct {
	Config
	owner       string
	leaseTime   time.Duration
	members     members
	tables      liveTables
	batches     batches
	jitter      func() float64 // in [0, 1); nil: random
	metrics     *metrics
	lastError   atomic.Pointer[string] // why the projector does not work now; nil while it works
	quarantine  store.Quarantine
	reached     reached
	giveUpAfter time.Duration // see lostLogTimeout
	measured    time.Time     // when the payments that wait for their user were counted
}

// New returns a projector that is not ready until Run has reached the log and the database.
func New(config Config) *Projector {
	s := config.Store
	return newProjector(config, s.Owner(), s.LeaseTime(), Members{s}, s, postgres{s})
}

func newProjector(config Config, owner string, leaseTime time.Duration, shared members, tables liveTables, batches batches) *Projector {
	p := &Projector{
		Config: config, owner: owner, leaseTime: leaseTime, members: shared, tables: tables, batches: batches,
		metrics: newMetrics(config.Registerer),
	}
	p.setLastError(errors.New("starting: the log and the database have not both answered yet"))
	return p
}

// After a fault the projector works again within two seconds after the database or the log has
// returned. minBackOff prevents a busy loop.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = time.Second
)

// Run gives up after every try has found another log for this long.
const (
	// A server that starts or stops may answer for a moment as if it had another log.
	lostLogTimeout = 2 * time.Second

	// A leader that is cut off from the other servers answers with an old head until it notices.
	// nats-server needs up to twenty seconds for that (its lostQuorumInterval and lostQuorumCheck).
	lostReplicatedLogTimeout = 30 * time.Second
)

// Run projects until ctx ends, then gives up its leases and returns nil. After a fault of the log
// or the database it logs the fault once and tries again. It returns an error only if the tables
// were folded from another log. It may be called once.
func (p *Projector) Run(ctx context.Context) error {
	wait := backoff.Backoff{Min: minBackOff, Max: maxBackOff, Jitter: p.jitter}
	var fault backoff.Fault
	var lost time.Time // since when every try finds another log
	for {
		began := time.Now()
		err := p.work(ctx)
		if ctx.Err() != nil {
			return nil
		}
		worked := p.lastError.Load() == nil
		switch isLost := errors.Is(err, identity.ErrLogLost) || errors.Is(err, store.ErrOtherLog); {
		case !isLost:
			lost = time.Time{}
		case worked || lost.IsZero():
			lost = time.Now() // the try may have begun, and worked, long ago
		case time.Since(lost) >= p.giveUpAfter:
			return err
		}
		lasted := time.Since(began) > maxBackOff
		if lasted && worked { // the try did not only wait for an answer
			fault.Clear()
		}
		p.setLastError(err)
		if worked { // a try that only waited for the log or the database interrupted nothing
			p.metrics.faults.Inc()
		}
		if fault.IsNew(err) {
			p.Logger.WarnContext(ctx, "the projector waits and tries again", "error", err)
		}
		if lasted {
			wait.Reset()
		}
		if wait.Wait(ctx) != nil {
			return nil
		}
	}
}

// Ready returns the reason why the projector does not work, or nil. A projector also works if
// others hold all partitions. It is safe for concurrent use.
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

// callTimeout bounds each call to the log or the database.
const callTimeout = 2 * time.Second

// work makes this projector a member and applies messages until the first fault. Then it leaves.
func (p *Projector) work(ctx context.Context) error {
	info, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	defer p.leave(ctx)
	for {
		share, surplus, err := p.heartbeat(ctx, info.Partitions)
		if err != nil {
			return err
		}
		if len(surplus) > 0 {
			if err := p.release(ctx, surplus); err != nil {
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
	info, err := p.logInfo(ctx)
	if err != nil {
		return eventlog.Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := p.tables.Prepare(ctx, info.LogID, info.Partitions, p.Rules); err != nil {
		return eventlog.Info{}, fmt.Errorf("prepare the tables: %w", err)
	}
	return info, nil
}

// logInfo has a timeout, because a request may be lost with its connection. It returns an error for
// a log that may lose events: the tables could have events that the log has lost.
func (p *Projector) logInfo(ctx context.Context) (eventlog.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := p.Log.Info(ctx)
	if err == nil {
		p.giveUpAfter = lostLogTimeout
		if info.Replicas > 1 {
			p.giveUpAfter = lostReplicatedLogTimeout
		}
	}
	return info, cmp.Or(err, info.Unsafe)
}

// prepareTimeout is long: another projector may be creating the tables.
const prepareTimeout = 10 * time.Second

// serve applies the messages of a share. It returns nil when the share or the tables
// change, and an error at the first fault. When it returns, all work on the share has ended.
func (p *Projector) serve(ctx context.Context, info eventlog.Info, share []int) error {
	tables, err := p.currentTables(ctx)
	if err != nil {
		return err
	}
	positions, err := identity.Check(ctx, p.Log, p.tables, info)
	if err != nil {
		return err
	}
	p.setLastError(nil)
	p.noticeSetBack(ctx, info.LogID, positions)
	p.measure(ctx)
	p.Logger.InfoContext(ctx, "projecting", "partitions", len(share), "of", info.Partitions,
		"log_id", info.LogID, "position", positions.LowestOf(share), "head", info.Last)

	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, logID := make(chan error, 1), info.LogID
	go func() { ended <- p.follow(following, logID, share, positions) }()
	ticker := time.NewTicker(heartbeatInterval(p.leaseTime))
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return p.unlessReplaced(ctx, tables, err)
		case <-ticker.C:
			unchanged, err := p.renew(ctx, &info, share, tables)
			if unchanged {
				continue
			}
			cancel()
			followed := <-ended
			return p.unlessReplaced(ctx, tables, cmp.Or(err, followed))
		}
	}
}

// currentTables returns the tables that are live now; see store.CurrentTables.
func (p *Projector) currentTables(ctx context.Context) (store.TablesID, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return p.tables.CurrentTables(ctx, p.Rules)
}

// unlessReplaced returns nil if err is ErrFenced because a promotion has replaced the tables. That
// is no fault: a batch that waited for the promotion finds the checkpoints of the new tables.
func (p *Projector) unlessReplaced(ctx context.Context, tables store.TablesID, err error) error {
	if !errors.Is(err, store.ErrFenced) {
		return err
	}
	if now, readErr := p.currentTables(ctx); readErr != nil || now == tables {
		return err
	}
	p.Logger.InfoContext(ctx, "a promotion has replaced the tables")
	return nil
}

// renew renews the leases and checks the log and the tables. It reports whether share and
// tables are unchanged.
func (p *Projector) renew(ctx context.Context, info *eventlog.Info, share []int, tables store.TablesID) (unchanged bool, err error) {
	next, surplus, err := p.heartbeat(ctx, info.Partitions)
	if err != nil {
		return false, err
	}
	if err := p.checkHead(ctx, info); err != nil {
		return false, err
	}
	p.measure(ctx)
	now, err := p.currentTables(ctx)
	return now == tables && len(surplus) == 0 && slices.Equal(next, share), err
}

// checkHead returns identity.ErrLogLost if the log was replaced or cut short. A running
// reader of the log does not notice that.
func (p *Projector) checkHead(ctx context.Context, seen *eventlog.Info) error {
	now, err := p.logInfo(ctx)
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
