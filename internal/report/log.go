package report

import (
	"context"
	"errors"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/lag"
)

// Log is what the reports need from the event log.
type Log interface {
	lag.Log
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// errForeignLog means that the tables were folded from another log.
var errForeignLog = errors.New("it is not the log the tables were folded from")

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second
