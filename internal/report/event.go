package report

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Event is what an event did and why.
type Event struct {
	EventStory
	copies    []copyOf
	logSilent string // why the copies could not be compared
}

// copyOf is another message with the event's id.
type copyOf struct {
	Seq        int64      `json:"stream_seq"`
	ReceivedAt *time.Time `json:"received_at"` // null while the log is away
	SameBody   *bool      `json:"same_body"`   // as the event's own
}

// mostCompared bounds the copies that are looked up in the log, one question each.
const mostCompared = 100

// newEvent adds to the story what the log has of the copies. Where the log does
// not answer, or is another one, that is missing.
func newEvent(ctx context.Context, log Log, story EventStory) Event {
	out := Event{EventStory: story}
	for _, seq := range story.Copies.Items {
		out.copies = append(out.copies, copyOf{Seq: seq})
	}
	if len(out.copies) > 0 {
		if err := out.compare(ctx, log); err != nil {
			out.logSilent = err.Error()
		}
	}
	return out
}

func (e *Event) compare(ctx context.Context, log Log) error {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	if info.LogID != e.LogID {
		return ErrForeignLog
	}
	original, err := log.Message(ctx, uint64(e.EventStory.Event.StreamSeq))
	if err != nil {
		return err
	}
	for i := max(0, len(e.copies)-mostCompared); i < len(e.copies); i++ {
		message, err := log.Message(ctx, uint64(e.copies[i].Seq))
		if err != nil {
			return err
		}
		same := string(message.Body) == string(original.Body)
		e.copies[i].ReceivedAt, e.copies[i].SameBody = &message.ReceivedAt, &same
	}
	return nil
}

// Write writes it for a person, or as one JSON object.
func (e Event) Write(w io.Writer, asJSON bool) error {
	return write(w, asJSON, e.object(), e.text)
}

func (e Event) object() any {
	copies := e.copies
	if copies == nil {
		copies = []copyOf{}
	}
	return struct {
		Event     row        `json:"event"`
		Why       string     `json:"why"`
		Copies    []copyOf   `json:"copies"`
		More      int64      `json:"earlier_copies"`
		Payment   row        `json:"payment"`
		Others    part       `json:"other_events_of_payment"`
		Ledger    lines      `json:"credit_ledger"`
		Reversals []any      `json:"reversals"`
		Before    int64      `json:"earlier_reversals"`
		Credits   row        `json:"credits"`
		State     row        `json:"subscription_state"`
		Shown     row        `json:"subscription"`
		License   row        `json:"pro_license"`
		Disorder  []Disorder `json:"disorder"`
		Poison    *Poison    `json:"poison"`
	}{
		row{e.EventStory.Event},
		why(e.EventStory.Event, e.Around), copies, e.EventStory.Copies.Earlier,
		row{e.EventStory.Payment},
		partOf(e.Others), linesOf(e.Ledger), rows(e.EventStory.Reversals.Items), e.EventStory.Reversals.Earlier,
		row{e.EventStory.Credits},
		row{e.EventStory.Subscription},
		row{e.Shown},
		row{e.License},
		e.Disorder, e.Poison,
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

// newPending tells of a message that the tables do not have.
func newPending(m events.Message) Pending {
	e := events.Decode(m)
	return Pending{m.Seq, e.ID, e.Type, e.OccurredAt, e.ReceivedAt, m.Partition}
}

// Write writes it for a person, or as one JSON object.
func (p Pending) Write(w io.Writer, asJSON bool) error {
	return write(w, asJSON, map[string]Pending{"pending": p}, func(out *page) {
		out.section("%s: not applied yet", p.EventID)
		out.line("It is in the log; no projector has applied it. projector status shows how far they are.")
		out.section("ARRIVED")
		out.fields("seq", digits(p.Seq), "type", p.EventType, "received", at(p.ReceivedAt),
			"provider's time", at(p.OccurredAt), "partition", digits(p.Partition))
	})
}

// outcome is it in words: "rejected: missing_user".
func outcome(e projections.ProcessedEvent) string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: %s", e.Outcome, e.Reason)
	}
	return e.Outcome
}
