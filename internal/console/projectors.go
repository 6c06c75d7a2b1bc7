package console

import (
	"net/http"

	"github.com/payfold/payfold/internal/report/browse"
)

func (c *Console) projectors(r *http.Request, _ query) (view, error) {
	status, err := browse.Projectors(r.Context(), c.Log, c.Tables)
	return view{"projectors.html", "Projectors", status.Moment, status, object{status}, nil}, err
}
