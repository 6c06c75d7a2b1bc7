package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/schedule"
)

const (
	fleetLog       = "log-1"
	fleetLeaseTime = 10 * time.Second
	fleetBatch     = 16 // three messages at once are a backlog
	fleetMessages  = 64 // the log has no more
	// maxBehind is how far the clock of a new server may be behind that of the old one. So much later is a projector evicted
	// whose machine vanishes after it has connected to the new server and before its first heartbeat there.
	maxBehind = 12 * time.Second
)

// fleet is a log, a database and the projectors that work on them, which a scheduler lets take their steps.
type fleet struct {
	*schedule.Scheduler
	t          *testing.T
	partitions int
	log        []events.Message
	refuses    map[uint64]bool // the events whose rows the database refuses, by sequence
	database   *model
	before     *model        // a state of the database that a fail-over may bring back
	ahead      time.Duration // of the database's clock
	locked     map[int]*work // transactions that have moved a checkpoint, by partition
	sessions   map[string]*sessions
	broken     error // what a projector did wrong
	committed  int
	fenced     int
	refused    int // batches
	promoted   int
	backlogs   int // batches that were written after they were folded
	stale      int
}

// sessions are those of one projector. They outlive a machine without power, until they are ended.
type sessions struct {
	of       *schedule.Process
	open     bool
	ended    int  // how often all were ended
	vanished bool // nobody is at the other end any more
}

// end ends all sessions and their transactions.
func (s *sessions) end() {
	s.open = false
	s.ended++
}

// work is a transaction that applies a batch.
type work struct {
	by    *sessions
	in    int       // by.ended when it began
	idle  time.Time // since when it has not sent a statement
	ended bool
}

// isOver reports whether the transaction has ended. The database ends one that is idle; see store.Open.
func (w *work) isOver() bool {
	return w == nil || w.ended || w.in != w.by.ended || w.by.of.Killed() && !w.by.vanished || time.Since(w.idle) > fleetLeaseTime*4/5
}

func newFleet(t *testing.T, s *schedule.Scheduler) *fleet {
	partitions := 1 + s.Random.IntN(6)
	return &fleet{
		Scheduler: s, t: t, partitions: partitions, database: newModel(fleetLeaseTime, partitions, fleetLog),
		before: newModel(fleetLeaseTime, partitions, fleetLog), locked: map[int]*work{}, sessions: map[string]*sessions{},
		refuses: map[uint64]bool{},
	}
}

func (w *fleet) now() time.Time { return time.Now().Add(w.ahead) }

// start starts a projector.
func (w *fleet) start() *sessions {
	var own *sessions
	w.Start(func(p *schedule.Process) []func(context.Context) {
		own = &sessions{of: p}
		owner := fmt.Sprint("projector", p.Name)
		w.sessions[owner] = own
		at := seat{w, own, owner}
		jitter := rand.New(rand.NewPCG(uint64(p.Name), 1))
		projector := newProjector(Config{
			Log: at, BatchSize: fleetBatch, Rules: projections.Rules{Mode: projections.ModeAny},
			Logger: slog.New(slog.DiscardHandler),
		}, owner, fleetLeaseTime, at, at, at)
		projector.jitter = jitter.Float64
		return []func(context.Context){func(ctx context.Context) {
			if err := projector.Run(ctx); err != nil {
				w.broken = errors.Join(w.broken, err)
			}
		}}
	})
	return own
}

// seat is the log and the database as one projector has them.
type seat struct {
	*fleet
	own   *sessions
	owner string
}

// call is a statement, which opens a session if there is none.
func (s seat) call(ctx context.Context, name string, do func()) error {
	return s.own.of.Take(ctx, name, func(goesWrong schedule.Fault) error {
		if goesWrong == schedule.Refused {
			return schedule.ErrRefused
		}
		s.own.open = true
		do()
		if goesWrong == schedule.Lost {
			return schedule.ErrLost
		}
		return nil
	})
}

