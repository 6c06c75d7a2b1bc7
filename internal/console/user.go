package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// userPage is a page of a customer's history. In JSON it is the user alone.
type userPage struct {
	explain.User
	Typed  string   `json:"-"` // the place where the page ends, as it was typed; empty: the end of the history
	Clock  string   `json:"-"` // by which it was typed
	Clocks []string `json:"-"`
	Older  string   `json:"-"` // the value of before for the next page; empty: this is the last one
}

// LastEvent is the newest event of the page; nil if it has none.
func (p userPage) LastEvent() *explain.WithWhy {
	if len(p.Events.Items) == 0 {
		return nil
	}
	return &p.Events.Items[len(p.Events.Items)-1]
}

// timed is an event of the timeline, with what it changed.
type timed struct {
	explain.WithWhy
	Changes []change
}

// change adds up the ledger lines of one event and one kind.
type change struct {
	Credits, Lines int64
	Of             string
}

// Timeline has the events of the page, the newest first.
func (p userPage) Timeline() (out []timed) {
	packs, grants := changes(p.Packs, "credits of packs"), changes(p.Grants, "credits of subscriptions")
	for _, event := range slices.Backward(p.Events.Items) {
		if event.UserID == p.ID { // the page is about this customer
			event.UserID = ""
		}
		one := timed{WithWhy: event}
		for _, of := range []map[string]change{packs, grants} {
			if changed, ok := of[event.EventID]; ok {
				one.Changes = append(one.Changes, changed)
			}
		}
		out = append(out, one)
	}
	return out
}

func changes(ledger explain.Lines, of string) map[string]change {
	sums := map[string]change{}
	for _, line := range ledger.Items {
		sum := sums[line.EventID]
		sums[line.EventID] = change{sum.Credits + line.Delta, sum.Lines + 1, of}
	}
	return sums
}

func (c *Console) user(r *http.Request, asked query, tables *store.Store) (view, error) {
	id := r.PathValue("id")
	place, err := asked.place()
	if err != nil {
		return view{}, err
	}
	user, err := explain.ReadUser(r.Context(), tables, id, place, asked.limit)
	if err != nil {
		return view{}, err
	}
	c.hideNames(user.Invitations)
	c.hideNotes(user.Wallet)
	shown := userPage{User: user, Typed: asked.Get("before"), Clock: place.Clock, Clocks: explain.Clocks}
	if user.Next != nil {
		shown.Older = strconv.FormatInt(*user.Next, 10)
	}
	return view{"user.html", "Customer " + page.Clean(id), browse.Moment{At: user.At, Schema: tables.Schema()}, shown, nil}, nil
}
