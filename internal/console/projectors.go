package console

import (
	"net/http"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/browse"
)

func (c *Console) projectors(r *http.Request, _ query) (view, error) {
	status, err := browse.Projectors(r.Context(), c.Log, c.Tables)
	if status.Database != nil {
		c.hidePersonalData(status.Database.Quarantined.Newest)
	}
	return view{"projectors.html", "Projectors", status.Moment, status, object{status}, nil}, err
}

func (c *Console) listSchemas(r *http.Request, _ query) (view, error) {
	list, err := browse.Schemas(r.Context(), c.Log, c.Tables)
	return view{"schemas.html", "Schemas", list.Moment, list, object{list}, nil}, err
}

// invitationsPage is a page of the invitations, with the status that is asked for.
type invitationsPage struct {
	browse.InvitationList
	Status   string
	Statuses []string
}

func (c *Console) listInvitations(r *http.Request, asked query) (view, error) {
	limit, err := asked.limit()
	if err != nil {
		return view{}, err
	}
	after := invitations.Key{UserID: asked.Get("user"), Repository: asked.Get("repository"), PaymentID: asked.Get("payment")}
	list, err := browse.Invitations(r.Context(), c.Tables, after, asked.Get("status"), limit)
	for i := range list.Items {
		one := &list.Items[i]
		c.hideName(&one.Invitation)
		one.Waits = one.Why()
	}
	return view{"invitations.html", "Invitations", list.Moment, invitationsPage{list, asked.Get("status"), invitations.Statuses}, object{list}, nil}, err
}
