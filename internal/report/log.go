package report

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/lag"
)

// Log is what the reports need from the event log.
type Log interface {
	lag.Log
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second