func (s seat) Heartbeat(ctx context.Context) (seen Membership, err error) {
	err = s.call(ctx, "heartbeat", func() {
		var evicted []string
		seen, evicted = s.database.heartbeat(s.owner, s.now(), func(owner string) bool { return s.sessions[owner].isConnected() })
		for _, owner := range evicted {
			s.sessions[owner].end()
		}
	})
	return seen, err
}

func (s *sessions) isConnected() bool { return s.open && (s.vanished || !s.of.Killed()) }

func (s seat) TakeLeases(ctx context.Context, partitions []int) (taken []int, err error) {
	err = s.call(ctx, fmt.Sprint("take leases ", partitions), func() { taken = s.database.takeLeases(s.owner, s.now(), partitions) })
	return taken, err
}

func (s seat) ReleaseLeases(ctx context.Context, partitions []int) error {
	return s.call(ctx, fmt.Sprint("release ", partitions), func() { s.database.releaseLeases(s.owner, partitions) })
}

func (s seat) Leave(ctx context.Context) error {
	return s.call(ctx, "leave", func() { s.database.leave(s.owner) })
}

func (s seat) Prepare(ctx context.Context, _ string, _ int, _ projections.Rules) error {
	return s.call(ctx, "prepare", func() {})
}

func (s seat) CurrentTables(ctx context.Context, _ projections.Rules) (now store.TablesID, err error) {
	err = s.call(ctx, "current tables", func() { now = s.database.tables })
	return now, err
}

func (s seat) Checkpoints(ctx context.Context) (out []store.Checkpoint, err error) {
	err = s.call(ctx, "checkpoints", func() { out = slices.Clone(s.database.checkpoints) })
	return out, err
}

func (s seat) Waiting(context.Context) (store.Waiting, error) { return store.Waiting{}, nil }

func (s seat) apply(ctx context.Context, _ projections.Rules, batch []events.Event, a store.Advance) (Result, error) {
	return Result{}, s.transact(ctx, batch, a, func() error { return s.refusesAny(batch) }, func() error {
		for _, event := range batch {
			s.database.count(event.Seq)
		}
		return nil
	})
}

func (s seat) refusesAny(batch []events.Event) error {
	for _, event := range batch {
		if s.refuses[event.Seq] {
			return &store.RefusedError{Cause: errRows}
		}
	}
	return nil
}

func (s seat) beginBacklog(ctx context.Context, _ projections.Rules) (backlog, error) {
	b := &fleetBacklog{at: s, rows: map[uint64]row{}}
	return b, s.call(ctx, "begin a backlog", func() { b.rowsID = s.database.rowsID })
}

// fleetBacklog is the rows that a projector keeps in memory.
type fleetBacklog struct {
	at     seat
	rowsID int
	rows   map[uint64]row // by customer, each read once
	folded int
	writes sync.Map // *foldedBatch → func(context.Context, store.Advance) error
}

func (b *fleetBacklog) full() bool { return b.folded > 2*fleetBatch }

func (b *fleetBacklog) fold(ctx context.Context, messages []message) (*foldedBatch, error) {
	batch, changed := decoded(messages), map[uint64]row{}
	var refused error
	err := b.at.call(ctx, fmt.Sprint("load rows up to ", messages[len(messages)-1].Seq), func() {
		for _, m := range messages {
			customer := customerOf(m.Seq)
			one, is := b.rows[customer]
			if !is {
				one = b.at.database.rows[customer]
			}
			one.events++
			b.rows[customer], changed[customer] = one, one
		}
		if batch[0].Seq%2 == 0 { // some are refused before they are written
			refused = b.at.refusesAny(batch[:1])
		}
	})
	if err := cmp.Or(err, refused); err != nil {
		return nil, err
	}
	b.folded += len(messages)
	out := &foldedBatch{messages: messages}
	b.writes.Store(out, func(ctx context.Context, a store.Advance) error {
		return b.at.transact(ctx, batch, a, func() error {
			if b.rowsID != b.at.database.rowsID {
				b.at.stale++
				return errStale
			}
			return b.at.refusesAny(batch)
		}, func() error {
			b.at.backlogs++
			return b.at.database.replace(changed, batch)
		})
	})
	return out, nil
}

