// Package explain says what an event did and why, or what a user has and which events gave it.
//
//	the tables at one moment + answers of the log ──▶ text or one JSON object
//
// The rows of an answer are of one moment. It puts each outcome into sentences, which say of the past only what the rows
// prove. It asks the log only for duplicates and for messages that are not applied yet.
//
// Ids and texts come from outside. The package escapes everything that a terminal could take for a command, in text and
// in JSON. It never writes bodies, signatures or secrets. Times are UTC.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Log is what explanations need from the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// MessageOf reads a message of the log of that id. The error is identity.ErrLogLost if it is another log.
func MessageOf(ctx context.Context, log Log, logID string, seq uint64) (events.Message, error) {
	info, err := log.Info(ctx)
	if err == nil && info.LogID != logID {
		err = identity.ErrLogLost
	}
	if err != nil {
		return events.Message{}, err
	}
	return log.Message(ctx, seq)
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
		p, err := paymentNamed(ctx, tx, id)
		if err != nil {
			return err
		}
		if p != nil {
			event, err := tables.ProcessedEvents.Row(ctx, tx, "where provider_payment_id = any($1) order by stream_seq desc limit 1", PaymentNames(p.Payment))
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

// Pending is a message of the log that is not applied yet.
type Pending struct {
	Seq        uint64    `json:"stream_seq"`
	EventID    string    `json:"event_id"`
	EventType  string    `json:"event_type"`
	OccurredAt time.Time `json:"occurred_at"`
	ReceivedAt time.Time `json:"received_at"`
	Partition  int       `json:"partition"`
}

// ReadPending reads a message of the log that the tables do not have. The error is an UnknownError if the log does not
// have it either.
func ReadPending(ctx context.Context, log Log, database *store.Store, seq uint64) (Pending, error) {
	tables, err := database.SchemaNamed(ctx, database.Schema())
	if err != nil {
		return Pending{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	switch {
	case err != nil:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; read the log: %w", seq, err)
	case info.LogID != tables.LogID:
		return Pending{}, fmt.Errorf("seq %d is not in the tables; read the log: %w", seq, identity.ErrLogLost)
	case seq > info.Last || seq < info.First:
		return Pending{}, UnknownError{unknownMessage(seq, info)}
	}
	message, err := log.Message(ctx, seq)
	if err != nil {
		return Pending{}, err
	}
	event := providers.Decode(message)
	return Pending{seq, event.ID, event.Type, event.OccurredAt, event.ReceivedAt, message.Partition}, nil
}

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

// Write writes text for people, or one JSON object.
func (p Pending) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, map[string]Pending{"pending": p}, func(out *page.Page) {
		out.Section("%s: not applied yet", p.EventID)
		out.Line("It is in the log; no projector has applied it. projector status shows how far they are.")
		out.Section("ARRIVED")
		out.Row(p, "event_id")
	})
}

// Prove returns the proof that the message at seq is in the log, for a signed checkpoint. The error is a
// proof.RefusedError in the cases of proof.Prove. If id is not empty, the tables have that event at seq; it
// is an error if the log has another one.
func Prove(ctx context.Context, log proof.Log, seq uint64, id string, keys proof.Verifiers, signed []byte, progress proof.Progress) (proof.Proof, error) {
	proven, m, err := proof.Prove(ctx, log, keys, signed, seq, progress)
	if err == nil && id != "" && !slices.Contains(events.PossibleIDs(id), m.ID) {
		err = fmt.Errorf("the message at seq %d is event %q: the tables are not those of this log", seq, m.ID)
	}
	return proven, err
}
