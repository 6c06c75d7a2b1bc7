package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

// Event shows what an event did and why. All its rows are of one moment.
type Event struct {
	At           time.Time // of the moment, by the database's clock
	LogID        string    // of the log that the tables were folded from
	Event        WithWhy
	ShopsReason  string // what the body of an own event says for people; empty: nothing, or the log was not read
	Duplicates   Part[Duplicate]
	LogFault     string                         // why the duplicates could not be compared; empty if they were
	Payment      *projections.Payment           // the payment that the event names
	Others       Part[WithWhy]                  // the other events of that payment
	Ledger       Lines                          // of that payment
	Grants       Part[Grant]                    // of that payment; see GrantsOfPayment
	Reversals    Part[projections.Reversal]     // of that payment, in the order of the log
	Credits      *projections.Credits           // of its user
	Subscription *projections.SubscriptionState // the subscription that the event is about
	Shown        *projections.Subscription      // the subscription that its user is shown
	License      *projections.ProLicense        // of its user, if the event is about a licence
	OutOfOrder   []status.OutOfOrder            // those that involve the event or a duplicate
	Quarantined  *status.Quarantined
}

// Duplicate is another message with the event's id.
type Duplicate struct {
	Seq        int64      `json:"stream_seq"`
	ReceivedAt *time.Time `json:"received_at"` // nil if the log was not read
	SameBody   *bool      `json:"same_body"`   // whether it has the body of the event's first message
}

// readReason reads from the log why the shop sent an own event. If the log does not have the event, nothing is said.
func (e *Event) readReason(ctx context.Context, log Log) {
	if e.Event.Provider != events.OwnEvents {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	message, err := log.Message(ctx, uint64(e.Event.StreamSeq))
	if err != nil || message.ID != e.Event.EventID {
		return
	}
	var body struct{ Reason string }
	if json.Unmarshal(message.Body, &body) == nil {
		e.ShopsReason = body.Reason
	}
}

// reasonTimeout is short, because the rest of the answer waits.
const reasonTimeout = 2 * time.Second

// maxCompared bounds the duplicates that are read from the log, one query for each.
const maxCompared = 100

// compare compares the event with its duplicates. If the right log does not answer, LogFault says why
// that is missing.
func (e *Event) compare(ctx context.Context, log Log) {
	if len(e.Duplicates.Items) == 0 {
		return
	}
	if err := e.readDuplicates(ctx, log); err != nil {
		e.LogFault = err.Error()
	}
}

func (e *Event) readDuplicates(ctx context.Context, log Log) error {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	if info.LogID != e.LogID {
		return identity.ErrLogLost
	}
	original, err := log.Message(ctx, uint64(e.Event.StreamSeq))
	if err != nil {
		return err
	}
	for i := max(0, len(e.Duplicates.Items)-maxCompared); i < len(e.Duplicates.Items); i++ {
		duplicate := &e.Duplicates.Items[i]
		message, err := log.Message(ctx, uint64(duplicate.Seq))
		if err != nil {
			return err
		}
		same := string(message.Body) == string(original.Body)
		duplicate.ReceivedAt, duplicate.SameBody = &message.ReceivedAt, &same
	}
	return nil
}

// Write writes text for people, or one JSON object.
func (e Event) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, e, e.text)
}

// MarshalJSON implements json.Marshaler.
func (e Event) MarshalJSON() ([]byte, error) {
	return page.Marshal(struct {
		Event       row                              `json:"event"`
		Why         string                           `json:"why"`
		ShopsReason string                           `json:"shops_reason,omitempty"`
		Duplicates  []Duplicate                      `json:"duplicate_events"`
		Earlier     int64                            `json:"earlier_duplicate_events"`
		Payment     PaymentRow                       `json:"payment"`
		Others      Part[projections.ProcessedEvent] `json:"other_events_of_payment"`
		Ledger      Lines                            `json:"credit_ledger"`
		Grants      Part[Grant]                      `json:"grants"`
		Reversals   []any                            `json:"reversals"`
		Before      int64                            `json:"earlier_reversals"`
		Credits     row                              `json:"credits"`
		State       row                              `json:"subscription_state"`
		Shown       row                              `json:"subscription"`
		License     row                              `json:"pro_license"`
		OutOfOrder  []status.OutOfOrder              `json:"out_of_order_events"`
		Quarantined *status.Quarantined              `json:"quarantined_event"`
	}{
		row{e.Event.ProcessedEvent},
		e.Event.Why, e.ShopsReason, e.Duplicates.Items, e.Duplicates.Earlier,
		PaymentRow{e.Payment},
		withoutWhy(e.Others), e.Ledger, e.Grants, rowsOf(e.Reversals.Items), e.Reversals.Earlier,
		row{e.Credits},
		row{e.Subscription},
		row{e.Shown},
		row{e.License},
		e.OutOfOrder, e.Quarantined,
	})
}

// outcome is the outcome with its reason, as in "rejected: missing_user".
func outcome(e projections.ProcessedEvent) string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: %s", e.Outcome, e.Reason)
	}
	return e.Outcome
}
