package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/page"
)

// Invitations writes a table, or one JSON object a line. It writes a line to errors for each
// pause.
func Invitations(w, errors io.Writer, all invitations.Listing, asJSON bool) error {
	for _, pause := range all.Pauses {
		fmt.Fprintf(errors, "%s: no requests to GitHub before %s (%s): %s\n",
			pause.Repository, pause.Until.UTC().Format(time.RFC3339), pause.Cause, page.Clean(pause.Reason))
	}
	if asJSON {
		list := slices.Clone(all.Invitations)
		for i, one := range list {
			if one.Reason == nil && one.Status == invitations.Pending {
				list[i].Reason = new(one.Why())
			}
		}
		return page.JSONLines(w, list)
	}
	var rows [][]any
	for _, one := range all.Invitations {
		rows = append(rows, []any{
			one.UserID, one.GitHubUser, cmp.Or(one.Repository, "-"), one.PaymentID, one.Status,
			one.ChangedAt.UTC().Format(time.RFC3339), one.Why(),
		})
	}
	return page.Table(w, "", "USER,GITHUB,REPOSITORY,PAYMENT,STATUS,SINCE,REASON", rows)
}

// Retried writes the repositories that a user will be invited to again.
func Retried(w io.Writer, user string, repositories []string, asJSON bool) error {
	for _, repository := range repositories {
		if !asJSON {
			fmt.Fprintf(w, "%s will be invited to %s again\n", page.Clean(user), repository)
			continue
		}
		if err := page.JSON(w, map[string]string{"user_id": user, "repository": repository, "status": invitations.Pending}); err != nil {
			return err
		}
	}
	return nil
}
