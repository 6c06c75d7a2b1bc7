package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// warningInterval is the time between two lines of one warning. While the log does not answer, or a clock is wrong,
// every delivery is a reason for one.
const warningInterval = time.Minute

// warning logs its first reason at once, and then at most one in each warningInterval. At level debug it logs every
// reason. Safe for concurrent use.
type warning struct {
	mu       sync.Mutex
	loggedAt time.Time
	unlogged int // reasons without a warning since loggedAt
}

func (w *warning) log(ctx context.Context, logger *slog.Logger, now time.Time, message string, attributes ...any) {
	w.mu.Lock()
	unlogged, due := w.unlogged, now.Sub(w.loggedAt) >= warningInterval
	if w.unlogged++; due {
		w.loggedAt, w.unlogged = now, 0
	}
	w.mu.Unlock()
	if due {
		logger.WarnContext(ctx, message, append(attributes, "others_since_last_line", unlogged)...)
		return
	}
	logger.DebugContext(ctx, message, attributes...)
}
