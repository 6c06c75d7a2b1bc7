package main

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

type invitationsCommand struct {
	List  invitationsListCommand  `cmd:"" default:"withargs" help:"List the invitations, and what each of them waits for (the default)."`
	Retry invitationsRetryCommand `cmd:"" help:"Retry a user's failed, declined or expired invitation."`
}

type invitationsListCommand struct{ readFlags }

// Run lists all invitations, the oldest purchase first.
func (c *invitationsListCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, s *store.Store) error {
		all, err := invitations.List(ctx, s, time.Now())
		if err != nil {
			return err
		}
		return report.Invitations(streams.Out, streams.Err, all, c.JSON)
	})
}

type invitationsRetryCommand struct {
	readFlags
	User string `arg:"" help:"The user id of the purchase."`
}

// Run makes those invitations pending again that payfold would not repeat by itself. The exit
// status is 3 if there are none.
func (c *invitationsRetryCommand) Run(ctx context.Context, streams cli.Streams) error {
	return c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, s *store.Store) error {
		repositories, err := invitations.Retry(ctx, s, c.User, time.Now())
		if err != nil {
			return err
		}
		if len(repositories) == 0 {
			fmt.Fprintf(streams.Err, "%s has no failed, declined or expired invitation whose purchase is kept\n", c.User)
			return cli.Status(cli.ExitNo)
		}
		return report.Retried(streams.Out, c.User, repositories, c.JSON)
	})
}
