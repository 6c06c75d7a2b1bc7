package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// overviewPage shows whether everything is well. The revenue is of an earlier moment, which it names.
type overviewPage struct {
	browse.OverviewAnswer
	Concerns []concern            `json:"concerns"`
	Revenue  browse.RevenueAnswer `json:"revenue"`
	Charts   []moneyChart         `json:"-"`
}

// concern is something that an operator has to look at.
type concern struct {
	What string `json:"what"`
	Path string `json:"path"` // of the page that tells more
}

const (
	overviewEvents = 10
	overviewDays   = 30
)

func (c *Console) overview(r *http.Request, _ query, tables *store.Store) (view, error) {
	shown, err := browse.Overview(r.Context(), c.Log, tables, overviewEvents, dayOf)
	if err != nil {
		return view{}, err
	}
	revenue, err := c.revenues.Last(r.Context(), tables, overviewDays)
	c.hidePersonalData(shown.Database.Quarantined.Newest)
	out := overviewPage{shown, concerns(shown.Status, shown.Pauses), revenue, charts(revenue, overviewDays)}
	return view{"overview.html", "Overview", out.Moment, out, nil}, err
}

// If an age is above these limits, it is a concern.
const (
	lateLag     = time.Minute
	lateWaiting = time.Hour
)

// concerns lists what needs attention, the worst first.
func concerns(s status.Status, pauses []invitations.Pause) []concern {
	out := []concern{}
	add := func(is bool, path, format string, args ...any) {
		if is {
			out = append(out, concern{fmt.Sprintf(format, args...), path})
		}
	}
	add(s.LogFault != "", "/projectors", "The log: %s.", s.LogFault)
	if s.Log != nil {
		behind := replicasBehind(s.Log)
		add(behind != "", "/projectors", "%s", behind)
	}
	if s.Database == nil {
		return out
	}
	database := s.Database
	add(!database.IsWorkedOn(), "/projectors", noProjector)
	if s.Lag != nil {
		age := time.Duration(s.Lag.Seconds * float64(time.Second))
		add(age > lateLag, "/projectors", "The tables are behind: %d events are not applied yet, the oldest arrived %s ago.", s.Lag.Events, duration(age))
	}
	add(database.Quarantined.Count > 0, "/rejected", "The database refused the rows of %s. Their customers got nothing.", page.Count(database.Quarantined.Count, "event"))
	add(database.OutOfOrder.Count > 0, "/projectors", "%s applied out of the log's order. To repair this, run projector settle.", page.Clause(database.OutOfOrder.Count, "event", "was", "were"))
	if len(database.Waiting.Oldest) > 0 {
		age := database.At.Sub(database.Waiting.Oldest[0].OccurredAt)
		add(age > lateWaiting, "/rejected", "%s no known customer; the oldest is %s old.", page.Clause(database.Waiting.Payments, "payment", "has", "have"), duration(age))
	}
	for _, pause := range pauses { // the others end by themselves
		add(pause.Cause == invitations.PauseDenied, "/invitations", "Nobody is invited to %s now: GitHub denies it.", pause.Repository)
	}
	return out
}

// noProjector is told on several pages.
const noProjector = "No projector runs. Events are stored, but do not reach the tables."

// replicasBehind says how many servers of the log are behind or away; empty if none is.
func replicasBehind(log *status.Log) string {
	if log.Current >= log.Replicas {
		return ""
	}
	return fmt.Sprintf("Only %d of %d NATS servers have the whole log. The others are behind or away.", log.Current, log.Replicas)
}

// dayOf returns when the day of a moment began, in UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
