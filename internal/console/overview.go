package console

import (
	"context"
	"net/http"

	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

func (c *Console) projectors(r *http.Request, _ query) (view, error) {
	status, err := report.ReadStatus(r.Context(), c.Log, func(ctx context.Context, work func(context.Context, *store.Store) error) error {
		return work(ctx, c.Tables)
	})
	if err != nil {
		return view{}, err
	}
	shown := view{template: "projectors.html", title: "Projectors", data: status, json: status}
	if status.Database != nil {
		shown.at = status.Database.At
	}
	return shown, nil
}
