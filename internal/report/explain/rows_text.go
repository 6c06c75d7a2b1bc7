package explain

import (
	"cmp"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

func paymentText(p *page.Page, payment projections.Payment) {
	p.Section("PAYMENT %s", page.Name(payment.ProviderPaymentID))
	if payment.UserID == "" {
		p.Line("  It has no user yet: %s.", NotClaimed(payment, "user"))
	}
	p.Row(payment, "provider_payment_id")
}

// ledgerText lists lines, each with the sum of all lines up to it.
func ledgerText(p *page.Page, ledger Lines) {
	earlier(p, ledger.Part, "lines")
	if ledger.Earlier > 0 && !ledger.NotSummed {
		p.Line("  (they add up to %s)", page.Count(ledger.EarlierSum, "credit"))
	}
	page.Rows(p, ledger.WithSums(), "user_id", "kind")
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
	p.Row(s, "subscription_id")
	p.Line("  Shown to its user: %s.", isShown(s, shown))
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

func licenseText(p *page.Page, l projections.ProLicense) {
	p.Section("LICENCE of user %s: %s", page.Name(l.UserID), l.Status)
	p.Row(l, "user_id", "status", "stream_seq")
}

// at formats a time to the second. JSON has the full precision.
func at(t time.Time) string { return cmp.Or(page.Time(t), "-") }

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
