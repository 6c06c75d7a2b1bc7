package report

import (
	"io"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/verify"
)

// Quarantined writes a table, or one JSON object a line.
func Quarantined(w io.Writer, list []status.Quarantined, asJSON bool) error {
	if asJSON {
		return page.JSONLines(w, list)
	}
	return page.Table(w, "", "SEQ,EVENT,FOUND,ERROR", status.QuarantinedRows(list))
}

// TriedAgain writes what became of a quarantined event.
func TriedAgain(w io.Writer, done verify.Retried, asJSON bool) error {
	return page.Write(w, asJSON, done, func(p *page.Page) {
		outcome := done.Outcome
		if done.Reason != "" {
			outcome += ", " + done.Reason
		}
		p.Line("The event %s at seq %d is not quarantined any more: %s. It was folded again with its customers: %s of %s.",
			page.Name(done.EventID), done.Seq, outcome, page.Count(done.Events, "event"), page.Count(done.Users, "user"))
	})
}
