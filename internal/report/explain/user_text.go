package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

func (u User) text(p *page.Page) {
	p.Section("User %s", page.Name(u.ID))
	u.spendableText(p)
	u.totalsText(p)
	p.Section("CREDIT PACKS")
	if u.Credits == nil {
		p.Line("  none")
	} else {
		creditsText(p, *u.Credits)
		ledgerText(p, u.Packs)
	}
	p.Section("SUBSCRIPTION CREDITS")
	if u.Grants.Empty() {
		p.Line("  none")
	} else {
		if sums := u.SubscriptionCredits; sums != nil {
			p.Line("  %s available now, %s later, %s expired", page.Grouped(sums.Now), page.Grouped(sums.Later), page.Grouped(sums.Expired))
		}
		ledgerText(p, u.Grants)
	}
	if u.Wallet != nil {
		u.Wallet.text(p)
	}
	for _, s := range u.Subscriptions.Items {
		subscriptionText(p, s, u.Shown)
	}
	earlier(p, u.Subscriptions, "subscriptions")
	if u.License != nil {
		licenseText(p, *u.License)
	}
	if len(u.Invitations) > 0 {
		p.Section("INVITATIONS of this user's purchases")
		page.Rows(p, invitations.WithReasons(u.Invitations), "user_id", "invitation_id", "repeats", "consecutive_failures", "due_at")
	}
	if len(u.Payments.Items) > 0 {
		p.Section("PAYMENTS")
		earlier(p, u.Payments, "payments")
		page.Rows(p, u.Payments.Items, "user_id", "provider", "provider_checkout_id", "period_start", "period_end", "stream_seq")
	}
	p.Section("EVENTS")
	earlier(p, u.Events, "events")
	eventsText(p, u.Events.Items, u.ID)
	if u.Next != nil {
		p.Section("Earlier history: --before %d", *u.Next)
	}
}

// spendableText says what the user can spend.
func (u User) spendableText(p *page.Page) {
	switch {
	case u.SubscriptionCredits == nil:
		p.Line("What the user can spend is not added up: the ledger has too many lines. A higher --limit adds up more.")
	case u.AsOf != nil:
		p.Line("As of seq %d, %s: these tables granted %s: %s of packs, %s of subscriptions, spends not subtracted.",
			u.AsOf.Seq, at(u.AsOf.At), page.Count(*u.Spendable, "credit"), page.Grouped(u.Packs.Sum), page.Grouped(u.SubscriptionCredits.Now))
	case u.Wallet == nil:
		p.Line("These tables grant %s now: %s of packs, %s of subscriptions. Spends are known for the live tables only.",
			page.Count(*u.Spendable, "credit"), page.Grouped(u.Packs.Sum), page.Grouped(u.SubscriptionCredits.Now))
	case u.Wallet.Sums.Owed() > 0:
		p.Line("Can spend nothing, and owes %s, which the next credits pay.", page.Count(u.Wallet.Sums.Owed(), "credit"))
	default:
		sums := u.Wallet.Sums
		p.Line("Can spend %s now: %s of packs, %s of subscriptions.",
			page.Count(sums.Balance, "credit"), page.Grouped(sums.Packs), page.Grouped(sums.Subscriptions))
	}
}

func (w Wallet) text(p *page.Page) {
	if !w.Grants.Empty() {
		p.Section("GRANTS, in the order in which they are spent")
		earlier(p, w.Grants, "grants")
		page.Rows(p, w.Grants.Items)
	}
	if w.Sums != nil && w.Sums.Gone > 0 {
		p.Section("DEBT")
		for _, g := range w.Grants.Items {
			if g.Owes > 0 {
				p.Line("  %s", g.Debt())
			}
		}
		p.Line("  %s", w.Sums.Debt())
	}
	if !w.Spends.Empty() {
		p.Section("SPENDS AND HOLDS")
		earlier(p, w.Spends, "spends")
		page.Rows(p, w.Spends.Items)
	}
}

// Source says what was bought: a pack or a subscription. It is empty if the tables do not have the grant.
func (g Grant) Source() string {
	switch {
	case g.Kind == nil:
		return ""
	case *g.Kind == projections.KindOneTime:
		return "pack"
	}
	return *g.Kind
}

// Name is the payment of the grant with the number of the month.
func (g Grant) Name() string { return fmt.Sprintf("%s/%d", page.Name(g.PaymentID), g.Part) }

// Debt says which spent credits of the grant are gone.
func (g Grant) Debt() string {
	if g.Granted == nil {
		return fmt.Sprintf("%s spent of %s, which the tables do not grant: "+
			"they were made with other rules or another catalogue.", page.Clause(g.Owes, "credit", "was", "were"), g.Name())
	}
	return fmt.Sprintf("%s spent of %s and then taken back.", page.Clause(g.Owes, "credit", "was", "were"), g.Name())
}

// Debt says who pays.
func (s WalletSums) Debt() string {
	switch {
	case s.Owed() == 0:
		return "Other credits have paid all of it."
	case s.Paid == 0:
		return fmt.Sprintf("The user owes %s. The next credits pay.", page.Count(s.Owed(), "credit"))
	}
	return fmt.Sprintf("Other credits have paid %s of it. The user owes %s. The next credits pay.",
		page.Grouped(s.Paid), page.Count(s.Owed(), "credit"))
}

// What says what became of the spend or the hold.
func (s Spend) What() string {
	switch {
	case s.State == "refused":
		return "refused: not enough credits"
	case s.State == "held":
		return "held until " + at(*s.HeldUntil)
	case s.State == "released":
		return "hold, released"
	case s.HeldUntil != nil:
		return "hold, confirmed"
	}
	return "spent"
}

// Credits is the amount, and of a confirmed hold how much of it was spent.
func (s Spend) Credits() string {
	if s.Confirmed != nil {
		return fmt.Sprintf("%d of %d", *s.Confirmed, s.Amount)
	}
	return fmt.Sprint(s.Amount)
}
