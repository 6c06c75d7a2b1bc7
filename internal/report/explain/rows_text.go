package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

func paymentText(p *page.Page, payment projections.Payment) {
	p.Section("PAYMENT %s", page.Name(payment.ProviderPaymentID))
	user := page.Name(payment.UserID)
	if payment.UserID == "" {
		user = "none yet: " + NotClaimed(payment, "user")
	}
	p.Fields("transaction", page.Name(payment.TransactionID), "order", page.Name(payment.OrderID), "checkout", page.Name(payment.ProviderCheckoutID), "user", user,
		"first event", page.Name(payment.EventID)+" of "+at(payment.OccurredAt), "kind", page.Name(payment.Kind), "product", page.Name(payment.ProductKey),
		"subscription", page.Name(payment.SubscriptionID), "credits", payment.Credits,
		"amount", money(payment.Amount, payment.Currency), "refunded", money(payment.RefundedAmount, payment.Currency),
		"fully reversed", payment.ReversedAt, "GitHub user", page.Name(payment.GitHubUsername))
}

// money formats an amount; nil is a dash.
func money(amount *int64, currency string) string {
	if amount == nil {
		return "-"
	}
	return page.Money(*amount, currency)
}

// ledgerText lists lines, each with the sum of all lines up to it.
func ledgerText(p *page.Page, ledger Lines) {
	balance := ledger.EarlierSum
	sum := func() *int64 {
		if ledger.NotSummed {
			return nil
		}
		return new(balance)
	}
	var rows [][]any
	switch {
	case ledger.Earlier > 0:
		rows = append(rows, []any{"-", page.Count(ledger.Earlier, "earlier line"), "-", signed(balance), sum(), "-", "-", "-", "-", "-"})
	case ledger.More:
		rows = append(rows, []any{"-", "earlier lines", "-", "-", sum(), "-", "-", "-", "-", "-"})
	}
	for _, l := range ledger.Items {
		balance += l.Delta
		reverses := "-"
		if l.ReversesLine != nil {
			reverses = fmt.Sprint("line ", *l.ReversesLine)
		}
		rows = append(rows, []any{
			l.StreamSeq, page.Name(l.EventID), l.Entry, signed(l.Delta), sum(),
			page.Name(l.ProviderPaymentID), fmt.Sprint("line ", l.Line), l.AvailableAt, l.ExpiresAt, reverses,
		})
	}
	p.Table("seq,event,entry,credits,sum,payment,line,available,expires,reverses", rows)
}

func creditsText(p *page.Page, c projections.Credits) {
	p.Line("  balance %s = %s granted - %s reversed", page.Grouped(c.Balance), page.Grouped(c.Granted), page.Grouped(c.Reversed))
}

func subscriptionName(id string) string {
	if strings.HasPrefix(id, projections.ImplicitSubscription("")) {
		return "(the provider gives it no id)"
	}
	return page.Name(id)
}

func subscriptionText(p *page.Page, s projections.SubscriptionState, shown *projections.Subscription) {
	p.Section("SUBSCRIPTION %s", subscriptionName(s.SubscriptionID))
	p.Fields("status", s.Status, "user", page.Name(s.UserID), "product", page.Name(s.ProductKey),
		"period", period(s), "canceled at", s.CanceledAt, "started", s.StartedAt,
		"payment", page.Name(s.ProviderPaymentID), "set by", page.Name(s.EventID)+" of "+at(s.OccurredAt), "shown", isShown(s, shown))
}

// isShown says whether the portal shows a subscription to its user, and why not.
func isShown(s projections.SubscriptionState, shown *projections.Subscription) string {
	switch {
	case s.UserID == "":
		return "no: its user is not known yet"
	case shown != nil && shown.Shows(s):
		return "yes"
	case s.Kind != "" && s.Kind != projections.KindSubscription:
		return "no: it is of kind " + page.Name(s.Kind)
	case s.Status == "":
		return "no: no event has given its status yet"
	case shown == nil:
		return "no"
	case shown.SubscriptionID == "":
		return "no: the user has one to which the provider gives no id, " + page.Words(shown.Status)
	}
	return "no: the user has " + page.Name(shown.SubscriptionID) + ", " + page.Words(shown.Status)
}

func period(s projections.SubscriptionState) string {
	if s.CurrentPeriodStart.IsZero() && s.CurrentPeriodEnd.IsZero() {
		return "-"
	}
	return at(s.CurrentPeriodStart) + " to " + at(s.CurrentPeriodEnd)
}

func licenseText(p *page.Page, l projections.ProLicense) {
	by := "given by"
	if !l.RevokedAt.IsZero() {
		by = "ended by"
	}
	p.Section("LICENCE of user %s: %s", page.Name(l.UserID), l.Status)
	p.Fields("payment", page.Name(l.ProviderPaymentID), "product", page.Name(l.ProductKey), "GitHub user", page.Name(l.GitHubUsername),
		"activated", l.ActivatedAt, "revoked", l.RevokedAt, by, page.Name(l.EventID))
}

// at formats a time to the second. JSON has the full precision.
func at(t time.Time) string { return cmp.Or(page.Time(t), "-") }

func optionalName(text *string) string {
	if text == nil {
		return "-"
	}
	return page.Name(*text)
}

func signed(n int64) string { return fmt.Sprintf("%+d", n) }

// earlier says how many items a list leaves out.
func earlier[T any](p *page.Page, list Part[T], what string) {
	switch {
	case list.Earlier > 0 && list.More:
		p.Line("  (more than %d earlier %s not shown; --limit shows more)", list.Earlier, what)
	case list.Earlier > 0:
		p.Line("  (%d earlier %s not shown; --limit shows more)", list.Earlier, what)
	case list.More:
		p.Line("  (earlier %s not shown; --limit shows more)", what)
	}
}
