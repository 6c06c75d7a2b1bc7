package main

import (
	"context"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/report/page"
)

type completeCommand struct {
	ownFlags
	cli.CatalogueFlag
	Payment string `arg:"" help:"The provider's transaction, as projector explain shows it."`
	Order   bool   `name:"order" help:"PAYMENT is the provider's order, because the payment has no transaction."`
	Product string `name:"product" placeholder:"KEY" help:"What was bought, if no event of the payment says it: a key of the catalogue."`
	GitHub  string `name:"github" placeholder:"USER" help:"The GitHub user whom a licence invites."`
}

// Check implements cli.Checked.
func (c *completeCommand) Check(faults *cli.Faults) {
	e := ownevents.Event{Type: ownevents.Payment, Payment: c.Payment, Product: c.Product, GitHubUsername: c.GitHub}
	if c.Order {
		e.Payment, e.Order = "", c.Payment
	}
	if sold := c.Read(faults); c.Product != "" {
		_, err := ownevents.KindOf(sold, c.Product, time.Now())
		faults.Add(err)
	}
	texts := map[string]string{"PAYMENT": c.Payment, "--product": c.Product, "--github": c.GitHub}
	c.check("complete", e, false, texts, faults)
}

// Run sends what the payment lacks.
func (c *completeCommand) Run(ctx context.Context, streams cli.Streams) error {
	what := ""
	if c.Product != "" {
		what = ", for product " + page.Name(c.Product)
	}
	return c.run(ctx, streams, fmt.Sprintf("Payment %s is of user %s%s. The first user whom its events name keeps it.",
		page.Name(c.Payment), page.Name(c.User), what))
}
