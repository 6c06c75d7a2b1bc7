package explain

import (
	"fmt"
	"strings"

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
	u.invitationsText(p)
	u.paymentsText(p)
	p.Section("EVENTS")
	earlier(p, u.Events, "events")
	eventsText(p, u.Events.Items, u.ID)
	if u.Next != nil {
		p.Section("Earlier history: --before %d", *u.Next)
	}
}

func (u User) paymentsText(p *page.Page) {
	if len(u.Payments.Items) == 0 {
		return
	}
	p.Section("PAYMENTS")
	earlier(p, u.Payments, "payments")
	var rows [][]any
	for _, m := range u.Payments.Items {
		rows = append(rows, []any{
			page.Name(m.ProviderPaymentID), page.Name(m.TransactionID), page.Name(m.OrderID), m.Kind, page.Name(m.ProductKey), m.Credits,
			m.Amount, m.RefundedAmount, page.Name(m.Currency), m.ReversedAt, page.Name(m.GitHubUsername), page.Name(m.EventID),
		})
	}
	p.Table("payment,transaction,order,kind,product,credits,amount,refunded,currency,fully reversed,GitHub user,first event", rows)
}

func (u User) invitationsText(p *page.Page) {
	if len(u.Invitations) == 0 {
		return
	}
	p.Section("INVITATIONS of this user's purchases")
	var rows [][]any
	for _, one := range u.Invitations {
		rows = append(rows, []any{
			page.Name(one.PaymentID), optionalName(one.GitHubUser), page.Name(one.Repository), one.Status, one.ChangedAt, one.Why(),
		})
	}
	p.Table("payment,GitHub user,repository,status,since,reason", rows)
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
		grantsText(p, w.Grants)
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
		var rows [][]any
		for _, s := range w.Spends.Items {
			rows = append(rows, []any{
				s.At, s.What(), s.Credits(), s.GivenBack, page.Name(s.Key), s.from(), s.Note,
			})
		}
		p.Table("at,what,credits,given back,key,of grants,note", rows)
	}
}

func grantsText(p *page.Page, grants Part[Grant]) {
	earlier(p, grants, "grants")
	var rows [][]any
	for _, g := range grants.Items {
		rows = append(rows, []any{
			g.Name(), page.Name(g.Source()), g.Granted, g.Reversed, g.Spent,
			g.Held, g.Pays, g.Usable, g.AvailableAt, g.ExpiresAt,
		})
	}
	p.Table("payment/part,of a,granted,reversed,spent,held,debts paid,left,available,expires", rows)
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

// maxTaken bounds the grants that the text names for one spend.
const maxTaken = 5

// from lists the grants from which the credits are.
func (s Spend) from() string {
	if len(s.Grants) == 0 {
		return "-"
	}
	var list []string
	for _, t := range s.Grants[:min(len(s.Grants), maxTaken)] {
		list = append(list, fmt.Sprintf("%s/%d: %d", page.Name(t.PaymentID), t.Part, t.Credits))
	}
	if more := len(s.Grants) - maxTaken; more > 0 {
		list = append(list, fmt.Sprintf("and of %s more", page.Count(more, "grant")))
	}
	return strings.Join(list, ", ")
}
