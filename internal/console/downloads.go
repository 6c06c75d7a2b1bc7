package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

var eventsHeader = strings.Split("event,type,received_utc,occurred_utc,seq,provider,outcome,reason,kind,customer,payment,"+
	"subscription,what_it_did", ",")

// eventRows are the events of a filter.
func eventRows(ctx context.Context, asked query, tables *store.Store, write writeRows) error {
	filter, err := asked.filter()
	if err != nil {
		return err
	}
	return browse.EachEvent(ctx, tables, filter, func(list []explain.WithWhy) error {
		var cells [][]string
		for i := range list {
			e := &list[i]
			cells = append(cells, []string{
				text(e.EventID), text(e.EventType), utc(&e.ReceivedAt), utc(&e.OccurredAt), number(&e.StreamSeq), text(e.Provider),
				text(string(e.Outcome)), text(e.Reason), text(e.Kind), text(e.UserID), text(e.ProviderPaymentID), text(e.SubscriptionID),
				text(e.Why),
			})
		}
		return write(cells)
	})
}

var ungrantedHeader = strings.Split("payment,customer,product,amount_minor,currency,reason,catalogue_line,command", ",")

// ungrantedRows are the purchases that granted nothing, the product with the most money first.
func ungrantedRows(ctx context.Context, _ query, tables *store.Store, write writeRows) error {
	return browse.EachUngranted(ctx, tables, func(groups []browse.Ungranted) error {
		var cells [][]string
		for i := range groups {
			g := &groups[i]
			for _, p := range g.Purchases {
				cells = append(cells, []string{
					text(p.Payment), text(p.User), text(g.Product), number(p.Amount), text(p.Currency), text(g.Reason), text(g.Catalogue),
					text(p.Repair),
				})
			}
		}
		return write(cells)
	})
}

var invitationsHeader = strings.Split("customer,repository,payment,github_user,status,reason,invited_utc,activated_utc,revoked,"+
	"consecutive_failures,due_utc,changed_utc", ",")

// invitationRows are the invitations of a status. There is one list of them, whatever tables are shown.
func (c *Console) invitationRows(ctx context.Context, asked query, _ *store.Store, write writeRows) error {
	return browse.EachInvitation(ctx, c.Tables, asked.Get("status"), func(list []browse.Invitation) error {
		var cells [][]string
		for i := range list {
			one := &list[i].Invitation
			c.hideName(one)
			name := ""
			if one.GitHubUser != nil {
				name = mask(c.ShowPersonalData, *one.GitHubUser)
			}
			cells = append(cells, []string{
				text(one.UserID), text(one.Repository), text(one.PaymentID), text(name), text(one.Status), text(one.Why()),
				utc(one.InvitedAt), utc(&one.ActivatedAt), strconv.FormatBool(one.Revoked), strconv.Itoa(one.ConsecutiveFailures),
				utc(&one.DueAt), utc(&one.ChangedAt),
			})
		}
		return write(cells)
	})
}
