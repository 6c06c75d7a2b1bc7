package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
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
		err = unknownEvent(ctx, log, database, id)
	case err == nil:
		event.compare(ctx, log)
		event.readReason(ctx, log)
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
		event.readReason(ctx, log)
	}
	return event, err
}

// UnknownError says in one line that neither tables nor log have the event or user.
type UnknownError struct{ line string }

func (e UnknownError) Error() string { return e.line }

// unknownEvent says in one line that the tables do not have an event, and what to ask instead.
func unknownEvent(ctx context.Context, log Log, database *store.Store, id string) error {
	text := fmt.Sprintf("no event %s is in the tables", page.Clean(events.PossibleIDs(id)[0]))
	question, err := otherQuestion(ctx, database, Storable(id))
	if err != nil {
		return err
	}
	if question != "" {
		return UnknownError{text + "; " + question}
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err != nil {
		return UnknownError{text + fmt.Sprintf("; the log cannot be reached (%s), so it may have the event, not applied yet", page.Clean(err.Error()))}
	}
	return UnknownError{text + fmt.Sprintf("; the log ends at seq %d: projector status shows whether messages are not applied yet, projector explain --seq N shows one message", info.Last)}
}

// otherQuestion says what to ask about an id that is not of an event, but of a payment or a user; empty: it is neither.
func otherQuestion(ctx context.Context, database *store.Store, id string) (question string, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		p, err := PaymentNamed(ctx, tx, id)
		if err != nil {
			return err
		}
		if p != nil {
			event, err := tables.ProcessedEvents.Row(ctx, tx, "where provider_payment_id = any($1) order by stream_seq desc limit 1", PaymentNames(*p))
			if event != nil {
				question = fmt.Sprintf("it is a payment; its newest event: projector explain %s", page.Name(event.EventID))
			}
			return err
		}
		event, err := tables.ProcessedEvents.Row(ctx, tx, "where user_id = $1 order by stream_seq desc limit 1", id)
		if event != nil {
			question = fmt.Sprintf("it is a user: projector explain --user %s", page.Name(id))
		}
		return err
	})
	return question, err
}

// Storable replaces the characters that no text in the tables can have.
func Storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}
