// Package attention says what somebody has to look at: of ingest, of the log and of the tables. The console shows all of
// it; a ping tells what is urgent.
package attention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

// Concern is something that somebody has to look at.
type Concern struct {
	What string `json:"what"`
	Next string `json:"next,omitempty"` // the step that repairs it; commands are between backquotes
	Code string `json:"code,omitempty"` // a command, or a line of a file, that belongs to the step
	Path string `json:"path"`           // of the console's page that tells more; may end with a place in it

	Payments  []string `json:"payments,omitempty"`  // the newest of those that it is about
	Customers []string `json:"customers,omitempty"` // some of those that it is about, those who owe most first

	// Urgent: somebody has to look now, also at night.
	Urgent bool `json:"-"`
	// Worth orders concerns by their money: how many of the shop's usual payments it is, in whichever currencies.
	Worth float64 `json:"-"`
}

// List collects concerns.
type List []Concern

// Add adds a concern, unless its first sentence is empty. The others may be.
func (l *List) Add(urgent bool, path, next string, sentences ...string) {
	if sentences[0] == "" {
		return
	}
	said := slices.DeleteFunc(slices.Clone(sentences), func(text string) bool { return text == "" })
	*l = append(*l, Concern{What: strings.Join(said, " "), Next: next, Path: path, Urgent: urgent})
}

// lateLag is how old the oldest event is that is not in the tables, if that is a concern.
const lateLag = time.Minute

// Places in the console's pages.
const (
	LastHour    = "/#hour" // ingest's answers, and the lag of the tables
	AboutIngest = "/projectors#ingest"
	OutOfOrder  = "/projectors#out-of-order"
)

// NoProjector is told on several pages.
const NoProjector = "No projector works on the tables: events that arrive do not reach them."

// Parts is what is known of the parts through which an event goes.
type Parts struct {
	Ingest  *logreport.Ingest // nil: it was not asked, or does not answer
	Fault   string            // why it does not answer
	Status  *status.Status
	Silence browse.Silence
	Now     time.Time
}

// isAway reports whether the log does not answer, as far as is known. If ingest stores events in it, it is only out of
// reach from here.
func (p *Parts) isAway() bool {
	return p.Status.LogFault != "" && (p.Ingest == nil || p.Ingest.NotReady != "")
}

// OfParts says which part does not work. One fault is one concern, which has what follows from it.
func (l *List) OfParts(p Parts) {
	log := ""
	if p.Status.LogFault != "" {
		log = "The log: " + p.Status.LogFault + "."
		if db := p.Status.Database; p.isAway() && db != nil && !db.IsWorkedOn() {
			log += " No projector can work without the log."
		}
	}
	switch {
	case p.Fault != "":
		l.Add(true, AboutIngest, "Start ingest. When it runs, it pulls what was missed, or: `ingest pull PROVIDER`.",
			"Ingest does not answer, so whether deliveries are stored, and for how long the provider still repeats them, "+
				"is not known: "+p.Fault+".", log)
	case p.Ingest != nil:
		l.ofDeliveries(deliveries{p.Ingest, p.Ingest.Counts(recently)}, log)
	}
	if p.Fault == "" && (p.Ingest == nil || p.Ingest.NotReady == "") { // otherwise it is said why no event comes
		l.ofSilence(p.Silence, p.Now)
		l.Add(true, "/projectors", "", log)
	}
	if p.Status.Log != nil {
		l.Add(false, "/projectors", "", ReplicasBehind(p.Status.Log))
	}
	l.ofProjectors(&p)
}

func (l *List) ofSilence(silence browse.Silence, now time.Time) {
	if silence.Unusual(now) {
		l.Add(true, "/events", "Look at the failed deliveries in the provider's dashboard.",
			fmt.Sprintf("No event has come for %s.", page.Duration(now.Sub(silence.Since))),
			fmt.Sprintf("The longest pause between the newest events was %s.", page.Duration(silence.Longest)))
	}
}

func (l *List) ofProjectors(p *Parts) {
	s := p.Status
	if s.Database == nil {
		return
	}
	behind := ""
	if s.Lag != nil && s.Lag.Seconds > lateLag.Seconds() {
		age := time.Duration(s.Lag.Seconds * float64(time.Second))
		behind = fmt.Sprintf("%s not applied yet, the oldest arrived %s ago.",
			page.Clause(s.Lag.Events, "event", "is", "are"), page.Duration(age))
	}
	switch {
	case s.Database.IsWorkedOn() && behind != "":
		l.Add(true, "/projectors", "", "The tables are behind: "+behind)
	case s.Database.IsWorkedOn() || p.isAway(): // OfParts says that none can
	default:
		l.Add(true, "/projectors", "Start one: `projector run`. If one runs, `projector healthcheck` says what it waits for.",
			NoProjector, behind)
	}
}

// ReplicasBehind says how many servers of the log are behind or away; empty if none is.
func ReplicasBehind(log *status.Log) string {
	if log.Current >= log.Replicas {
		return ""
	}
	return fmt.Sprintf("Only %d of %d NATS servers have the whole log. The others are behind or away.", log.Current, log.Replicas)
}

// OfTables says what is wrong with rows.
func (l *List) OfTables(s *status.Status) {
	if s.Database == nil {
		return
	}
	if n := s.Database.Quarantined.Count; n > 0 {
		l.Add(true, "/rejected", "Undo what was changed in the database, then: `projector quarantine retry SEQ`.",
			fmt.Sprintf("The database refused the rows of %s. Their customers got nothing.", page.Count(n, "event")))
	}
	if n := s.Database.OutOfOrder.Count; n > 0 {
		l.Add(false, OutOfOrder, "Run `projector settle`.",
			page.Clause(n, "event", "was", "were")+" applied out of the log's order.")
	}
}

// OfArchive says what is wrong with the archive, if ingest tells it.
func (l *List) OfArchive(ingest *logreport.Ingest) {
	if ingest == nil || ingest.Archive == nil {
		return
	}
	if a := ingest.Archive; a.LastError != "" || a.Damaged > 0 {
		l.Add(true, AboutIngest, "Look at: `ingest archive`.",
			"The archive lacks a part of the log: "+cmp.Or(a.LastError, "segments are damaged or missing")+".")
	}
}

// OfDamage says that a disk of the log is damaged, if ingest tells it.
func (l *List) OfDamage(ingest *logreport.Ingest) {
	if ingest != nil && len(ingest.Damage) > 0 {
		l.Add(true, AboutIngest, "Do not restart ingest. The runbook of payfold says what to do: PayfoldLogDamaged.",
			"A disk of the log is damaged: "+page.Clean(ingest.Damage[0])+".")
	}
}

// OfInvitations says who is not invited. Other pauses end by themselves.
func (l *List) OfInvitations(pauses []invitations.Pause) {
	for _, pause := range pauses {
		if pause.Cause == invitations.PauseDenied {
			l.Add(true, "/invitations", "Look at the rights of the GitHub app or token.",
				"Nobody is invited to "+page.Clean(pause.Repository)+" now: GitHub denies it.")
		}
	}
}
