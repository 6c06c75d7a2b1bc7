//go:build linux

package endtoend

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// visiblePath is a way from a delivery to a row.
type visiblePath struct {
	deliver  func(ctx context.Context, i int) error // of event i; it may return before the row is there
	database string
	found    string // the query for the events of a list that have rows
}

// payfold is the path through the programs.
func (w *world) payfold() visiblePath {
	return visiblePath{
		deliver: func(ctx context.Context, i int) error {
			_, err := w.provider.DeliverUntilAccepted(ctx, realSized(i))
			return err
		},
		database: w.database,
		found:    "select event_id from portal.processed_event where event_id = any($1)",
	}
}

// visibleLoad delivers events at a steady rate, also if earlier ones are slow. It measures the time
// from the begin of each delivery to its row.
type visibleLoad struct {
	path visiblePath

	mu      sync.Mutex
	pending map[string]time.Time // by event id, when its delivery began
	seen    []time.Duration

	next    int // the number of the next event; read it after stop
	stopped chan struct{}
	ended   errgroup.Group
}

// startVisible delivers the events from number first on.
func startVisible(b *testing.B, path visiblePath, first, perSecond int) *visibleLoad {
	b.Helper()
	l := &visibleLoad{path: path, pending: map[string]time.Time{}, next: first, stopped: make(chan struct{})}
	ctx := b.Context()
	l.ended.Go(func() error { return l.deliver(ctx, time.Second/time.Duration(perSecond)) })
	l.ended.Go(func() error { return l.look(ctx) })
	return l
}

func (l *visibleLoad) deliver(ctx context.Context, pause time.Duration) error {
	due := time.NewTicker(pause)
	defer due.Stop()
	var deliveries errgroup.Group
	for ; ; l.next++ {
		select {
		case <-l.stopped:
			return deliveries.Wait()
		case <-due.C:
		}
		i := l.next
		deliveries.Go(func() error {
			l.mu.Lock()
			l.pending[eventID(i)] = time.Now()
			l.mu.Unlock()
			return l.path.deliver(ctx, i)
		})
	}
}

// look asks for the rows of all pending events every millisecond, until the load is stopped and none is
// pending. Without a pause it would use most of a core.
func (l *visibleLoad) look(ctx context.Context) error {
	connection, err := pgx.Connect(ctx, l.path.database)
	if err != nil {
		return err
	}
	defer connection.Close(context.WithoutCancel(ctx))
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for ; ; <-every.C {
		l.mu.Lock()
		ids := slices.Collect(maps.Keys(l.pending))
		l.mu.Unlock()
		if len(ids) == 0 {
			select {
			case <-l.stopped:
				return nil
			default:
				continue
			}
		}
		rows, err := connection.Query(ctx, l.path.found, ids)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		l.record(found, time.Now())
	}
}

func (l *visibleLoad) record(found []string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range found {
		l.seen = append(l.seen, at.Sub(l.pending[id]))
		delete(l.pending, id)
	}
}

// take waits until all events that were delivered by now, and at least that many since the last take, have
// rows. It returns how long each took, sorted.
func (l *visibleLoad) take(b *testing.B, atLeast int) []time.Duration {
	b.Helper()
	now := time.Now()
	wait.Until(b, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, began := range l.pending {
			if began.Before(now) {
				return false
			}
		}
		return len(l.seen) >= atLeast
	}, "%d events are visible", atLeast)
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen
	l.seen = nil
	slices.Sort(seen)
	return seen
}

func (l *visibleLoad) stop() error {
	close(l.stopped)
	return l.ended.Wait()
}
