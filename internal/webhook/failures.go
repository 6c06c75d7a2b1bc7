package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// failureInterval is the time between two lines about events that could not be stored. While the
// log is away every delivery fails.
const failureInterval = time.Minute

// failures logs one failure at once, and of those that follow one in each failureInterval. At
// level debug it logs all. Safe for concurrent use.
type failures struct {
	mu       sync.Mutex
	loggedAt time.Time
	unlogged int // since then
}

func (f *failures) log(ctx context.Context, logger *slog.Logger, eventID string, err error, now time.Time) {
	const message = "an event could not be stored; the provider sends it again"
	f.mu.Lock()
	unlogged, due := f.unlogged, now.Sub(f.loggedAt) >= failureInterval
	if f.unlogged++; due {
		f.loggedAt, f.unlogged = now, 0
	}
	f.mu.Unlock()
	if due {
		logger.WarnContext(ctx, message, "event_id", eventID, "error", err, "others_since_last_line", unlogged)
		return
	}
	logger.DebugContext(ctx, message, "event_id", eventID, "error", err)
}
