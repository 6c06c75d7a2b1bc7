package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// failureInterval is the time between two warnings about events that could not be stored. While
// the log does not answer, every delivery fails.
const failureInterval = time.Minute

// failures logs the first failure at once, and then at most one in each failureInterval. At
// level debug it logs every failure. Safe for concurrent use.
type failures struct {
	mu       sync.Mutex
	loggedAt time.Time
	unlogged int // failures without a warning since loggedAt
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
