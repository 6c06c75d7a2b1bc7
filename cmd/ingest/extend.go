package main

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/report/page"
)

type extendCommand struct {
	ownFlags
	Subscription string `name:"subscription" required:"" help:"The provider's id of the subscription, as projector explain --user shows it."`
	Until        string `name:"until" required:"" placeholder:"DATE" help:"When its period ends, at least: a day or an RFC 3339 time."`
}

// Check implements cli.Checked.
func (c *extendCommand) Check(faults *cli.Faults) {
	until, err := ownevents.ParseFuture("--until", c.Until, time.Now())
	faults.Add(err)
	e := ownevents.Event{Type: ownevents.Subscription, Subscription: c.Subscription, ExtendedUntil: until}
	if c.Subscription == "implicit:"+c.User { // the tables' name for one that the provider does not name
		e.Subscription = ""
	}
	c.check("extend", e, false, map[string]string{"--subscription": c.Subscription}, faults)
}

// Run sends the extension.
func (c *extendCommand) Run(ctx context.Context, streams cli.Streams) error {
	known, err := thingsOf(ctx, c.User)
	if err == nil && !known.hasSubscription(c.Subscription) {
		fmt.Fprintf(streams.Err, "nothing was sent: user %s has no subscription %s; projector explain --user shows them\n",
			page.Name(c.User), page.Name(c.Subscription))
		return cli.Status(cli.ExitNo)
	}
	return c.run(ctx, streams, fmt.Sprintf("Extend subscription %s of user %s at least until %s.",
		page.Name(c.Subscription), page.Name(c.User), page.Time(c.event.ExtendedUntil)))
}
