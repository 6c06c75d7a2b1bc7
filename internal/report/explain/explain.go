package explain

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// Question has one of EventID, Seq and User.
type Question struct {
	EventID string // as the provider wrote it or as the tables have it
	Seq     uint64 // of a message in the log
	User    string

	Limit  int   // maximum number of items in a list; the newest are shown
	Before int64 // for a user: the page shows the history before this sequence; 0: the newest page
}

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

// Ask answers from the tables and, if needed, from the log. The error is an UnknownError
// if neither has the event or user.
func Ask(ctx context.Context, log Log, database *store.Store, about Question) (Answer, error) {
	answer, err := ask(ctx, log, database, about)
	switch {
	case !errors.Is(err, store.ErrUnknown):
		return answer, err
	case about.User != "":
		return nil, UnknownError{unknownUser(about.User)}
	}
	return nil, UnknownError{unknownEvent(ctx, log, about.EventID)}
}

func ask(ctx context.Context, log Log, database *store.Store, about Question) (Answer, error) {
	if about.User != "" {
		user, err := readUser(ctx, database, Storable(about.User), about.Before, about.Limit)
		return user, err
	}
	var event Event
	var err error
	if about.Seq != 0 {
		event, err = readMessage(ctx, database, about.Seq, about.Limit)
		if errors.Is(err, store.ErrUnknown) {
			live, err := database.SchemaNamed(ctx, database.Schema())
			if err != nil {
				return nil, err
			}
			return findPending(ctx, log, live.LogID, about.Seq)
		}
	} else {
		event, err = readEvent(ctx, database, events.PossibleIDs(about.EventID), about.Limit)
	}
	if err != nil {
		return nil, err
	}
	event.compare(ctx, log)
	return event, nil
}

// UnknownError says in one line that neither tables nor log have the event or user.
type UnknownError struct{ line string }

func (e UnknownError) Error() string { return e.line }

// Storable replaces the characters that no text in the tables can have.
func Storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}
