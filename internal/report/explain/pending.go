package explain

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

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
		out.Fields("seq", digits(p.Seq), "type", p.EventType, "received", at(p.ReceivedAt),
			"provider's time", at(p.OccurredAt), "partition", digits(p.Partition))
	})
}
