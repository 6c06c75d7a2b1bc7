//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// visibleLoad delivers events at a steady rate, also if earlier ones are slow. It measures the time
// from the begin of each delivery to its row.
type visibleLoad struct {
	mu      sync.Mutex
	pending map[string]time.Time // by event id, when its delivery began
	seen    []time.Duration

	stopped chan struct{}
	ended   errgroup.Group
}

// startVisible delivers the events from number first on.
func startVisible(b *testing.B, w *world, first, perSecond int) *visibleLoad {
	b.Helper()
	l := &visibleLoad{pending: map[string]time.Time{}, stopped: make(chan struct{})}
	ctx := b.Context()
	l.ended.Go(func() error { return l.deliver(ctx, w, first, time.Second/time.Duration(perSecond)) })
	l.ended.Go(func() error { return l.look(ctx, w.database) })
	return l
}

func (l *visibleLoad) deliver(ctx context.Context, w *world, first int, pause time.Duration) error {
	due := time.NewTicker(pause)
	defer due.Stop()
	var deliveries errgroup.Group
	for i := first; ; i++ {
		select {
		case <-l.stopped:
			return deliveries.Wait()
		case <-due.C:
		}
		deliveries.Go(func() error {
			l.mu.Lock()
			l.pending[fmt.Sprintf("evt_%d", i)] = time.Now()
			l.mu.Unlock()
			_, err := w.provider.DeliverUntilAccepted(ctx, realSized(i))
			return err
		})
	}
}

// look asks for the rows of all pending events every millisecond, until the load is stopped and none is
// pending. Without a pause it would use most of a core.
func (l *visibleLoad) look(ctx context.Context, database string) error {
	connection, err := pgx.Connect(ctx, database)
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
		rows, err := connection.Query(ctx, "select event_id from portal.processed_event where event_id = any($1)", ids)
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
