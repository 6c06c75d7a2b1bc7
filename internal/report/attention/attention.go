// Package attention says what somebody has to look at: of ingest, of the log and of the tables. The console shows all of
// it; a ping tells what is urgent.
package attention

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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

	Payments []string `json:"payments,omitempty"` // some of those that it is about

	// Urgent: somebody has to look now, also at night.
	Urgent bool `json:"-"`
	// Sum orders concerns by their money. Minor units of most currencies are worth more or less the same.
	Sum float64 `json:"-"`
}

// List collects concerns.
type List []Concern

// Add adds a concern that can wait, if there is one. format and args say what it is.
func (l *List) Add(is bool, path, next, format string, args ...any) {
	if is {
		*l = append(*l, Concern{What: fmt.Sprintf(format, args...), Next: next, Path: path})
	}
}

func (l *List) urgent(is bool, path, next, format string, args ...any) {
	l.Add(is, path, next, format, args...)
	if is {
		(*l)[len(*l)-1].Urgent = true
	}
}

const (
	// lateLag is how old the oldest event is that is not in the tables, if that is a concern.
	lateLag = time.Minute
	// givesUpSoon is how long before a provider gives up somebody has to look, also at night.
	givesUpSoon = 2 * time.Hour
	// longRefusing is how long no signature of a provider was valid, if that is a concern. A stranger's are not for long.
	longRefusing = 30 * time.Minute
	// recently is how long deliveries that were refused are a concern. Older ones are in the chart of the last hour.
	recently = 15 * time.Minute
)

// refusals are the answers to deliveries that cost money: what was sent was not stored.
var refusals = map[string]struct{ what, next string }{
	"unauthorized": {"had no valid signature", "If the provider's dashboard shows them, compare the secret there with the variable of ingest."},
	"unavailable":  {"could not be stored", "The provider repeats them. Look at: `ingest status`."},
	"too_many":     {"came while too many were under way", "The provider repeats them. Look at: `ingest status`."},
	"too_large":    {"had a body that is too large", "See MAX_BODY_BYTES in the documentation of the variables."},
}

// LastHour is the path of what the console shows of ingest's answers.
const LastHour = "/#hour"

// OfIngest says what ingest tells of deliveries, or that it tells nothing, because of fault.
func (l *List) OfIngest(ingest *logreport.Ingest, fault string) {
	if ingest == nil {
		l.urgent(true, "/projectors", "Start ingest. When it runs, it pulls what was missed, or: `ingest pull PROVIDER`.",
			"Ingest does not answer, so whether deliveries are stored, and for how long the provider still repeats them, is not known: %s.", fault)
		return
	}
	l.urgent(ingest.NotReady != "", LastHour, "", "Ingest stores nothing now: %s.", ingest.NotReady)
	for _, name := range slices.Sorted(maps.Keys(ingest.GivesUp)) {
		left := time.Duration(ingest.GivesUp[name] * float64(time.Second))
		add := l.Add
		if left < givesUpSoon {
			add = l.urgent
		}
		add(left > 0, LastHour, "Repair what keeps ingest from storing; look at: `ingest status`.",
			"Some deliveries of %s were not stored. The provider stops trying in %s.", name, page.Duration(left))
		add(left <= 0, LastHour, "Get what was missed: `ingest pull "+name+"`.",
			"%s has stopped trying a delivery that was not stored.", name)
	}
	for _, name := range slices.Sorted(maps.Keys(ingest.RefusesSignatures)) {
		since := time.Duration(ingest.RefusesSignatures[name] * float64(time.Second))
		l.urgent(since > longRefusing, LastHour, "Compare the secret in the provider's dashboard with the variable of ingest.",
			"No signature of %s was valid for %s.", name, page.Duration(since))
	}
	refused := map[string]uint64{}
	for _, minute := range ingest.Answers {
		if ingest.At.Sub(minute.Begin) > recently {
			continue
		}
		for answer, count := range minute.Answers {
			refused[answer] += count
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(refusals)) {
		l.Add(refused[answer] > 0, LastHour, refusals[answer].next, "In the last quarter of an hour %s %s.",
			page.Count(refused[answer], "delivery"), refusals[answer].what)
	}
}

// OfSilence says that no events come.
func (l *List) OfSilence(silence browse.Silence, now time.Time) {
	l.urgent(silence.Unusual(now), "/events", "Look at the failed deliveries in the provider's dashboard.",
		"No event has come for %s. The longest pause between the newest events was %s.",
		page.Duration(now.Sub(silence.Since)), page.Duration(silence.Longest))
}

// NoProjector is told on several pages.
const NoProjector = "No projector works on the tables: events that arrive do not reach them."

// OfParts says which part does not work.
func (l *List) OfParts(s *status.Status) {
	l.urgent(s.LogFault != "", "/projectors", "", "The log: %s.", s.LogFault)
	if s.Log != nil {
		behind := ReplicasBehind(s.Log)
		l.Add(behind != "", "/projectors", "", "%s", behind)
	}
	if s.Database == nil {
		return
	}
	next := "Start one: `projector run`. If one runs, `projector healthcheck` says what it waits for."
	if s.LogFault != "" {
		next = "No projector can work without the log. When the log is back, a projector that runs goes on by itself."
	}
	l.urgent(!s.Database.IsWorkedOn(), "/projectors", next, NoProjector)
	if s.Lag != nil {
		age := time.Duration(s.Lag.Seconds * float64(time.Second))
		l.urgent(age > lateLag, "/projectors", "", "The tables are behind: %s not applied yet, the oldest arrived %s ago.",
			page.Clause(s.Lag.Events, "event", "is", "are"), page.Duration(age))
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
	l.urgent(s.Database.Quarantined.Count > 0, "/rejected", "Undo what was changed in the database, then: `projector quarantine retry SEQ`.",
		"The database refused the rows of %s. Their customers got nothing.", page.Count(s.Database.Quarantined.Count, "event"))
	l.Add(s.Database.OutOfOrder.Count > 0, "/projectors", "Run `projector settle`.",
		"%s applied out of the log's order.", page.Clause(s.Database.OutOfOrder.Count, "event", "was", "were"))
}

// OfArchive says what is wrong with the archive, if ingest tells it.
func (l *List) OfArchive(ingest *logreport.Ingest) {
	if ingest == nil || ingest.Archive == nil {
		return
	}
	a := ingest.Archive
	l.urgent(a.LastError != "" || a.Damaged > 0, "/projectors", "Look at: `ingest archive`.",
		"The archive lacks a part of the log: %s.", cmp.Or(a.LastError, "segments are damaged or missing"))
}

// OfDamage says that a disk of the log is damaged, if ingest tells it.
func (l *List) OfDamage(ingest *logreport.Ingest) {
	if ingest == nil || len(ingest.Damage) == 0 {
		return
	}
	l.urgent(true, "/projectors", "Do not restart ingest. The runbook of payfold says what to do: PayfoldLogDamaged.",
		"A disk of the log is damaged: %s.", page.Clean(ingest.Damage[0]))
}

// OfInvitations says who is not invited. Other pauses end by themselves.
func (l *List) OfInvitations(pauses []invitations.Pause) {
	for _, pause := range pauses {
		l.urgent(pause.Cause == invitations.PauseDenied, "/invitations", "Look at the rights of the GitHub app or token.",
			"Nobody is invited to %s now: GitHub denies it.", page.Clean(pause.Repository))
	}
}
