package report

import "github.com/payfold/payfold/internal/report/page"

func (u User) text(p *page.Page) {
	p.Section("User %s", name(u.UserRows.User))
	if sum := u.Spendable(); sum != nil {
		p.Line("Can spend %s now: %d of packs, %d of subscriptions.", page.Count(*sum, "credit"), u.Packs.Sum, u.Subscription.Now)
	} else {
		p.Line("What the user can spend is not added up: the ledger has too many lines. A higher --limit adds up more.")
	}
	p.Section("CREDIT PACKS")
	if u.Credits == nil {
		p.Line("  none")
	} else {
		creditsText(p, *u.Credits)
		ledgerText(p, u.Packs)
	}
	p.Section("SUBSCRIPTION CREDITS")
	if u.Grants.empty() {
		p.Line("  none")
	} else {
		if sums := u.Subscription; sums != nil {
			p.Line("  %d available now, %d later, %d expired", sums.Now, sums.Later, sums.Expired)
		}
		ledgerText(p, u.Grants)
	}
	for _, s := range u.UserRows.Subscriptions.Items {
		subscriptionText(p, s, u.Shown)
	}
	earlier(p, u.UserRows.Subscriptions, "subscriptions")
	if u.License != nil {
		licenseText(p, *u.License)
	}
	u.invitationsText(p)
	u.paymentsText(p)
	p.Section("EVENTS")
	earlier(p, u.Events, "events")
	eventsText(p, u.Events.Items, u.UserRows.User, u.Related)
	if u.Next != nil {
		p.Section("Earlier history: --before %d", *u.Next)
	}
}

func (u User) paymentsText(p *page.Page) {
	if len(u.UserRows.Payments.Items) == 0 {
		return
	}
	p.Section("PAYMENTS")
	earlier(p, u.UserRows.Payments, "payments")
	var rows [][]string
	for _, m := range u.UserRows.Payments.Items {
		rows = append(rows, []string{
			name(m.ProviderPaymentID), name(m.TransactionID), name(m.OrderID), m.Kind, name(m.ProductKey), optionalDigits(m.Credits),
			optionalDigits(m.Amount), optionalDigits(m.RefundedAmount), name(m.Currency), at(m.ReversedAt), name(m.GitHubUsername), name(m.EventID),
		})
	}
	p.Table("payment,transaction,order,kind,product,credits,amount,refunded,currency,fully reversed,GitHub user,claimed by", rows)
}
