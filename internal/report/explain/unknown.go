package explain

import (
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/report/page"
)

// unknownEvent says in one line that the tables do not have an event, and where to look
// for it.
func unknownEvent(ctx context.Context, log Log, id string) string {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	text := fmt.Sprintf("no event %s is in the tables", page.Clean(events.PossibleIDs(id)[0]))
	info, err := log.Info(ctx)
	if err != nil {
		return text + fmt.Sprintf("; the log cannot be reached (%s), so it may have the event, not applied yet", page.Clean(err.Error()))
	}
	return text + fmt.Sprintf("; the log ends at seq %d: projector status shows whether messages are not applied yet, projector explain --seq N shows one message", info.Last)
}

func unknownUser(user string) string { return "no event and no table names user " + page.Name(user) }

// unknownMessage says in one line that the log has no message at a sequence.
func unknownMessage(seq uint64, info eventlog.Info) string {
	switch {
	case info.Last < info.First:
		return fmt.Sprintf("the log has no message at seq %d: it has none yet", seq)
	case seq < info.First:
		return fmt.Sprintf("the log has no message at seq %d: it begins at seq %d", seq, info.First)
	default:
		return fmt.Sprintf("the log has no message at seq %d: it ends at seq %d", seq, info.Last)
	}
}

// findPending reads a message that the tables do not have from the log logID. The error is
// an UnknownError if the log does not have it either.
func findPending(ctx context.Context, log Log, logID string, seq uint64) (Pending, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	switch {
	case err != nil:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; read the log: %w", seq, err)
	case info.LogID != logID:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; read the log: %w", seq, identity.ErrLogLost)
	case seq > info.Last || seq < info.First:
		return Pending{}, UnknownError{unknownMessage(seq, info)}
	}
	message, err := log.Message(ctx, seq)
	if err != nil {
		return Pending{}, err
	}
	return newPending(message), nil
}
