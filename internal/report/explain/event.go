package explain

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

// Event shows what an event did and why.
type Event struct {
	EventRows
	Copies   []Duplicate
	LogFault string // why the copies could not be compared; empty if they were
}

// Duplicate is another message with the event's id.
type Duplicate struct {
	Seq        int64      `json:"stream_seq"`
	ReceivedAt *time.Time `json:"received_at"` // nil if the log was not read
	SameBody   *bool      `json:"same_body"`   // whether it has the body of the event's first message
}

// maxCompared bounds the duplicates that are read from the log, one query for each.
const maxCompared = 100

// newEvent adds what the log has of the duplicates. If the right log does not answer, LogFault
// says why that is missing.
func newEvent(ctx context.Context, log Log, rows EventRows) Event {
	out := Event{EventRows: rows}
	for _, seq := range rows.Duplicates.Items {
		out.Copies = append(out.Copies, Duplicate{Seq: seq})
	}
	if len(out.Copies) > 0 {
		if err := out.compare(ctx, log); err != nil {
			out.LogFault = err.Error()
		}
	}
	return out
}

func (e *Event) compare(ctx context.Context, log Log) error {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	if info.LogID != e.LogID {
		return identity.ErrLogLost
	}
	original, err := log.Message(ctx, uint64(e.EventRows.Event.StreamSeq))
	if err != nil {
		return err
	}
	for i := max(0, len(e.Copies)-maxCompared); i < len(e.Copies); i++ {
		message, err := log.Message(ctx, uint64(e.Copies[i].Seq))
		if err != nil {
			return err
		}
		same := string(message.Body) == string(original.Body)
		e.Copies[i].ReceivedAt, e.Copies[i].SameBody = &message.ReceivedAt, &same
	}
	return nil
}

// Write writes text for people, or one JSON object.
func (e Event) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, e.object(), e.text)
}

func (e Event) object() any {
	copies := e.Copies
	if copies == nil {
		copies = []Duplicate{}
	}
	return struct {
		Event       row                              `json:"event"`
		Why         string                           `json:"why"`
		Copies      []Duplicate                      `json:"copies"`
		More        int64                            `json:"earlier_copies"`
		Payment     row                              `json:"payment"`
		Others      Part[projections.ProcessedEvent] `json:"other_events_of_payment"`
		Ledger      Lines                            `json:"credit_ledger"`
		Reversals   []any                            `json:"reversals"`
		Before      int64                            `json:"earlier_reversals"`
		Credits     row                              `json:"credits"`
		State       row                              `json:"subscription_state"`
		Shown       row                              `json:"subscription"`
		License     row                              `json:"pro_license"`
		OutOfOrder  []status.OutOfOrder              `json:"disorder"`
		Quarantined *status.Quarantined              `json:"poison"`
	}{
		row{e.EventRows.Event},
		Why(e.EventRows.Event, e.Related), copies, e.EventRows.Duplicates.Earlier,
		row{e.EventRows.Payment},
		e.Others, e.Ledger, rowsOf(e.EventRows.Reversals.Items), e.EventRows.Reversals.Earlier,
		row{e.EventRows.Credits},
		row{e.EventRows.Subscription},
		row{e.Shown},
		row{e.License},
		e.OutOfOrder, e.Quarantined,
	}
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

func newPending(m events.Message) Pending {
	e := events.Decode(m)
	return Pending{m.Seq, e.ID, e.Type, e.OccurredAt, e.ReceivedAt, m.Partition}
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

// outcome is the outcome with its reason, as in "rejected: missing_user".
func outcome(e projections.ProcessedEvent) string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: %s", e.Outcome, e.Reason)
	}
	return e.Outcome
}
