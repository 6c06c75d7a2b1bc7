package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type invitationsCommand struct {
	List  invitationsListCommand  `cmd:"" default:"withargs" help:"List the invitations, and what each of them waits for (the default)."`
	Retry invitationsRetryCommand `cmd:"" help:"Take a user's failed, declined or expired invitation up again."`
}

type invitationsListCommand struct{ readFlags }

// Run lists all invitations, the oldest purchase first.
func (c *invitationsListCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, s *store.Store) error {
		list, err := invitations.List(ctx, s)
		if err != nil {
			return orNotPrepared(err)
		}
		pauses, err := invitations.Pauses(ctx, s, time.Now())
		if err != nil {
			return err
		}
		for _, pause := range pauses {
			fmt.Fprintf(streams.Err, "%s: nothing is asked of GitHub before %s (%s): %s\n",
				pause.Repository, pause.Until.UTC().Format(time.RFC3339), pause.Cause, report.Clean(pause.Reason))
		}
		if c.JSON {
			return printJSON(streams.Out, list)
		}
		return printTable(streams.Out, list)
	})
}

func printJSON(out io.Writer, list []invitations.Invitation) error {
	for _, one := range list {
		if one.Reason == nil && one.Status == invitations.Pending {
			waits := report.InvitationReason(one)
			one.Reason = &waits
		}
		line, err := report.EncodeJSON(one)
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func printTable(out io.Writer, list []invitations.Invitation) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "USER\tGITHUB\tREPOSITORY\tPAYMENT\tSTATUS\tSINCE\tREASON")
	for _, one := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", report.Clean(one.UserID), report.Clean(text(one.GitHubUser)), cmp.Or(one.Repository, "-"),
			report.Clean(one.PaymentID), one.Status, one.ChangedAt.UTC().Format(time.RFC3339), report.Clean(report.InvitationReason(one)))
	}
	return table.Flush()
}

func text(value *string) string {
	if value == nil || *value == "" {
		return "-"
	}
	return *value
}

type invitationsRetryCommand struct {
	readFlags
	User string `arg:"" help:"The user id of the purchase."`
}

// Run takes up again what will not be sent by itself; exit status 3 where there
// is nothing of the kind.
func (c *invitationsRetryCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, s *store.Store) error {
		repositories, err := invitations.Retry(ctx, s, c.User, time.Now())
		if err != nil {
			return orNotPrepared(err)
		}
		for _, repository := range repositories {
			if !c.JSON {
				fmt.Fprintf(streams.Out, "%s will be invited to %s again\n", report.Clean(c.User), repository)
				continue
			}
			answer := map[string]string{"user_id": c.User, "repository": repository, "status": invitations.Pending}
			if err := json.NewEncoder(streams.Out).Encode(answer); err != nil {
				return err
			}
		}
		if len(repositories) == 0 {
			fmt.Fprintf(streams.Err, "%s has no failed, declined or expired invitation whose purchase is kept\n", c.User)
			return cli.Status(cli.ExitNo)
		}
		return nil
	})
}

func orNotPrepared(err error) error {
	if store.NotPrepared(err) {
		return store.ErrNotPrepared
	}
	return err
}
