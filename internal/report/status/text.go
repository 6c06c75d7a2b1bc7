package status

import (
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/report/page"
)

func (s Status) text(p *page.Page) {
	s.logText(p)
	if s.Database == nil {
		p.Section("DATABASE")
		p.Line("  %s", strings.Join(strings.Fields(s.DatabaseFault), " ")) // the driver's message has line breaks
		return
	}
	s.tablesText(p)
	s.sharesText(p)
	outcomesText(p, s.Database)
	waitingText(p, s.Database.Waiting)
	faultsText(p, s.Database)
	p.Section("SCHEMAS")
	page.Rows(p, s.Database.Schemas, "log_id")
}

func (s Status) logText(p *page.Page) {
	p.Section("LOG")
	switch {
	case s.Log == nil:
		p.Line("  not reached: %s", s.LogFault)
	case s.LogFault != "":
		p.Line("  fault: %s", s.LogFault)
	}
	if s.Log != nil {
		p.Fields("head", s.Log.Head, "first seq", s.Log.First,
			"partitions", s.Log.Partitions, "log_id", s.Log.LogID, "replicas", s.Log.ReplicasText())
	}
}

func (s Status) tablesText(p *page.Page) {
	p.Section("TABLES")
	lag := "unknown, see LOG"
	switch {
	case s.Lag == nil:
	case s.Lag.Events == 0:
		lag = "none: every message of the log is applied"
	default:
		lag = fmt.Sprintf("%s, the oldest received %s, %s ago", page.Count(int64(s.Lag.Events), "event"), page.Time(*s.Lag.Oldest), page.Seconds(s.Lag.Seconds))
	}
	newest := int64(0)
	for _, partition := range s.Partitions {
		newest = max(newest, partition.Position)
	}
	p.Fields("lag", lag, "newest position", newest, "fold id", s.Database.Live.FoldID, "log_id", s.Database.Live.LogID, "as of", s.Database.At)
}

func (s Status) sharesText(p *page.Page) {
	p.Section("PROJECTORS")
	var members [][]any
	for _, m := range s.Database.Members {
		members = append(members, []any{page.Name(m.Owner), m.Partitions, page.Seconds(s.Database.At.Sub(m.LastSeen).Seconds()) + " ago"})
	}
	switch {
	case s.Database.IsWorkedOn():
	case s.LogFault != "": // a projector that runs and waits leaves no trace in the database
		p.Line("  none works on the tables, and none can until the log is right, see LOG; whether one runs and waits is not known")
	default:
		p.Line("  none works on the tables, so no events are applied: start one; if one runs, projector healthcheck says what it waits for")
	}
	if members != nil {
		p.Table("projector,partitions,last seen", members)
	}
	p.Section("PARTITIONS")
	var rows [][]any
	for _, line := range s.PartitionLines() {
		rows = append(rows, line.row())
	}
	p.Table("partition,position,waiting,oldest received,owner", rows)
}

func (p PartitionLine) row() []any {
	owner := "nobody"
	if p.Owner != "" {
		owner = page.Name(p.Owner)
	}
	return []any{p.Numbers(), p.Position, p.Waiting, p.Oldest, owner}
}

func outcomesText(p *page.Page, s *Database) {
	if s.EventCounts == nil {
		return
	}
	p.Section("EVENTS")
	page.Rows(p, s.Outcomes)
	p.Line("  all events: %s, and %s of them", page.Grouped(s.Total()), page.Count(s.Duplicates, "duplicate"))
}

func waitingText(p *page.Page, w Waiting) {
	if w.Payments == 0 {
		p.Section("WAITING FOR THEIR USER: none")
		return
	}
	p.Section("WAITING FOR THEIR USER: %s, the oldest for %s; each counts when an event names its user", page.Count(w.Payments, "payment"), page.Seconds(w.Seconds))
	page.Rows(p, w.Oldest)
	if left := w.Payments - int64(len(w.Oldest)); left > 0 {
		p.Line("  (the oldest; %d later not shown)", left)
	}
}

func faultsText(p *page.Page, s *Database) {
	if s.OutOfOrder.Count == 0 {
		p.Section("OUT OF ORDER: none")
	} else {
		p.Section("OUT OF ORDER: %s applied after a later one with the same user, payment, subscription or id", page.Count(s.OutOfOrder.Count, "event"))
		page.Rows(p, s.OutOfOrder.Newest)
		more(p, s.OutOfOrder.Count, len(s.OutOfOrder.Newest))
		p.Line("  To settle them: projector settle")
	}
	if s.Quarantined.Count == 0 {
		p.Section("QUARANTINED: none")
	} else {
		p.Section("QUARANTINED: %s refused by the database", page.Count(s.Quarantined.Count, "event"))
		page.Rows(p, s.Quarantined.Newest)
		more(p, s.Quarantined.Count, len(s.Quarantined.Newest))
		p.Line("  To try one again: projector quarantine retry SEQ")
	}
}

func more(p *page.Page, all int64, shown int) {
	if left := all - int64(shown); left > 0 {
		p.Line("  (the newest; %d older not shown)", left)
	}
}
