// Package schedule runs processes in orders that seeds decide. A process asks for its turn before each step that others can
// see. A scheduler lets one process take its step, lets it fail, freezes it, or kills it. A schedule runs in a bubble of
// synctest, so time passes only when every process waits.
package schedule

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/payfold/payfold/internal/testenv"
)

// Fault is what goes wrong with a step.
type Fault int

// Faults of a step. The step must do nothing if it is Refused, and hide its answer if that is Lost.
const (
	None Fault = iota
	Refused
	Lost
)

// Errors of steps.
var (
	ErrRefused = errors.New("the step was refused")
	ErrLost    = errors.New("the answer was lost")
	errKilled  = errors.New("the process is dead")
)

// Scheduler decides which process takes the next step.
type Scheduler struct {
	Random *rand.Rand // of the seed; for steps and between steps only
	Calm   bool       // nothing fails any more
	Faults float64    // the chance that a step fails

	mu        sync.Mutex
	waiting   []*request
	processes []*Process
	notes     sync.Mutex
	history   []note
}

// note is a line of the history. Only a failure prints it.
type note struct {
	format string
	args   []any
}

// Process is some goroutines that are killed together.
type Process struct {
	Name      int
	scheduler *Scheduler
	cancel    context.CancelFunc
	killed    chan struct{}
	ended     sync.WaitGroup
	frozen    bool
	thaws     time.Time // when the freeze ends
	stopped   bool
}

type request struct {
	by     *Process
	step   string
	ready  func() bool // whether the step can be taken; nil: always
	answer chan Fault
}

// Start starts a process. Its goroutines must end when their context does.
func (s *Scheduler) Start(goroutines func(*Process) []func(context.Context)) *Process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{Name: len(s.processes), scheduler: s, cancel: cancel, killed: make(chan struct{})}
	s.processes = append(s.processes, p)
	for _, run := range goroutines(p) {
		p.ended.Go(func() { run(ctx) })
	}
	return p
}

// Take waits for the turn of the process, and calls do, with what goes wrong. Only one step is taken at a time. It returns an
// error without calling do if the process was killed or ctx has ended. A frozen process does not notice that ctx has ended.
func (p *Process) Take(ctx context.Context, step string, do func(Fault) error) error {
	return p.TakeWhen(ctx, step, nil, do)
}

// TakeWhen is Take for a step that also waits for others: it can be taken while ready returns true.
func (p *Process) TakeWhen(ctx context.Context, step string, ready func() bool, do func(Fault) error) error {
	s := p.scheduler
	asked := &request{by: p, step: step, ready: ready, answer: make(chan Fault, 1)}
	s.mu.Lock()
	if p.Killed() {
		s.mu.Unlock()
		return errKilled
	}
	s.waiting = append(s.waiting, asked)
	s.mu.Unlock()
	expired := ctx.Done()
	for {
		select {
		case goesWrong := <-asked.answer:
			s.mu.Lock()
			defer s.mu.Unlock()
			return do(goesWrong)
		case <-p.killed:
			s.forget(asked)
			return errKilled
		case <-expired:
			if s.isFrozen(p) {
				expired = nil
				continue
			}
			s.forget(asked)
			return ctx.Err()
		}
	}
}

func (s *Scheduler) forget(asked *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(one *request) bool { return one == asked })
}

func (s *Scheduler) isFrozen(p *Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.frozen
}

// Killed reports whether the process was killed.
func (p *Process) Killed() bool {
	select {
	case <-p.killed:
		return true
	default:
		return false
	}
}

// Kill ends a process before it takes another step.
func (s *Scheduler) Kill(p *Process) {
	if p.Killed() {
		return
	}
	s.mu.Lock()
	close(p.killed)
	s.mu.Unlock()
	s.Note("kill %d", p.Name)
	p.cancel()
	p.ended.Wait()
}

// Stop tells a process to end. It may still take steps.
func (s *Scheduler) Stop(p *Process) {
	s.Note("stop %d", p.Name)
	p.stopped = true
	p.cancel()
}

// Stopped reports whether the process was told to end. It must be called between two steps.
func (p *Process) Stopped() bool { return p.stopped }

// Freeze keeps a process from taking steps for some time; see Sleep.
func (s *Scheduler) Freeze(p *Process, d time.Duration) { s.setFrozen(p, true, time.Now().Add(d)) }

// Thaw ends the freezes of all processes.
func (s *Scheduler) Thaw() { s.thaw(func(*Process) bool { return true }) }

