package report

import (
	"context"
	"errors"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
)

// Log is what the reports need of the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Waiting(ctx context.Context, partition int, after uint64) (eventlog.Waiting, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// errForeignLog: the log is not the one the tables were folded from.
var errForeignLog = errors.New("it is not the log the tables were folded from")

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second
