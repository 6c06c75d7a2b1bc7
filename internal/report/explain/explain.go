package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// Log is what explanations need from the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// logTimeout bounds all queries to the log together.
const logTimeout = 10 * time.Second

// Answer writes itself as text for people, or as one JSON object.
type Answer interface {
	Write(w io.Writer, asJSON bool) error
}

// ReadEvent explains the event of an id, as the provider wrote it or as the tables have it. Lists have the newest
// items, at most limit. The error is an UnknownError if the tables do not have the event.
func ReadEvent(ctx context.Context, log Log, database *store.Store, id string, limit int) (Event, error) {
	event, err := viewEvent(ctx, database, withID, events.PossibleIDs(id), limit)
	switch {
	case errors.Is(err, store.ErrUnknown):
		err = UnknownError{unknownEvent(ctx, log, id)}
	case err == nil:
		event.compare(ctx, log)
	}
	return event, err
}

// ReadMessage is ReadEvent for the message at seq: an Event, or Pending.
func ReadMessage(ctx context.Context, log Log, database *store.Store, seq uint64, limit int) (Answer, error) {
	event, err := viewEvent(ctx, database, withMessage, int64(seq), limit)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return ReadPending(ctx, log, database, seq)
	case err == nil:
		event.compare(ctx, log)
	}
	return event, err
}

// UnknownError says in one line that neither tables nor log have the event or user.
type UnknownError struct{ line string }

func (e UnknownError) Error() string { return e.line }

// unknownEvent says in one line that the tables do not have an event, and where to look for it.
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

// Storable replaces the characters that no text in the tables can have.
func Storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}
