package console

import (
	"net/http"
	"slices"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

// eventsPage is a list of events, with the filter that its form shows.
type eventsPage struct {
	browse.EventList
	Filter   browse.Filter         `json:"-"`
	From     string                `json:"-"` // as it was typed
	To       string                `json:"-"` // as it was typed
	Outcomes []projections.Outcome `json:"-"`
	Reasons  []projections.Reason  `json:"-"`
	Kinds    []string              `json:"-"`
}

// outcomes are what the filter offers.
var outcomes = []projections.Outcome{
	projections.Applied, projections.DuplicatePayment, projections.Stale, projections.Ignored, projections.Rejected,
}

// reasons are those of rejected events, and of payments whose money has not arrived.
var reasons = append(slices.Clone(projections.Reasons), projections.NotPaid)

var kinds = []string{projections.KindSubscription, projections.KindOneTime, projections.KindPro}

var ofEvents = chosen("limit", "before", "format", "type", "outcome", "reason", "kind", "user", "payment", "subscription", "from", "to")

func (c *Console) events(r *http.Request, asked query, tables *store.Store) (view, error) {
	filter, err := asked.filter()
	if err != nil {
		return view{}, err
	}
	list, err := browse.Events(r.Context(), tables, filter, asked.limit)
	shown := eventsPage{list, filter, asked.Get("from"), asked.Get("to"), outcomes, reasons, kinds}
	return view{"events.html", "Events", list.Moment, shown, nil}, err
}

// filter reads the filter of a list of events.
func (q query) filter() (f browse.Filter, err error) {
	f = browse.Filter{
		Type: q.Get("type"), Outcome: q.Get("outcome"), Reason: q.Get("reason"), Kind: q.Get("kind"),
		User: q.Get("user"), Payment: q.Get("payment"), Subscription: q.Get("subscription"),
	}
	if f.From, err = q.time("from"); err != nil {
		return f, err
	}
	if f.To, err = q.time("to"); err != nil {
		return f, err
	}
	f.Before, err = q.before()
	return f, err
}
