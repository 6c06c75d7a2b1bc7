package explain

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// Log is what explanations need from the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second