func (b *fleetBacklog) write(ctx context.Context, folded *foldedBatch, a store.Advance) error {
	write, _ := b.writes.LoadAndDelete(folded)
	return write.(func(context.Context, store.Advance) error)(ctx, a)
}

var errRows = errors.New("a constraint is violated")

func (s seat) applyOrQuarantine(ctx context.Context, _ projections.Rules, event events.Event, a store.Advance) (_ Result, cause, err error) {
	err = s.transact(ctx, []events.Event{event}, a, func() error {
		if s.refuses[event.Seq] {
			cause = errRows
		}
		return nil
	}, func() error {
		if cause == nil {
			s.database.count(event.Seq)
		}
		return nil
	})
	return Result{}, cause, err
}

// transact locks the checkpoints, and commits later. check says whether the database refuses the rows; write writes them.
func (s seat) transact(ctx context.Context, batch []events.Event, a store.Advance, check, write func() error) error {
	own := &work{by: s.own}
	free := func() bool {
		for partition := range a.From {
			if !s.locked[partition].isOver() {
				return false
			}
		}
		return true
	}
	moves := fmt.Sprint(slices.Sorted(maps.Keys(a.From)), " to ", a.To)
	err := s.own.of.TakeWhen(ctx, "move "+moves, free, func(goesWrong schedule.Fault) error {
		if goesWrong != schedule.None {
			return schedule.ErrRefused
		}
		s.own.open, own.in, own.idle = true, s.own.ended, time.Now()
		if err := s.database.clone().advance(a); err != nil {
			s.fenced++
			return err
		}
		if err := check(); err != nil {
			if !errors.Is(err, errStale) {
				s.refused++
			}
			return err
		}
		for partition := range a.From {
			s.locked[partition] = own
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.own.of.Take(ctx, "commit "+moves, func(goesWrong schedule.Fault) error {
		if own.isOver() || goesWrong == schedule.Refused {
			own.ended = true
			return schedule.ErrRefused
		}
		own.ended = true
		s.committed++
		s.broken = errors.Join(s.broken, s.database.advance(a), s.database.apply(s.owner, s.log, batch, a), write())
		if goesWrong == schedule.Lost {
			return schedule.ErrLost
		}
		return nil
	})
	if err != nil {
		_ = s.own.of.Take(context.WithoutCancel(ctx), "roll back "+moves, func(schedule.Fault) error {
			own.ended = true
			return nil
		})
	}
	return err
}

func (s seat) Info(ctx context.Context) (info eventlog.Info, err error) {
	err = s.own.of.Take(ctx, "info", func(goesWrong schedule.Fault) error {
		if goesWrong != schedule.None {
			return schedule.ErrRefused
		}
		info = eventlog.Info{LogID: fleetLog, Partitions: s.partitions, First: 1, Last: uint64(len(s.log)), Replicas: 1}
		return nil
	})
	return info, err
}

func (s seat) Message(ctx context.Context, seq uint64) (m events.Message, err error) {
	err = s.own.of.Take(ctx, "message", func(goesWrong schedule.Fault) error {
		if goesWrong != schedule.None {
			return schedule.ErrRefused
		}
		m = s.log[seq-1]
		return nil
	})
	return m, err
}

func (s seat) Read(ctx context.Context, from uint64, deliver func(m events.Message, traceParent string) error) error {
	for next := from; ; {
		var some []events.Message
		more := func() bool { return next <= uint64(len(s.log)) }
		err := s.own.of.TakeWhen(ctx, fmt.Sprint("read from ", next), more, func(goesWrong schedule.Fault) error {
			if goesWrong != schedule.None {
				return schedule.ErrRefused
			}
			some = s.log[next-1 : min(uint64(len(s.log)), next+uint64(s.Random.IntN(5)))]
			return nil
		})
		if err != nil {
			return err
		}
		for _, m := range some {
			if err := deliver(m, ""); err != nil {
				return err
			}
			next = m.Seq + 1
		}
	}
}

// deliver appends messages to the log.
func (w *fleet) deliver(count int) {
	for range min(count, fleetMessages-len(w.log)) {
		seq := uint64(len(w.log) + 1)
		w.log = append(w.log, events.Message{
			Seq: seq, Partition: w.Random.IntN(w.partitions), ID: fmt.Sprint("evt_", seq), Body: []byte("{}"),
			ReceivedAt: time.Now(), Provider: "provider",
		})
		w.refuses[seq] = w.Coin(0.02)
	}
}

// disturb delivers, lets time pass, or lets something fail.
func (w *fleet) disturb() {
	working := w.working()
	one := working[w.Random.IntN(len(working))]
	switch what := w.Random.IntN(44); {
	case what < 20:
		w.Do(func() { w.deliver(1 + w.Random.IntN(10)) })
	case what < 24:
		w.Sleep(time.Duration(w.Random.IntN(3000)) * time.Millisecond)
	case what < 27:
		w.end(one, w.Coin(0.3))
		w.start()
	case what < 29:
		w.Stop(one)
		w.start()
	case what < 31 && len(w.working()) < 4:
		w.start()
	case what < 33 && len(w.working()) > 1:
		w.Stop(one)
	case what < 36:
		w.Freeze(one, time.Duration(w.Random.IntN(25))*time.Second)
	case what < 38:
		w.Do(func() { w.before = w.database.clone() })
	case what < 39:
		w.Do(w.failOver)
	case what < 41:
		w.Do(w.promote)
	case what < 43:
		w.Do(w.settleRows)
	default:
		w.Do(func() { clear(w.refuses) }) // somebody has repaired the database
	}
}

// isApplying reports whether a transaction has begun and not ended. A promotion and a settle wait for it.
func (w *fleet) isApplying() bool {
	for _, one := range w.locked {
		if !one.isOver() {
			return true
		}
	}
	return false
}

// settleRows is projector settle: it changes rows between two batches.
func (w *fleet) settleRows() {
	if !w.isApplying() {
		w.Note("settle")
		w.database.settle()
	}
}

// promote makes the tables of a rebuild live, which catches up with the newest checkpoint.
func (w *fleet) promote() {
	if w.isApplying() {
		return
	}
	newest := slices.MaxFunc(w.database.checkpoints, func(a, b store.Checkpoint) int { return cmp.Compare(a.Position, b.Position) }).Position
	if position := newest + w.Random.Uint64N(uint64(len(w.log))-newest+1); position > 0 {
		w.Note("promote tables at %d", position)
		w.promoted++
		w.database.promote(w.log, position)
	}
}

func (w *fleet) of(p *schedule.Process) *sessions { return w.sessions[fmt.Sprint("projector", p.Name)] }

// end kills a projector. Its sessions stay open if its machine vanishes.
func (w *fleet) end(p *schedule.Process, vanishes bool) {
	w.of(p).vanished = vanishes
	w.Note("vanishes: %t", vanishes)
	w.Kill(p)
}

// failOver ends all sessions. Another server continues with another clock, and maybe without the last commits.
func (w *fleet) failOver() {
	w.Note("fail-over")
	for _, one := range w.sessions {
		one.end()
	}
	w.ahead = time.Duration(w.Random.Int64N(int64(maxBehind))) - maxBehind/2
	if w.Coin(0.5) {
		w.database = w.before.clone()
	}
}

func (w *fleet) run(steps int) {
	for range steps {
		switch {
		case w.Coin(0.06):
			w.disturb()
		case !w.Step():
			w.Sleep(100 * time.Millisecond)
		}
	}
	w.Do(func() { require.NoError(w.t, w.broken) })
}

// settle lets the projectors work without faults until they share all work. That must be within a time.
func (w *fleet) settle(within time.Duration) {
	for until := time.Now().Add(within); w.unshared() != ""; {
		require.True(w.t, time.Now().Before(until), "after %s %s", within, w.unshared())
		if !w.Step() {
			w.Sleep(100 * time.Millisecond)
		}
		w.Do(func() { require.NoError(w.t, w.broken) })
	}
}

// settleTime is how long the shares of live projectors take to be equal: the longest wait after a fault, then the
// heartbeats in which one projector releases partitions and another takes them.
const settleTime = maxBackOff + callTimeout + 6*time.Second

// finish ends all faults. Then the partitions of the dead must be taken in time, and all messages applied.
func (w *fleet) finish() {
	w.Calm = true
	if w.Coin(0.5) { // without a new message, too, the projectors must notice what a fail-over has lost
		w.Do(func() { w.deliver(1) })
	}
	w.Thaw()
	for len(w.working()) < 2 {
		w.start()
	}
	w.settle(fleetLeaseTime + maxBehind + settleTime)
	dies := w.working()[w.Random.IntN(len(w.working()))]
	vanishes := w.Coin(0.5)
	w.end(dies, vanishes)
	w.Do(func() { w.deliver(4) })
	within := 3 * heartbeatInterval(fleetLeaseTime)
	if vanishes {
		within = fleetLeaseTime
	}
	w.settle(within + 2*heartbeatInterval(fleetLeaseTime) + settleTime)
}

// working lists the processes that were not told to end.
func (w *fleet) working() (out []*schedule.Process) {
	for _, p := range w.Alive() {
		if !p.Stopped() {
			out = append(out, p)
		}
	}
	return out
}

// unshared says why the live projectors do not share the partitions equally, or have not applied all messages; empty: they do.
func (w *fleet) unshared() string {
	working := w.working()
	count, now := map[string]int{}, w.now()
	for partition := range w.partitions {
		one, is := w.database.leases[partition]
		if !is || !one.expires.After(now) {
			return fmt.Sprintf("partition %d has no owner: %v", partition, w.database.leases)
		}
		count[one.owner]++
	}
	for _, p := range working {
		owner := fmt.Sprint("projector", p.Name)
		if share := count[owner] * len(working); share <= w.partitions-len(working) || share >= w.partitions+len(working) {
			return fmt.Sprintf("the shares are %v of %d", count, len(working))
		}
		delete(count, owner)
	}
	if len(count) > 0 {
		return fmt.Sprintf("the dead own %v", count)
	}
	if len(w.database.applied) < len(w.log) {
		return fmt.Sprintf("%d of %d messages are applied", len(w.database.applied), len(w.log))
	}
	return ""
}

func scheduleOfProjectors(t *testing.T, s *schedule.Scheduler) (w *fleet) {
	w = newFleet(t, s)
	w.deliver(3)
	w.start()
	w.start()
	w.run(150 + s.Random.IntN(350))
	w.finish()
	return w
}

// A schedule applies each message once, and ends with equal shares.
func TestNoScheduleOfProjectorsAppliesAMessageTwiceOrLeavesAPartition(t *testing.T) {
	t.Parallel()
	var committed, fenced, refused, promoted, backlogs, stale atomic.Int64
	schedule.Run(t, 100, func(t *testing.T, s *schedule.Scheduler) {
		w := scheduleOfProjectors(t, s)
		committed.Add(int64(w.committed))
		fenced.Add(int64(w.fenced))
		refused.Add(int64(w.refused))
		promoted.Add(int64(w.promoted))
		backlogs.Add(int64(w.backlogs))
		stale.Add(int64(w.stale))
	})
	require.Positive(t, fenced.Load(), "no schedule had two projectors on one partition")
	require.Positive(t, refused.Load(), "no schedule had a batch that the database refuses")
	require.Positive(t, promoted.Load(), "no schedule had a promotion")
	require.Positive(t, backlogs.Load(), "no schedule had a backlog")
	require.Positive(t, stale.Load(), "no schedule had a backlog whose rows somebody has changed")
	t.Logf("%d batches, %d of backlogs, %d fenced, %d refused, %d stale, %d promotions",
		committed.Load(), backlogs.Load(), fenced.Load(), refused.Load(), stale.Load(), promoted.Load())
}
