package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// concern is something that somebody has to look at.
type concern = attention.Concern

// lateWaiting is how old a payment without a customer is that is a concern.
const lateWaiting = time.Hour

// moneyList collects concerns about money.
type moneyList struct {
	usual    usualPayments
	concerns []concern
}

func (l *moneyList) add(one concern) { l.concerns = append(l.concerns, one) }

// usualPayments has what a payment of the shop is on average, by currency.
type usualPayments struct {
	of        map[string]float64
	elsewhere float64 // in a currency in which nothing was paid lately
}

// usualOf returns the average payments of this revenue, whose first currency has the most payments.
func usualOf(revenue []browse.CurrencyRevenue) usualPayments {
	u := usualPayments{of: map[string]float64{}}
	for _, c := range revenue {
		if paid := c.Total.Gross.Float(); paid > 0 {
			u.of[c.Currency] = paid / float64(c.Total.Payments)
			u.elsewhere = cmp.Or(u.elsewhere, u.of[c.Currency])
		}
	}
	u.elsewhere = cmp.Or(u.elsewhere, 1)
	return u
}

// worth returns how many usual payments a sum is. So sums of several currencies can be compared.
func (u usualPayments) worth(sum browse.Sum, currency string) float64 {
	return sum.Float() / cmp.Or(u.of[currency], u.elsewhere)
}

// concerns lists what needs attention: what stops money at the door, then lost and late money, the most first, then the
// rest.
func concerns(o *overviewPage) []concern {
	var parts, rest attention.List
	money := moneyList{usual: usualOf(o.Revenue.Currencies)}
	system := attention.Parts{Ingest: o.Ingest, Fault: o.IngestFault, Status: &o.Status, Silence: o.Silence, Now: o.At}
	if o.Moment.Schema != "" && o.Moment.Schema != store.LiveSchema { // no event is to come into these tables
		older := o.Status
		older.Lag, system.Status, system.Silence = nil, &older, browse.Silence{}
	}
	parts.OfParts(system)
	money.ofPurchases(o.Figures.Ungranted)
	money.ofAmounts(o)
	money.ofComparisons(o.Compared, o.At)
	slices.SortStableFunc(money.concerns, func(a, b concern) int { return cmp.Compare(b.Worth, a.Worth) })
	rest.OfTables(&o.Status)
	rest.OfDamage(o.Ingest)
	rest.OfArchive(o.Ingest)
	if o.Standing.Debtors > 0 {
		rest = append(rest, debtOf(&o.Standing))
	}
	rest.OfInvitations(o.Pauses)
	unknown := func(what, fault string) {
		if fault != "" {
			rest.Add(false, "", "", what+": "+fault+".")
		}
	}
	unknown("Purchases that granted nothing, disputes and payments without a customer are not known", o.Figures.Fault)
	unknown("What customers owe cannot be added up", o.Standing.Fault)
	return slices.Concat([]concern(parts), money.concerns, []concern(rest))
}

// debtOf says who owes credits.
func debtOf(s *browse.Standing) concern {
	least := ""
	if !s.AllOwed {
		least = "At least "
	}
	return concern{
		What: fmt.Sprintf("%s%s %s.", least, page.Clause(s.Debtors, "buyer", "owes", "owe"), page.Count(s.Owed, "credit")),
		Next: "The next credits of a buyer pay the debt. To forgive a debt, give the buyer the credits:" +
			" `ingest give`.",
		Customers: s.Owing,
	}
}

// ofPurchases says what was paid and has granted nothing.
func (l *moneyList) ofPurchases(groups []browse.Ungranted) {
	for i := range groups {
		g := &groups[i]
		one := concern{Path: "/rejected", Worth: l.usual.worth(g.Sum, g.Currency)}
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
		l.add(one)
	}
}

// ofAmounts says what was disputed, did not arrive, or is owed.
func (l *moneyList) ofAmounts(o *overviewPage) {
	var disputed []browse.Amounts
	var payments []string
	for i := range o.Figures.Disputes {
		d := &o.Figures.Disputes[i]
		disputed, payments = append(disputed, d.Amounts), append(payments, d.Payments...)
	}
	if count, money, worth := l.together(disputed); count > 0 {
		l.add(concern{
			What: fmt.Sprintf("%s came this week: %s.", page.Count(count, "dispute"), money), Worth: worth,
			Next: "Answer them in the provider's dashboard before their deadline.", Payments: payments,
		})
	}
	if count, money, worth := l.together(o.Standing.PastDue); count > 0 {
		l.add(concern{
			What: fmt.Sprintf("%s past due. Last paid: %s.", page.Clause(count, "subscription", "is", "are"), money), Worth: worth,
			Next: "Ask these customers to renew their card.", Path: "/subscriptions?status=past_due",
		})
	}
	said := slices.ContainsFunc(o.Figures.Ungranted, func(g browse.Ungranted) bool { return g.Reason == string(projections.MissingUser) })
	if s := o.Database; !said && s != nil && len(s.Waiting.Oldest) > 0 && s.At.Sub(s.Waiting.Oldest[0].OccurredAt) > lateWaiting {
		if count, money, worth := l.together(o.Figures.Unclaimed); count > 0 {
			l.add(concern{
				What: fmt.Sprintf("%s no known customer, %s; the oldest is %s old.", page.Clause(count, "payment", "has", "have"),
					money, page.Duration(s.At.Sub(s.Waiting.Oldest[0].OccurredAt))), Worth: worth,
				Next: "Say whose they are:", Code: "ingest complete PAYMENT --user USER --reason 'WHY'", Path: "/rejected",
			})
		}
	}
}

// together counts what is there in all currencies, says what each currency has, and returns how many usual payments it
// is worth.
func (l *moneyList) together(all []browse.Amounts) (count int64, money string, worth float64) {
	var texts []string
	for i := range all {
		a := &all[i]
		count, worth = count+a.Count, worth+l.usual.worth(a.Sum, a.Currency)
		texts = append(texts, moneyOf(a))
	}
	return count, strings.Join(texts, ", "), worth
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
