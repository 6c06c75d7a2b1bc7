package console

import (
	"net/http"

	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/report/page"
)

func (c *Console) user(r *http.Request, asked query) (view, error) {
	id := r.PathValue("id")
	answer, err := c.explain(r.Context(), asked, report.Question{User: id})
	if err != nil {
		return view{}, err
	}
	user, ok := answer.(report.User)
	if !ok {
		return view{}, errNoPage
	}
	return view{"user.html", "Customer " + page.Clean(id), c.momentOf(asked, user.At), user, answer, nil}, nil
}
