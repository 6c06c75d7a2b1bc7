package console

import (
	"net/http"
	"strconv"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
)

// userPage is a page of a customer's history. In JSON it is the user alone.
type userPage struct {
	explain.User
	Before int64  // where the page ends; 0: at the end of the history
	Older  string // the value of before for the next page; empty: this is the last one
}

func (c *Console) user(r *http.Request, asked query) (view, error) {
	id := r.PathValue("id")
	before, err := asked.before()
	if err != nil {
		return view{}, err
	}
	answer, err := c.explain(r.Context(), asked, explain.Question{User: id, Before: before})
	if err != nil {
		return view{}, err
	}
	user, ok := answer.(explain.User)
	if !ok {
		return view{}, errNoPage
	}
	c.hideNames(user.Invitations)
	shown := userPage{User: user, Before: before}
	if user.Next != nil {
		shown.Older = strconv.FormatInt(*user.Next, 10)
	}
	return view{"user.html", "Customer " + page.Clean(id), c.momentOf(asked, user.At), shown, nil}, nil
}
