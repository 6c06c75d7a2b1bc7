package console

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// news tells the open pages when the tables or the log have changed. One loop looks for changes for
// all pages, and only while a page is open.
type news struct {
	Config
	refresh time.Duration // how long pages may stay as they are when nothing is known to have changed

	mu       sync.Mutex
	watchers map[chan struct{}]bool
}

const (
	newsInterval = time.Second
	heartbeat    = 15 * time.Second // keeps proxies from closing a silent connection
	maxWatchers  = 200

	// Ages grow, and state does not include everything: for example, it does not change when a projector is killed.
	refreshInterval = time.Minute
)

func newNews(config Config) *news {
	return &news{Config: config, refresh: refreshInterval, watchers: map[chan struct{}]bool{}}
}

// run looks for changes until ctx ends.
func (n *news) run(ctx context.Context) error {
	ticker := time.NewTicker(newsInterval)
	defer ticker.Stop()
	last, told := "", time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !n.watched() {
			continue
		}
		if now := n.state(ctx); now != last || time.Since(told) >= n.refresh {
			last, told = now, time.Now()
			n.tell()
		}
	}
}

func (n *news) watched() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.watchers) > 0
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for watcher := range n.watchers {
		select {
		case watcher <- struct{}{}:
		default: // the watcher has not read the last signal yet
		}
	}
}

//go:embed state.sql
var stateSQL string

// state returns a text that changes with the tables of any schema, the invitations, or the log. It
// also changes if the database or the log becomes unreachable, so that pages say so.
func (n *news) state(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var positions, tables, invited int64
	var schemas []store.Schema
	err := n.Tables.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if err := tx.QueryRow(ctx, stateSQL).Scan(&positions, &tables, &invited); err != nil {
			return err
		}
		schemas, err = store.SchemasIn(ctx, tx)
		return err
	})
	places := map[string]int64{}
	for _, schema := range schemas {
		places[schema.Name] = schema.Position
	}
	info, fault := n.Log.Info(ctx)
	return fmt.Sprint(positions, tables, invited, places, err != nil, info.Last, fault != nil)
}

func (n *news) join() (watcher chan struct{}, leave func(), ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.watchers) == maxWatchers {
		return nil, nil, false
	}
	watcher = make(chan struct{}, 1)
	watcher <- struct{}{} // something may have changed since the page was read
	n.watchers[watcher] = true
	return watcher, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, watcher)
	}, true
}

// live is a stream of server-sent events. The event changed means that the page should be read again.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	watcher, leave, ok := c.news.join()
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many pages follow the tables.", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise a proxy may hold the events back
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	text := "retry: 3000\n\n"
	for {
		if err := out.SetWriteDeadline(time.Now().Add(heartbeat)); err != nil {
			return
		}
		if _, err := w.Write([]byte(text)); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-watcher:
			text = "event: changed\ndata:\n\n"
		case <-beat.C:
			text = ": still here\n\n"
		}
	}
}
