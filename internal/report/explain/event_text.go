package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/report/page"
)

func (e Event) text(p *page.Page) {
	event := e.Event
	p.Section("%s: %s", event.EventID, outcome(event.ProcessedEvent))
	p.Line("%s", event.Why)
	if e.ShopsReason != "" {
		p.Line("The reason that was given: %s", page.Clean(e.ShopsReason))
	}
	if e.Quarantined != nil {
		p.Line("The database said: %s", e.Quarantined.Error)
	}
	p.Section("ARRIVED")
	p.Row(event.ProcessedEvent, "event_id", "outcome", "reason", "action")
	if event.Product != "" {
		p.Line("  unknown product: %s", page.Name(event.Product))
	}
	e.duplicatesText(p)
	if e.Payment != nil {
		paymentText(p, e.Payment.Payment)
	}
	if len(e.Ledger.Items) > 0 {
		p.Section("LEDGER of this payment: %s", page.Count(e.Ledger.Sum, "credit"))
		ledgerText(p, e.Ledger)
	}
	if !e.Grants.Empty() {
		p.Section("GRANTS of this payment, with what is left of them")
		earlier(p, e.Grants, "grants")
		page.Rows(p, e.Grants.Items)
	}
	if len(e.Others.Items) > 0 {
		p.Section("OTHER EVENTS of this payment")
		earlier(p, e.Others, "events")
		eventsText(p, e.Others.Items, event.UserID)
	}
	if c := e.Credits; c != nil {
		p.Section("CREDITS of user %s", page.Name(c.UserID))
		creditsText(p, *c)
	}
	if s := e.Subscription; s != nil {
		subscriptionText(p, *s, e.Shown)
	}
	if e.License != nil {
		licenseText(p, *e.License)
	}
	e.outOfOrderText(p)
}

func (e Event) duplicatesText(p *page.Page) {
	if len(e.Duplicates.Items) == 0 {
		return
	}
	p.Section("DUPLICATES: it arrived %s, without effect", moreTimes(e.Duplicates.Earlier+int64(len(e.Duplicates.Items))))
	earlier(p, e.Duplicates, "duplicates")
	if e.LogFault != "" {
		p.Line("  (times and bodies are in the log, which cannot be read: %s)", e.LogFault)
	}
	page.Rows(p, e.Duplicates.Items)
}

func moreTimes(n int64) string {
	if n == 1 {
		return "once more"
	}
	return fmt.Sprintf("%d more times", n)
}

func (e Event) outOfOrderText(p *page.Page) {
	if len(e.OutOfOrder) == 0 {
		return
	}
	p.Section("OUT OF ORDER: applied out of the log's order; to settle it: projector settle")
	page.Rows(p, e.OutOfOrder)
}

// eventsText lists events with what each did. It names an event's user only if that is not
// user.
func eventsText(p *page.Page, list []WithWhy, user string) {
	for _, e := range list {
		p.Line("  seq %d  %s  %s  %s", e.StreamSeq, page.Name(e.EventID), page.Name(e.EventType), outcome(e.ProcessedEvent))
		of := ""
		if e.UserID != "" && e.UserID != user {
			of = ", names user " + page.Name(e.UserID)
		}
		p.Line("      of %s, received %s%s", at(e.OccurredAt), at(e.ReceivedAt), of)
		p.Line("      %s", e.Why)
	}
}