// Sleep lets time pass. Then it ends the freezes that are over.
func (s *Scheduler) Sleep(d time.Duration) {
	time.Sleep(d)
	s.thaw(func(p *Process) bool { return time.Now().After(p.thaws) })
}

func (s *Scheduler) thaw(which func(*Process) bool) {
	for _, p := range s.processes {
		if s.isFrozen(p) && which(p) {
			s.setFrozen(p, false, time.Time{})
		}
	}
}

func (s *Scheduler) setFrozen(p *Process, frozen bool, thaws time.Time) {
	s.Note("frozen %d: %t", p.Name, frozen)
	s.mu.Lock()
	defer s.mu.Unlock()
	p.frozen, p.thaws = frozen, thaws
}

// Alive lists the processes that were not killed.
func (s *Scheduler) Alive() (alive []*Process) {
	for _, p := range s.processes {
		if !p.Killed() {
			alive = append(alive, p)
		}
	}
	return alive
}

// KillAll kills all processes.
func (s *Scheduler) KillAll() {
	for _, p := range s.Alive() {
		s.Kill(p)
	}
}

// Step lets one process take a step, and waits until it has. It returns false if none can.
func (s *Scheduler) Step() bool {
	synctest.Wait()
	taken := s.allow()
	synctest.Wait() // the step may use Random, too
	return taken
}

// allow lets one process take a step, if one can.
func (s *Scheduler) allow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var can []*request
	for _, one := range s.waiting {
		if !one.by.frozen && (one.ready == nil || one.ready()) {
			can = append(can, one)
		}
	}
	if len(can) == 0 {
		return false
	}
	slices.SortFunc(can, func(a, b *request) int { // they asked in any order
		return cmp.Or(cmp.Compare(a.by.Name, b.by.Name), cmp.Compare(a.step, b.step))
	})
	one, goesWrong := can[s.Random.IntN(len(can))], None
	if !s.Calm && s.Coin(s.Faults) {
		goesWrong = Fault(1 + s.Random.IntN(2))
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == one })
	s.Note("%d: %s, fault %d", one.by.Name, one.step, goesWrong)
	one.answer <- goesWrong
	return true
}

// Do calls a function between two steps.
func (s *Scheduler) Do(change func()) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Coin returns true with that chance.
func (s *Scheduler) Coin(chance float64) bool { return s.Random.Float64() < chance }

// Note adds a line to the history, which a failure prints. The values must not change after it.
func (s *Scheduler) Note(format string, args ...any) {
	s.notes.Lock()
	defer s.notes.Unlock()
	s.history = append(s.history, note{format, args})
}

// Steps returns how many lines the history has.
func (s *Scheduler) Steps() int { return len(s.history) }

// Run runs the schedules of SCHEDULES seeds from SCHEDULE_SEED on, by default from the time on, on all cores. Without
// SCHEDULES it runs the same usual seeds each time. After a failure the log ends with the history of its schedule, and how to
// repeat it. A select of the code that finds two cases ready takes any, so a seed may need some tries. schedule must end all
// processes.
func Run(t *testing.T, usual int, schedule func(*testing.T, *Scheduler)) {
	count, from := testenv.Number(t, "SCHEDULES", 0), int(time.Now().UnixNano()>>20)
	if count == 0 {
		count, from = usual, 1
	}
	from = testenv.Number(t, "SCHEDULE_SEED", from)
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	var begun, steps atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for range min(count, runtime.GOMAXPROCS(0)) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() { // the others end, too
						begun.Store(int64(count))
					}
				}()
				for seed := begun.Add(1) - 1; seed < int64(count); seed = begun.Add(1) - 1 {
					synctest.Test(t, func(t *testing.T) { // each at the same time, so that a seed can be repeated
						steps.Add(int64(one(t, uint64(from)+uint64(seed), schedule)))
					})
				}
			})
		}
	})
	t.Logf("SCHEDULES=%d SCHEDULE_SEED=%d: %d steps", count, from, steps.Load())
}

// garbagePercent is high: a schedule leaves much garbage, and little else is in memory.
const garbagePercent = 800

func one(t *testing.T, seed uint64, schedule func(*testing.T, *Scheduler)) (steps int) {
	s := &Scheduler{Random: rand.New(rand.NewPCG(seed, 0)), Faults: 0.03}
	defer s.KillAll()
	defer func() {
		if t.Failed() {
			for _, line := range s.history {
				t.Logf(line.format, line.args...)
			}
			t.Logf("SCHEDULES=1 SCHEDULE_SEED=%d", seed)
		}
	}()
	schedule(t, s)
	return s.Steps()
}
