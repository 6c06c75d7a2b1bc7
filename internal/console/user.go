package console

import (
	"net/http"
	"strconv"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// userPage is a page of a customer's history. In JSON it is the user alone.
type userPage struct {
	explain.User
	Before int64  // where the page ends; 0: at the end of the history
	Older  string // the value of before for the next page; empty: this is the last one
}

func (c *Console) user(r *http.Request, asked query, tables *store.Store) (view, error) {
	id := r.PathValue("id")
	before, err := asked.before()
	if err != nil {
		return view{}, err
	}
	limit, err := asked.limit()
	if err != nil {
		return view{}, err
	}
	user, err := explain.ReadUser(r.Context(), tables, id, explain.Place{Before: before}, limit)
	if err != nil {
		return view{}, err
	}
	c.hideNames(user.Invitations)
	c.hideNotes(user.Wallet)
	shown := userPage{User: user, Before: before}
	if user.Next != nil {
		shown.Older = strconv.FormatInt(*user.Next, 10)
	}
	return view{"user.html", "Customer " + page.Clean(id), browse.Moment{At: user.At, Schema: tables.Schema()}, shown, nil}, nil
}
