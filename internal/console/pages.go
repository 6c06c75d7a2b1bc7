package console

import (
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

func (c *Console) payment(r *http.Request, asked query, tables *store.Store) (view, error) {
	id := r.PathValue("id")
	found, err := browse.Payment(r.Context(), tables, id, asked.limit)
	c.hideNames(found.Invitations)
	return view{"payment.html", "Payment " + page.Clean(id), found.Moment, found, nil}, err
}

func (c *Console) subscription(r *http.Request, asked query, tables *store.Store) (view, error) {
	id := r.PathValue("id")
	found, err := browse.Subscription(r.Context(), tables, id, asked.limit)
	return view{"subscription.html", "Subscription " + page.Clean(id), found.Moment, found, nil}, err
}

func (c *Console) rejected(r *http.Request, _ query, tables *store.Store) (view, error) {
	out, err := c.measured.Rejected(r.Context(), tables)
	c.hidePersonalData(out.Quarantined.Newest)
	return view{"rejected.html", "Rejected", out.Moment, out, nil}, err
}

// programsPage shows how ingest and the projectors are.
type programsPage struct {
	browse.HealthAnswer
	Ingest      *logreport.Ingest `json:"ingest"` // nil: not asked, or it does not answer
	IngestFault string            `json:"ingest_fault,omitempty"`
}

func (c *Console) programs(r *http.Request, _ query) (view, error) {
	var out programsPage
	group, ctx := errgroup.WithContext(r.Context())
	group.Go(func() (err error) {
		out.HealthAnswer, err = browse.Health(ctx, c.Log, c.Tables)
		return err
	})
	group.Go(func() error {
		out.Ingest, out.IngestFault = c.askIngest(ctx)
		return nil
	})
	if err := group.Wait(); err != nil {
		return view{}, err
	}
	c.hidePersonalData(out.Database.Quarantined.Newest)
	return view{"programs.html", "Programs", out.Moment, out, nil}, nil
}

func (c *Console) listSchemas(r *http.Request, _ query) (view, error) {
	health, err := browse.Health(r.Context(), c.Log, c.Tables)
	if err != nil {
		return view{}, err
	}
	c.hidePersonalData(health.Database.Quarantined.Newest)
	return view{"schemas.html", "Schemas", health.Moment, health, nil}, nil
}

// invitationsPage is a page of the invitations, with the status that is asked for.
type invitationsPage struct {
	browse.InvitationList
	Status   string   `json:"-"`
	Statuses []string `json:"-"`
}

// ofInvitations: their statuses are not those of a subscription.
var ofInvitations = parameters{"limit": nil, "format": choices["format"], "status": invitations.Statuses, "user": nil, "repository": nil, "payment": nil}

func (c *Console) listInvitations(r *http.Request, asked query) (view, error) {
	after := invitations.Key{UserID: asked.Get("user"), Repository: asked.Get("repository"), PaymentID: asked.Get("payment")}
	list, err := browse.Invitations(r.Context(), c.Tables, after, asked.Get("status"), asked.limit)
	c.hideWaits(list.Items)
	return view{"invitations.html", "Invitations", list.Moment, invitationsPage{list, asked.Get("status"), invitations.Statuses}, nil}, err
}
