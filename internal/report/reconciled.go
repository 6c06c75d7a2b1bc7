package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report/page"
)

// Reconciled writes the differences between a provider and the tables, one a line, and then the result.
func Reconciled(w io.Writer, result reconcile.Result, asJSON bool) error {
	if asJSON {
		if err := page.JSONLines(w, result.Found); err != nil {
			return err
		}
		return page.JSON(w, result)
	}
	return page.Write(w, false, nil, func(p *page.Page) {
		if result.Stranger {
			p.Line("%s knows none of %s of the tables that it was asked for: is the key one of another store, or of the other "+
				"mode? Nothing else was compared.", result.Provider, page.Count(result.Asked, "payment"))
			return
		}
		for _, d := range result.Found {
			p.Line("%s", sentence(result.Provider, &d))
		}
		p.Line("Compared with %s since %s: %s, %s and %s.", result.Provider, page.Time(result.Since),
			page.Count(result.Payments, "payment"), page.Count(result.Subscriptions, "subscription"), page.Count(result.Refunds, "refund"))
		if result.OnItsWay > 0 {
			p.Line("%s only on the way, and does not count.", page.Clause(result.OnItsWay, "difference", "is", "are"))
		}
		if result.More {
			p.Line("There are more differences than were looked at. Repair these, and compare again.")
		}
		if result.Holds() {
			p.Line("The tables have what %s has.", result.Provider)
			return
		}
		p.Line("%s.", page.Count(result.Differences, "difference"))
	})
}

// sentence says what differs and what repairs it.
func sentence(provider string, d *reconcile.Difference) string {
	says := differenceText(provider, d)
	switch d.Lagging {
	case reconcile.Young:
		return says + fmt.Sprintf(" On its way: the provider changed it less than %s ago.", reconcile.Lag)
	case reconcile.InLog:
		return says + " On its way: its event is in the log, and no projector has applied it."
	}
	return says + " Repair: " + d.Repair
}

func differenceText(provider string, d *reconcile.Difference) string {
	switch d.What {
	case reconcile.MissingPayment:
		says := fmt.Sprintf("%s has payment %s of %s, made %s%s, and the tables do not", provider, page.Name(d.Payment),
			money(d.Provider), page.Time(d.At), forUser(d.User))
		if d.Outcome == "" {
			return says + ": its event was not received."
		}
		reason := strings.TrimSpace(d.Outcome + " " + d.Reason)
		return says + fmt.Sprintf(": its event %s is %s.", page.Name(d.Event), reason)
	case reconcile.UnknownPayment:
		return fmt.Sprintf("the tables have payment %s of %s%s, and %s does not know it. It came with event %s at %s.",
			page.Name(d.Payment), money(d.Tables), forUser(d.User), provider, page.Name(d.Event), page.Time(d.At))
	case reconcile.OtherAmount:
		return fmt.Sprintf("payment %s%s, made %s, is %s at %s and %s in the tables.",
			page.Name(d.Payment), forUser(d.User), page.Time(d.At), money(d.Provider), provider, money(d.Tables))
	case reconcile.MissingSubscription:
		return fmt.Sprintf("%s has subscription %s, %s%s%s, and the tables do not.", provider, page.Name(d.Subscription),
			page.Words(d.Provider.Status), until(d.Provider.Until), forUser(d.User))
	case reconcile.UnknownSubscription:
		return fmt.Sprintf("the tables have subscription %s, %s%s%s, and %s does not know it. It came with event %s at %s.",
			page.Name(d.Subscription), page.Words(d.Tables.Status), until(d.Tables.Until), forUser(d.User), provider, page.Name(d.Event), page.Time(d.At))
	case reconcile.OtherStatus, reconcile.OtherPeriod:
		return fmt.Sprintf("subscription %s%s is %s%s at %s and %s%s in the tables, since event %s.",
			page.Name(d.Subscription), forUser(d.User),
			page.Words(d.Provider.Status), until(d.Provider.Until), provider, page.Words(d.Tables.Status), until(d.Tables.Until), page.Name(d.Event))
	case reconcile.MissingRefund:
		return fmt.Sprintf("%s has paid back %s of payment %s%s%s, and the tables do not know it: its event was not received.",
			provider, money(d.Provider), page.Name(d.Payment), forUser(d.User), refundAt(d))
	case reconcile.UnknownRefund:
		return fmt.Sprintf("the tables have refund %s of %s of payment %s%s, and %s does not know it. It came with event %s at %s.",
			page.Name(d.Refund), money(d.Tables), page.Name(d.Payment), forUser(d.User), provider, page.Name(d.Event), page.Time(d.At))
	}
	return fmt.Sprintf("of payment %s%s, %s has paid back %s%s, and the tables say %s.", page.Name(d.Payment),
		forUser(d.User), provider,
		side(d.Provider), refundAt(d), side(d.Tables))
}

// refundAt says which refund it is, and when it was made, as far as the provider says so.
func refundAt(d *reconcile.Difference) (out string) {
	if d.Refund != "" {
		out += ", refund " + page.Name(d.Refund)
	}
	if !d.At.IsZero() {
		out += ", made " + page.Time(d.At)
	}
	return out
}

func money(s reconcile.Side) string {
	if s.Amount == nil {
		return "an unknown amount"
	}
	return page.Money(*s.Amount, s.Currency)
}

func side(s reconcile.Side) string {
	if s.Status == "" {
		return money(s)
	}
	return money(s) + " (" + page.Words(s.Status) + ")"
}

func forUser(user string) string {
	if user == "" {
		return ""
	}
	return " for user " + page.Name(user)
}

func until(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return " until " + page.Time(end)
}
