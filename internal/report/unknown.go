package report

import (
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// unknownEvent says, in a line, that the tables have nothing of an event, and
// how it may be there nevertheless.
func unknownEvent(ctx context.Context, log Log, id string) string {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	text := fmt.Sprintf("no event %s is in the tables", Clean(events.PossibleIDs(id)[0]))
	info, err := log.Info(ctx)
	if err != nil {
		return text + fmt.Sprintf("; the log is away (%s), so it may be there, not applied yet", Clean(err.Error()))
	}
	return text + fmt.Sprintf("; the log ends at seq %d: projector status shows whether something waits, projector explain --seq N tells of one message", info.Last)
}

// unknownUser says, in a line, that the tables have nothing of a user.
func unknownUser(user string) string { return "no event and no table names user " + name(user) }

// findPending looks for a message that the tables, folded from log logID, do not
// have. The error is store.ErrUnknown where the log does not have it either.
func findPending(ctx context.Context, log Log, logID string, seq uint64) (Pending, error) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	info, err := log.Info(ctx)
	switch {
	case err != nil:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; look into the log: %w", seq, err)
	case info.LogID != logID:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; look into the log: %w", seq, ErrForeignLog)
	case seq > info.Last || seq < info.First:
		return Pending{}, fmt.Errorf("%w: the log goes from seq %d to %d", store.ErrUnknown, info.First, info.Last)
	}
	message, err := log.Message(ctx, seq)
	if err != nil {
		return Pending{}, err
	}
	return newPending(message), nil
}
