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
	Units   int64  `name:"units" placeholder:"N" help:"How many of the product were bought; the default is one."`
	Bought  string `name:"bought" placeholder:"DATE" help:"When it was bought: the product's offer of that time counts. Needed if the catalogue has several."`
	GitHub  string `name:"github" placeholder:"USER" help:"The GitHub user whom a licence invites."`
}

// Check implements cli.Checked.
func (c *completeCommand) Check(faults *cli.Faults) {
	e := ownevents.Event{Type: ownevents.Payment, Payment: c.Payment, Product: c.Product, Units: c.Units, GitHubUsername: c.GitHub}
	if c.Units != 0 && c.Product == "" {
		faults.Addf("--units needs --product")
	}
	if c.Order {
		e.Payment, e.Order = "", c.Payment
	}
	c.checkProduct(&e, faults)
	texts := map[string]string{"PAYMENT": c.Payment, "--product": c.Product, "--github": c.GitHub}
	c.check("complete", e, false, texts, faults)
}

// checkProduct gives the event the time of the purchase. Without it the offer of today would count, also beside that of
// an event of the provider that names the product: of two offers the payment grants the larger one.
func (c *completeCommand) checkProduct(e *ownevents.Event, faults *cli.Faults) {
	sold, at := c.Read(faults), time.Now()
	switch {
	case c.Bought != "":
		bought, err := ownevents.ParseTime("--bought", c.Bought)
		if faults.Add(err); bought.After(at) {
			faults.Addf("--bought is %s, which is in the future", c.Bought)
		}
		if err == nil {
			e.Time, at = bought, bought
		}
	case sold.Changes(c.Product):
		faults.Addf("the catalogue has several offers of the product %s: --bought DATE says when it was bought", c.Product)
	}
	if c.Product != "" {
		_, err := ownevents.KindOf(sold, c.Product, at)
		faults.Add(err)
	}
	if most := sold.Offer(c.Product, at).MaxUnits(); c.Units < 0 || c.Units > most {
		faults.Addf("--units is %d, must be from 1 to %d", c.Units, most)
	}
}

// Run sends what the payment lacks.
func (c *completeCommand) Run(ctx context.Context, streams cli.Streams) error {
	what := ""
	if c.Product != "" {
		what = ", for product " + page.Name(c.Product)
		if c.Units > 1 {
			what = fmt.Sprintf(", for %s of product %s", page.Count(c.Units, "unit"), page.Name(c.Product))
		}
	}
	return c.run(ctx, streams, fmt.Sprintf("Payment %s is of user %s%s. The first user whom its events name keeps it.",
		page.Name(c.Payment), page.Name(c.User), what))
}
