package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/report/page"
)

type takeCommand struct {
	ownFlags
	Payment string `name:"payment" required:"" help:"The payment or gift to take from, as projector explain --user shows it."`
	Order   bool   `name:"order" help:"PAYMENT is the provider's order, because the payment has no transaction."`
	Credits int64  `name:"credits" placeholder:"N" help:"How many of its credits to take back; its money and its licence stay."`
	All     bool   `name:"all" help:"Take back all that it gave, as a full refund does: also the licence, and its amount counts as refunded."`
}

// Check implements cli.Checked.
func (c *takeCommand) Check(faults *cli.Faults) {
	if (c.Credits != 0) == c.All {
		faults.Addf("ingest take needs exactly one of --credits N (from 1) and --all")
	}
	if c.Credits != 0 {
		faults.Add(ownevents.CheckCredits("--credits", c.Credits))
	}
	e := ownevents.Event{Type: ownevents.Reversal, Payment: c.Payment, Credits: c.Credits}
	if c.Order {
		e.Payment, e.Order = "", c.Payment
	}
	c.check("take", e, false, map[string]string{"--payment": c.Payment}, faults)
}

// Run sends the reversal.
func (c *takeCommand) Run(ctx context.Context, streams cli.Streams) error {
	known, err := thingsOf(ctx, c.User)
	if err == nil && !known.hasPayment(c.Payment, c.Order) {
		what, hint := "transaction", ""
		if c.Order {
			what = "order"
		}
		if known.hasPayment(c.Payment, !c.Order) {
			hint = "; it is an order if --order is given, and a transaction if not"
		}
		fmt.Fprintf(streams.Err, "nothing was sent: user %s has no payment with the %s %s; projector explain --user shows them%s\n",
			page.Name(c.User), what, page.Name(c.Payment), hint)
		return cli.Status(cli.ExitNo)
	}
	what := "all that it gave, as a full refund"
	if !c.All {
		what = fmt.Sprintf("%s, or as many as it has", page.Count(c.Credits, "credit"))
	}
	return c.run(ctx, streams, fmt.Sprintf("Take back of payment %s of user %s: %s.", page.Name(c.Payment), page.Name(c.User), what))
}

// things are what the tables say that a user has.
type things struct {
	Payments struct {
		Items []struct {
			TransactionID string `json:"transaction_id"`
			OrderID       string `json:"order_id"`
		}
	}
	SubscriptionStates struct {
		Items []struct {
			SubscriptionID string `json:"subscription_id"`
			Status         string
		}
	} `json:"subscription_states"`
}

// thingsOf asks the projector. If the tables do not know the user, there are no things. An error means that the tables
// cannot be read here, and nothing is known.
func thingsOf(ctx context.Context, user string) (t things, err error) {
	text, err := projector(ctx, "explain", "--user", user, "--limit", "100000", "--json")
	if errors.Is(err, errNotKnown) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// hasPayment reports whether one of the payments has that transaction, or that order.
func (t *things) hasPayment(name string, order bool) bool {
	for _, p := range t.Payments.Items {
		if !order && name == p.TransactionID || order && name == p.OrderID {
			return true
		}
	}
	return false
}

func (t *things) hasSubscription(id string) bool {
	for _, s := range t.SubscriptionStates.Items {
		if s.SubscriptionID == id {
			return true
		}
	}
	return false
}
