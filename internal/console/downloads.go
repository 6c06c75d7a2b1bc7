package console

import (
	"context"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

// eventRows are the events of a filter.
func eventRows(ctx context.Context, asked query, tables *store.Store, write func([]explain.WithWhy) error) error {
	filter, err := asked.filter()
	if err != nil {
		return err
	}
	return browse.EachEvent(ctx, tables, filter, write)
}

// ungrantedRow is a purchase that granted nothing.
type ungrantedRow struct {
	browse.Purchase
	Product   string `json:"product_key"`
	Reason    string `json:"reason"`
	Catalogue string `json:"catalogue_line"`
}

// ungrantedRows are the purchases that granted nothing, in each currency the product with the most money first.
func ungrantedRows(ctx context.Context, _ query, tables *store.Store, write func([]ungrantedRow) error) error {
	return browse.EachUngranted(ctx, tables, func(groups []browse.Ungranted) error {
		var rows []ungrantedRow
		for i := range groups {
			for _, p := range groups[i].Purchases {
				rows = append(rows, ungrantedRow{p, groups[i].Product, groups[i].Reason, groups[i].Catalogue})
			}
		}
		return write(rows)
	})
}

// invitationRows are the invitations of a status. There is one list of them, whatever tables are shown.
func (c *Console) invitationRows(ctx context.Context, asked query, _ *store.Store, write func([]browse.Invitation) error) error {
	return browse.EachInvitation(ctx, c.Tables, asked.Get("status"), func(list []browse.Invitation) error {
		c.hideWaits(list)
		for i := range list {
			if one := &list[i]; one.GitHubUser != nil {
				one.GitHubUser = new(mask(c.ShowPersonalData, *one.GitHubUser))
			}
		}
		return write(list)
	})
}
