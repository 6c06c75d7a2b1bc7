package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
)

// concern is something that somebody has to look at.
type concern = attention.Concern

// lateWaiting is how old a payment without a customer is that is a concern.
const lateWaiting = time.Hour

// moneyList collects concerns about money.
type moneyList []concern

// concerns lists what needs attention: what stops money at the door, then lost and late money, the most first, then the
// rest.
func concerns(o *overviewPage) []concern {
	var parts, rest attention.List
	var money moneyList
	if o.Ingest != nil || o.IngestFault != "" {
		parts.OfIngest(o.Ingest, o.IngestFault)
	}
	parts.OfSilence(o.Silence, o.At)
	parts.OfParts(&o.Status)
	money.ofPurchases(o.Figures.Ungranted)
	money.ofAmounts(o)
	money.ofComparisons(o.Compared, o.At)
	slices.SortStableFunc(money, func(a, b concern) int { return cmp.Compare(b.Sum, a.Sum) })
	rest.OfTables(&o.Status)
	rest.OfDamage(o.Ingest)
	rest.OfArchive(o.Ingest)
	rest.Add(o.Standing.Debtors > 0, "", "Their next credits pay it. To forgive it, give them the credits: `ingest give`.", "%s %s.",
		page.Clause(o.Standing.Debtors, "buyer", "owes", "owe"), page.Count(o.Standing.Owed, "credit"))
	rest.OfInvitations(o.Pauses)
	rest.Add(o.Figures.Fault != "", "", "", "Purchases that granted nothing, disputes and payments without a customer are not known: %s.", o.Figures.Fault)
	rest.Add(o.Standing.Fault != "", "", "", "What customers owe cannot be added up: %s.", o.Standing.Fault)
	return slices.Concat([]concern(parts), []concern(money), []concern(rest))
}

// ofPurchases says what was paid and has granted nothing.
func (l *moneyList) ofPurchases(groups []browse.Ungranted) {
	for i := range groups {
		g := &groups[i]
		one := concern{Path: "/rejected", Sum: g.Sum.Float()}
		of := " without a product"
		if g.Product != "" {
			of = " of product " + page.Name(g.Product)
		}
		one.What = fmt.Sprintf("%s%s granted nothing: %s.", page.Count(g.Count, "purchase"), of, moneyOf(&g.Amounts))
		switch {
		case g.Catalogue != "":
			one.Next, one.Code = "Put the product into the catalogue, then: `projector rebuild --promote`.", g.Catalogue
		case g.Reason == string(projections.PaymentConflict):
			one.Next = "Look at who paid, and refund what was paid twice."
		case len(g.Purchases) > 0 && g.Purchases[0].Repair != "":
			one.Next, one.Code = "Say what is missing, for the largest:", g.Purchases[0].Repair
		}
		*l = append(*l, one)
	}
}

// ofAmounts says what was disputed, did not arrive, or is owed.
func (l *moneyList) ofAmounts(o *overviewPage) {
	for i := range o.Figures.Disputes {
		d := &o.Figures.Disputes[i]
		*l = append(*l, concern{
			What: fmt.Sprintf("%s this week: %s.", page.Count(d.Count, "dispute"), moneyOf(&d.Amounts)), Sum: d.Sum.Float(),
			Next: "Answer them in the provider's dashboard before their deadline.", Payments: d.Payments,
		})
	}
	for i := range o.Standing.PastDue {
		d := &o.Standing.PastDue[i]
		*l = append(*l, concern{
			What: fmt.Sprintf("%s past due: %s a period.", page.Clause(d.Count, "subscription", "is", "are"), moneyOf(d)),
			Sum:  d.Sum.Float(), Next: "Ask these customers to renew their card.", Path: "/subscriptions?status=past_due",
		})
	}
	said := slices.ContainsFunc(o.Figures.Ungranted, func(g browse.Ungranted) bool { return g.Reason == string(projections.MissingUser) })
	if s := o.Database; !said && s != nil && len(s.Waiting.Oldest) > 0 && s.At.Sub(s.Waiting.Oldest[0].OccurredAt) > lateWaiting {
		for i := range o.Figures.Unclaimed {
			d := &o.Figures.Unclaimed[i]
			*l = append(*l, concern{
				What: fmt.Sprintf("%s no known customer, %s; the oldest is %s old.", page.Clause(d.Count, "payment", "has", "have"),
					moneyOf(d), page.Duration(s.At.Sub(s.Waiting.Oldest[0].OccurredAt))), Sum: d.Sum.Float(),
				Next: "Say whose they are:", Code: "ingest complete PAYMENT --user USER --reason 'WHY'", Path: "/rejected",
			})
		}
	}
}

// moneyOf is the sum of the known amounts.
func moneyOf(a *browse.Amounts) string {
	if a.Priced == 0 {
		return "amount unknown"
	}
	text := page.MoneyOf(a.Sum.String(), a.Currency)
	if missing := a.Count - a.Priced; missing > 0 {
		text += fmt.Sprintf(", and %d of an unknown amount", missing)
	}
	return text
}
