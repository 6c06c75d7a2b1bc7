package main

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/report/page"
)

type giveCommand struct {
	ownFlags
	cli.CatalogueFlag
	Credits int64  `name:"credits" placeholder:"N" help:"How many credits to give."`
	Expires string `name:"expires" placeholder:"DATE" help:"When these credits expire: a day or an RFC 3339 time; without it, never."`
	Product string `name:"product" placeholder:"KEY" help:"Give what this product of the catalogue grants, instead of credits."`
	Kind    string `name:"kind" placeholder:"KIND" help:"What the product is, if you have no catalogue: pro (a licence) or subscription."`
	Until   string `name:"until" placeholder:"DATE" help:"When the period of a given subscription ends."`
	GitHub  string `name:"github" placeholder:"USER" help:"The GitHub user whom a given licence invites."`
}

// Check implements cli.Checked.
func (c *giveCommand) Check(faults *cli.Faults) {
	e, now := ownevents.Event{}, time.Now()
	if (c.Credits != 0) == (c.Product != "") {
		faults.Addf("ingest give needs exactly one of --credits N (from 1) and --product KEY")
	}
	switch {
	case c.Product != "":
		e = c.product(now, faults)
	case c.Kind != "" || c.Until != "" || c.GitHub != "":
		faults.Addf("--kind, --until and --github need --product")
	default:
		e.Type, e.Credits = ownevents.Gift, c.Credits
		if c.Credits != 0 {
			faults.Add(ownevents.CheckCredits("--credits", c.Credits))
		}
		if c.Expires != "" {
			var err error
			e.ExpiresAt, err = ownevents.ParseFuture("--expires", c.Expires, now)
			faults.Add(err)
		}
	}
	c.check("give", e, true, map[string]string{"--product": c.Product, "--github": c.GitHub}, faults)
}

// product returns the event that gives a product.
func (c *giveCommand) product(now time.Time, faults *cli.Faults) ownevents.Event {
	e := ownevents.Event{Type: ownevents.Payment, Product: c.Product, GitHubUsername: c.GitHub}
	if c.Expires != "" {
		faults.Addf("--expires needs --credits: the catalogue says how long a product is valid")
	}
	kind, err := ownevents.KindOf(c.Read(faults), c.Product, now)
	faults.Add(err)
	switch {
	case kind != "" && c.Kind != "" && c.Kind != kind:
		faults.Addf("--kind is %s, and the catalogue says that the product is of the kind %s", c.Kind, kind)
	case c.Kind != "" && c.Kind != catalogue.Pro && c.Kind != catalogue.Subscription:
		faults.Addf("--kind is %q, must be pro or subscription; credits are given with --credits", c.Kind)
	case kind == catalogue.None:
		faults.Addf("the product %s grants nothing", c.Product)
	}
	if e.Kind = kind; kind == "" {
		e.Kind = c.Kind
	}
	switch {
	case c.Until != "" && e.Kind != "" && e.Kind != catalogue.Subscription:
		faults.Addf("--until needs a product of the kind subscription")
	case c.Until != "":
		e.PeriodEnd, err = ownevents.ParseFuture("--until", c.Until, now)
		faults.Add(err)
	case e.Kind == catalogue.Subscription:
		faults.Addf("the product is a subscription: --until DATE says when the given period ends")
	}
	if c.GitHub != "" && e.Kind != "" && e.Kind != catalogue.Pro {
		faults.Addf("--github needs a product of the kind pro")
	}
	return e
}

// Run sends the gift.
func (c *giveCommand) Run(ctx context.Context, streams cli.Streams) error {
	e, what := &c.event, ""
	switch {
	case e.Type == ownevents.Gift:
		what = page.Clause(e.Credits, "credit", "that never expires", "that never expire")
		if !e.ExpiresAt.IsZero() {
			what = fmt.Sprintf("%s until %s", page.Count(e.Credits, "credit"), page.Time(e.ExpiresAt))
		}
	default:
		what = "product " + page.Name(e.Product)
		if !e.PeriodEnd.IsZero() {
			what += " until " + page.Time(e.PeriodEnd)
		}
	}
	return c.run(ctx, streams, fmt.Sprintf("Give user %s: %s.", page.Name(e.User), what))
}
