package report

import (
	"io"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

// Built writes the result of a rebuild. The argument with lists the extra projections.
func Built(w io.Writer, built store.Schema, with []string, asJSON bool) error {
	extras := ""
	if len(with) > 0 {
		extras = ", with " + strings.Join(with, ", ")
	}
	return page.Write(w, asJSON, built, func(p *page.Page) {
		switch {
		case built.UntilSeq != nil:
			p.Line("%s holds the tables as of seq %d%s.", built.Name, built.Position, extras)
		case extras != "":
			p.Line("%s holds everything up to seq %d%s.", built.Name, built.Position, extras)
		default:
			p.Line("%s holds everything up to seq %d. To make it live: projector promote %s", built.Name, built.Position, built.Name)
		}
	})
}

// Promoted writes that a schema is live. The argument before says that an earlier command
// promoted it.
func Promoted(w io.Writer, schema string, last promote.Promoted, before, asJSON bool) error {
	return page.Write(w, asJSON, struct {
		store.Schema
		PromotedAt time.Time `json:"promoted_at"`
		Before     bool      `json:"promoted_before"`
	}{last.Live, last.At, before}, func(p *page.Page) {
		if before {
			p.Line("%s is live as %s since %s, with everything up to seq %d; the tables before are %s. Nothing is left to do.",
				schema, store.LiveSchema, last.At.Format(time.RFC3339), last.Live.Position, store.PreviousSchema)
			return
		}
		p.Line("%s is live as %s, with everything up to seq %d; the tables before are %s.",
			schema, store.LiveSchema, last.Live.Position, store.PreviousSchema)
	})
}

// Settled writes how many out-of-order events were settled.
func Settled(w io.Writer, done verify.Settled, asJSON bool) error {
	return page.Write(w, asJSON, done, func(p *page.Page) {
		if done.OutOfOrder == 0 {
			p.Line("No event is recorded as out of order.")
			return
		}
		p.Line("%s settled: %s of %s were folded again, in the order of the log.",
			page.Clause(done.OutOfOrder, "out-of-order event", "is", "are"), page.Count(done.Events, "event"), page.Count(done.Users, "user"))
	})
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

// Adopted writes with which log the tables continue.
func Adopted(w io.Writer, done identity.Adopted, asJSON bool) error {
	return page.Write(w, asJSON, done, func(p *page.Page) {
		p.Line("The tables continue with log %s from seq %d.", done.LogID, done.First)
		if done.PartitionsBehind > 0 {
			p.Line("%s had a position before that: the events between are lost with the old log.", page.Count(int64(done.PartitionsBehind), "partition"))
		}
	})
}
