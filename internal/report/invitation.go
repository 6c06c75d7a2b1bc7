package report

import (
	"fmt"
	"io"
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
	list := invitations.WithReasons(all.Invitations)
	if asJSON {
		return page.JSONLines(w, list)
	}
	return page.Write(w, false, nil, func(p *page.Page) { page.Rows(p, list, "invitation_id", "repeats", "consecutive_failures", "due_at") })
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
