package report

import (
	"strings"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

func paymentText(p *page.Page, payment projections.Payment) {
	p.Section("PAYMENT %s", name(payment.ProviderPaymentID))
	claimed := "not yet: no event names its user"
	switch {
	case payment.MergedInto != "":
		claimed = "merged into payment " + name(payment.MergedInto)
	case payment.FirstAt.IsZero():
		claimed = "not yet: no event says that it was paid"
	case payment.Buyer != "":
		claimed = "not yet: user " + name(payment.Buyer) + " bought it, but no event has everything that a claim needs"
	}
	if payment.UserID != "" {
		claimed = name(payment.EventID) + " for user " + name(payment.UserID)
	}
	p.Fields("transaction", name(payment.TransactionID), "order", name(payment.OrderID), "claimed by", claimed,
		"at", at(payment.OccurredAt), "kind", name(payment.Kind), "product", name(payment.ProductKey),
		"subscription", name(payment.SubscriptionID), "credits", optionalDigits(payment.Credits),
		"amount", money(payment.Amount, payment.Currency), "refunded", money(payment.RefundedAmount, payment.Currency),
		"fully reversed", at(payment.ReversedAt), "GitHub user", name(payment.GitHubUsername))
}

// money formats an amount in the currency's minor unit, as the provider sends it.
func money(amount *int64, currency string) string {
	if amount == nil {
		return "-"
	}
	if currency != "" {
		currency = name(currency)
	}
	return page.Money(*amount, currency) + " (minor unit)"
}

// ledgerText lists lines, each with the sum of all lines up to it.
func ledgerText(p *page.Page, ledger Lines) {
	balance := ledger.EarlierSum
	sum := func() string {
		if ledger.NotSummed {
			return "-"
		}
		return digits(balance)
	}
	var rows [][]string
	switch {
	case ledger.Earlier > 0:
		rows = append(rows, []string{"-", page.Count(ledger.Earlier, "earlier line"), "-", signed(balance), sum(), "-", "-", "-", "-"})
	case ledger.More:
		rows = append(rows, []string{"-", "earlier lines", "-", "-", sum(), "-", "-", "-", "-"})
	}
	for _, l := range ledger.Items {
		balance += l.Delta
		reverses := "-"
		if l.ReversesLine != nil {
			reverses = name(l.ReversesEventID) + " line " + digits(*l.ReversesLine)
		}
		rows = append(rows, []string{
			digits(l.StreamSeq), name(l.EventID) + " line " + digits(l.Line), l.Entry, signed(l.Delta), sum(),
			name(l.ProviderPaymentID), at(l.AvailableAt), at(l.ExpiresAt), reverses,
		})
	}
	p.Table("seq,line,entry,credits,sum,payment,available,expires,reverses", rows)
}

func creditsText(p *page.Page, c projections.Credits) {
	p.Line("  balance %d = %d granted - %d reversed", c.Balance, c.Granted, c.Reversed)
}

func subscriptionName(id string) string {
	if strings.HasPrefix(id, projections.ImplicitSubscription("")) {
		return "(the provider gives it no id)"
	}
	return name(id)
}

func subscriptionText(p *page.Page, s projections.SubscriptionState, shown *projections.Subscription) {
	p.Section("SUBSCRIPTION %s", subscriptionName(s.SubscriptionID))
	is := "no: its user is not known yet"
	switch {
	case shown != nil && shown.EventID == s.EventID:
		is = "yes"
	case shown != nil:
		is = "no: the user has " + name(shown.SubscriptionID) + ", " + shown.Status
	}
	p.Fields("status", s.Status, "user", name(s.UserID), "product", name(s.ProductKey),
		"period", period(s), "canceled at", at(s.CanceledAt), "started", at(s.StartedAt),
		"payment", name(s.ProviderPaymentID), "set by", name(s.EventID)+" of "+at(s.OccurredAt), "shown", is)
}

func period(s projections.SubscriptionState) string {
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		return "-"
	}
	return at(s.CurrentPeriodStart) + " to " + at(s.CurrentPeriodEnd)
}

func licenseText(p *page.Page, l projections.ProLicense) {
	p.Section("LICENCE of user %s: %s", name(l.UserID), l.Status)
	p.Fields("payment", name(l.ProviderPaymentID), "product", name(l.ProductKey), "GitHub user", name(l.GitHubUsername),
		"activated", at(l.ActivatedAt), "revoked", at(l.RevokedAt), "by", name(l.EventID))
}
