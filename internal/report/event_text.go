package report

import (
	"fmt"

	"github.com/payfold/payfold/internal/projections"
)

func (e Event) text(p *page) {
	event := e.EventStory.Event
	p.section("%s: %s", event.EventID, outcome(event))
	p.line("%s", why(event, e.Around))
	if e.Poison != nil {
		p.line("The database said: %s", e.Poison.Error)
	}
	p.section("ARRIVED")
	p.fields("seq", digits(event.StreamSeq), "type", name(event.EventType), "received", at(event.ReceivedAt),
		"provider's time", at(event.OccurredAt), "kind", name(event.Kind), "user", name(event.UserID),
		"subscription", name(event.SubscriptionID), "payment", name(event.ProviderPaymentID))
	e.copiesText(p)
	if e.EventStory.Payment != nil {
		paymentText(p, *e.EventStory.Payment)
	}
	if len(e.Ledger.Items) > 0 {
		p.section("LEDGER of this payment: %s", count(e.Ledger.Sum, "credit"))
		ledgerText(p, e.Ledger)
	}
	if len(e.Others.Items) > 0 {
		p.section("OTHER EVENTS of this payment")
		p.earlier(e.Others.Earlier, "ones")
		eventsText(p, e.Others.Items, event.UserID, e.Around)
	}
	if c := e.EventStory.Credits; c != nil {
		p.section("CREDITS of user %s", name(c.UserID))
		creditsText(p, *c)
	}
	if s := e.EventStory.Subscription; s != nil {
		subscriptionText(p, *s, e.Shown)
	}
	if e.License != nil {
		licenseText(p, *e.License)
	}
	e.disorderText(p)
}

func (e Event) copiesText(p *page) {
	if len(e.copies) == 0 {
		return
	}
	p.section("COPIES: it arrived %s more; they did nothing", times(e.EventStory.Copies.Earlier+int64(len(e.copies))))
	p.earlier(e.EventStory.Copies.Earlier, "ones")
	if e.logSilent != "" {
		p.line("  (when, and with which body, only the log knows: %s)", e.logSilent)
	}
	var rows [][]string
	for _, c := range e.copies {
		received, body := "-", "-"
		if c.ReceivedAt != nil {
			received, body = at(*c.ReceivedAt), "the same"
			if !*c.SameBody {
				body = "ANOTHER"
			}
		}
		rows = append(rows, []string{digits(c.Seq), received, body})
	}
	p.table("seq,received,body", rows)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (e Event) disorderText(p *page) {
	if len(e.Disorder) == 0 {
		return
	}
	p.section("DISORDER: applied in another order than the log's; to settle it: projector settle")
	for _, d := range e.Disorder {
		p.line("  %s (seq %d) was applied after %s (seq %d), which has the same %s; noticed %s",
			name(d.EventID), d.StreamSeq, name(d.LaterEventID), d.LaterSeq, sharedName(d.Shared), at(d.NoticedAt))
	}
}

func sharedName(shared string) string {
	if shared == "event_id" {
		return "event id"
	}
	return shared
}

// eventsText is a list of events, each with what it did; user is the one whose
// list it is.
func eventsText(p *page, list []projections.ProcessedEvent, user string, around Around) {
	for _, e := range list {
		p.line("  seq %d  %s  %s  %s", e.StreamSeq, name(e.EventID), name(e.EventType), outcome(e))
		of := ""
		if e.UserID != "" && e.UserID != user {
			of = ", names user " + name(e.UserID)
		}
		p.line("      of %s, received %s%s", at(e.OccurredAt), at(e.ReceivedAt), of)
		p.line("      %s", why(e, around))
	}
}
