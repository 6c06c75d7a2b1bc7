package console

import (
	"net/http"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

func (c *Console) payment(r *http.Request, asked query) (view, error) {
	limit, err := asked.limit()
	if err != nil {
		return view{}, err
	}
	id := r.PathValue("id")
	var found browse.PaymentAnswer
	err = c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) error {
		found, err = browse.Payment(r.Context(), tables, id, limit)
		return err
	})
	return view{"payment.html", "Payment " + page.Clean(id), found.Moment, found, object{found}, nil}, err
}

func (c *Console) subscription(r *http.Request, asked query) (view, error) {
	limit, err := asked.limit()
	if err != nil {
		return view{}, err
	}
	id := r.PathValue("id")
	var found browse.SubscriptionAnswer
	err = c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) error {
		found, err = browse.Subscription(r.Context(), tables, id, limit)
		return err
	})
	return view{"subscription.html", "Subscription " + page.Clean(id), found.Moment, found, object{found}, nil}, err
}

// searchPage is what a search found.
type searchPage struct {
	Asked string       `json:"q"`
	Hits  []browse.Hit `json:"hits"`
}

// search shows what has an id. One hit is shown at once.
func (c *Console) search(r *http.Request, asked query) (view, error) {
	out := searchPage{Asked: asked.Get("q")}
	err := c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) (err error) {
		out.Hits, err = browse.Search(r.Context(), tables, out.Asked)
		return err
	})
	shown := view{template: "search.html", title: "Search", data: out, json: object{out}}
	if len(out.Hits) == 1 {
		shown.onlyHit = &out.Hits[0]
	}
	return shown, err
}
