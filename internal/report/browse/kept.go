package browse

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

const (
	// A measure is computed again after keptAge, or after keptPause times the time that it took, whichever is longer.
	keptAge   = 30 * time.Second
	keptPause = 20
	// keptTimeout bounds one computation. None delays a promotion; see compute.
	keptTimeout = 2 * time.Minute
	// promotionInterval is how soon a computation ends that a promotion waits for. It waits for five seconds.
	promotionInterval = time.Second

	// Pages wait until so long after a value was asked for, and then show the one before. Without one they wait longer.
	patience      = time.Second
	firstPatience = 4 * time.Second
)

// computing is the fault of a value that is not known yet.
const computing = "it is being calculated; look again in a moment"

// background computes values that need all rows, one at a time, so that pages keep their connections.
type background struct {
	zone          *time.Location // of the shop
	timeout       time.Duration
	firstPatience time.Duration
	late          func() // called after a value is known for which a page has not waited

	jobs chan func(context.Context)
}

// maxJobs is more than there are values of schemas. Beyond it, pages wait until one is computed.
const maxJobs = 1000

func newBackground(zone *time.Location, late func()) *background {
	return &background{
		zone: zone, timeout: keptTimeout, firstPatience: firstPatience, late: late, jobs: make(chan func(context.Context), maxJobs),
	}
}

// run computes until ctx ends.
func (b *background) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case job := <-b.jobs:
			job(ctx)
		}
	}
}

// kept is a value of each schema's tables, which the background computes when somebody asks for it and it is too old. It
// is safe for concurrent use.
type kept[T any] struct {
	background *background
	age        time.Duration // how long a value is fresh at least
	read       reader[T]

	mu      sync.Mutex
	known   map[string]measured[T]
	running map[string]*computation
}

// reader reads a value of one moment, whose days begin in a zone.
type reader[T any] func(ctx context.Context, tx pgx.Tx, now Moment, zone *time.Location) (T, error)

// measured is a value of one schema. Its Moment is the moment of the computation.
type measured[T any] struct {
	Moment
	value  T
	fault  string // why there is no value
	tables store.TablesID
	ended  time.Time // of the computation
	took   time.Duration
}

func (m *measured[T]) isOf(tables store.TablesID) bool {
	return m.tables == tables && !m.ended.IsZero()
}

func (m *measured[T]) isFresh(age time.Duration) bool {
	return time.Since(m.ended) < max(age, keptPause*m.took)
}

// computation is under way, or waits for others.
type computation struct {
	asked time.Time     // when it was asked for
	ended chan struct{} // is closed at its end
	left  bool          // a page has not waited for it
}

func newKept[T any](b *background, age time.Duration, read reader[T]) *kept[T] {
	return &kept[T]{background: b, age: age, read: read, known: map[string]measured[T]{}, running: map[string]*computation{}}
}

// start has the value computed, unless that happens already.
func (k *kept[T]) start(db *store.Store) *computation {
	k.mu.Lock()
	now := k.running[db.Schema()]
	if now != nil {
		k.mu.Unlock()
		return now
	}
	now = &computation{asked: time.Now(), ended: make(chan struct{})}
	k.running[db.Schema()] = now
	k.mu.Unlock()
	k.background.jobs <- func(ctx context.Context) {
		out, ended := k.compute(ctx, db)
		k.mu.Lock()
		if ended {
			k.known[db.Schema()] = out
		}
		delete(k.running, db.Schema())
		left := now.left
		k.mu.Unlock()
		close(now.ended)
		if left {
			k.background.late()
		}
	}
	return now
}

// get returns the value, with a fault if there is none. If it is too old, get has it computed, and waits for a while. The
// error says why the tables cannot be found.
func (k *kept[T]) get(ctx context.Context, db *store.Store) (out measured[T], err error) {
	tables, err := db.FindTables(ctx, db.Pool())
	if err != nil {
		return out, err
	}
	last := func() (out measured[T], has bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		out = k.known[db.Schema()]
		return out, out.isOf(tables)
	}
	known, has := last()
	if has && known.isFresh(k.age) {
		return known, nil
	}
	wait := k.background.firstPatience
	if has {
		wait = patience
	}
	started := k.start(db)
	timer := time.NewTimer(wait - time.Since(started.asked))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return out, ctx.Err()
	case <-started.ended:
	case <-timer.C:
		k.mu.Lock()
		started.left = true
		k.mu.Unlock()
	}
	if known, has = last(); has {
		return known, nil
	}
	out.At, out.Schema, out.fault = time.Now().UTC(), db.Schema(), computing
	return out, nil
}

// compute reads the value in one snapshot. A promotion waits for readers of an earlier moment, so compute gives way to it:
// then it has not ended, as when ctx ends.
func (k *kept[T]) compute(ctx context.Context, db *store.Store) (out measured[T], ended bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		giveWay(ctx, db, cancel)
	}()
	began := time.Now()
	err := db.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		out = measured[T]{}
		if out.tables, err = db.FindTables(ctx, tx); err != nil {
			return err
		}
		if out.Moment, err = readMoment(ctx, tx, db.Schema()); err != nil {
			return err
		}
		const timeout = "select set_config('statement_timeout', $1, true)"
		if _, err := tx.Exec(ctx, timeout, store.Milliseconds(k.background.timeout)); err != nil {
			return err
		}
		out.value, err = k.read(ctx, tx, out.Moment, k.background.zone)
		return err
	})
	stopped := ctx.Err() != nil
	cancel()
	<-watched
	out.ended, out.took = time.Now(), time.Since(began)
	switch {
	case stopped:
		return out, false
	case store.StatementTimedOut(err):
		out.fault = tooSlow(k.background.timeout)
	case err != nil:
		out.fault = err.Error()
	}
	return out, true
}

// giveWay cancels when a promotion waits for readers. It returns when ctx ends.
func giveWay(ctx context.Context, db *store.Store, cancel context.CancelFunc) {
	ticker := time.NewTicker(promotionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if asked, err := db.ReadersAreToEnd(ctx); err == nil && asked {
			cancel()
			return
		}
	}
}

// tooSlow is the fault of a value that is not computed within the timeout.
func tooSlow(timeout time.Duration) string { return fmt.Sprintf("it takes longer than %s", timeout) }
