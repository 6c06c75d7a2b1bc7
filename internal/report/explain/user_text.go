package explain

import "github.com/payfold/payfold/internal/report/page"

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
		if sums := u.Subscription; sums != nil {
			p.Line("  %d available now, %d later, %d expired", sums.Now, sums.Later, sums.Expired)
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
	var rows [][]string
	for _, m := range u.Payments.Items {
		rows = append(rows, []string{
			page.Name(m.ProviderPaymentID), page.Name(m.TransactionID), page.Name(m.OrderID), m.Kind, page.Name(m.ProductKey), optionalDigits(m.Credits),
			optionalDigits(m.Amount), optionalDigits(m.RefundedAmount), page.Name(m.Currency), at(m.ReversedAt), page.Name(m.GitHubUsername), page.Name(m.EventID),
		})
	}
	p.Table("payment,transaction,order,kind,product,credits,amount,refunded,currency,fully reversed,GitHub user,first event", rows)
}

func (u User) invitationsText(p *page.Page) {
	if len(u.Invitations) == 0 {
		return
	}
	p.Section("INVITATIONS of this user's purchases")
	var rows [][]string
	for _, one := range u.Invitations {
		rows = append(rows, []string{
			page.Name(one.PaymentID), optionalName(one.GitHubUser), page.Name(one.Repository), one.Status, at(one.ChangedAt), one.Why(),
		})
	}
	p.Table("payment,GitHub user,repository,status,since,reason", rows)
}
