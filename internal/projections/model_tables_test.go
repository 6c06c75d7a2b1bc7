package projections_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/projections"
)

// tablesOf writes what the model says, one line a row. Columns that depend on the order of arrival are left out.
func (m *naive) tablesOf() (rows []string) {
	payments := m.payments()
	subscriptions := m.subscriptions(payments)
	balances := map[string]int64{}
	licences := map[string]*naivePayment{}
	active := func(p *naivePayment) bool {
		of := subscriptions[p.subscription]
		return (p.share == nil || p.share.Cmp(big.NewRat(1, 1)) < 0) && !(p.lasts && of != nil && of.ended())
	}
	newest := map[string]*naivePayment{} // of the subscriptions that end licences, by user and subscription
	for _, p := range payments {
		key, of := p.user+" "+p.subscription, subscriptions[p.subscription]
		last := newest[key]
		if p.lasts && p.kind == "pro" && p.subscription != "" && (last == nil || p == of.newest || last != of.newest && !p.at.Before(last.at)) {
			newest[key] = p
		}
	}
	for _, p := range payments {
		credits := int64(0)
		if p.credits > 0 {
			credits = p.net
		}
		rows = append(rows, paymentRow(p.transaction, p.order, p.checkout, p.subscription, p.user, p.kind, p.product, p.amount,
			p.currency, credits, p.refunded,
			moment(p.start), moment(p.end)))
		if p.user == "" {
			continue
		}
		if left := p.left(); left != 0 {
			rows = append(rows, ledgerRow(p.transaction, p.order, p.user, left))
		}
		if p.kind == "one_time" && !p.expires {
			balances[p.user] += p.left()
		}
		last := newest[p.user+" "+p.subscription]
		if p.lasts && p.subscription != "" && p.kind == "pro" && !subscriptions[p.subscription].isOfPeriod(p, last) {
			continue // a later period gives the licence, or does not
		}
		if p.kind == "pro" {
			best := licences[p.user]
			if best == nil || active(p) && !active(best) || active(p) == active(best) && !p.at.Before(best.at) {
				licences[p.user] = p
			}
		}
	}
	for user, balance := range balances {
		if balance != 0 {
			rows = append(rows, creditsRow(user, balance))
		}
	}
	for user, p := range licences {
		status := "revoked"
		if active(p) {
			status = "active"
		}
		rows = append(rows, licenceRow(user, status, p.github))
	}
	for _, s := range subscriptions {
		if s.status == "" {
			continue
		}
		rows = append(rows, subscriptionRow(s.id, s.user, s.product, s.status, moment(s.start), moment(s.end),
			moment(s.canceledAt)))
	}
	for user, s := range shownOf(subscriptions) {
		rows = append(rows, shownRow(user, s.id, s.status))
	}
	slices.Sort(rows)
	return rows
}

// isOfPeriod reports whether a payment is for the same period as the newest one.
func (s *naiveSubscription) isOfPeriod(p, newest *naivePayment) bool {
	current := newest.end
	if current.IsZero() {
		current = s.end
	}
	switch {
	case p == newest:
		return true
	case !p.end.IsZero():
		return p.end.Equal(current) || !newest.start.IsZero() && newest.start.Equal(s.start) && p.end.After(newest.end) && !p.end.After(s.end)
	}
	return !p.at.Before(newest.at) || !s.start.IsZero() && !p.at.Before(s.start.AddDate(0, 0, -1))
}

// foldedTables writes the same rows of a state.
func foldedTables(s *projections.State) (rows []string) {
	names := map[string][2]string{}
	for _, p := range s.Payments.All() {
		names[p.ProviderPaymentID] = [2]string{p.TransactionID, p.OrderID}
		if p.Paid {
			credits := int64(0)
			if p.Credits != nil {
				credits = *p.Credits
			}
			rows = append(rows, paymentRow(p.TransactionID, p.OrderID, p.ProviderCheckoutID, p.SubscriptionID, p.UserID, p.Kind, p.ProductKey,
				p.Amount, p.Currency, credits,
				p.RefundedAmount, moment(p.PeriodStart), moment(p.PeriodEnd)))
		}
	}
	type key struct{ payment, user string }
	sums := map[key]int64{}
	for _, line := range s.Ledger.Lines() {
		sums[key{line.ProviderPaymentID, line.UserID}] += line.Delta
	}
	for of, sum := range sums {
		if sum != 0 {
			rows = append(rows, ledgerRow(names[of.payment][0], names[of.payment][1], of.user, sum))
		}
	}
	for _, row := range s.Credits.All() {
		if row.Balance != 0 {
			rows = append(rows, creditsRow(row.UserID, row.Balance))
		}
	}
	for _, row := range s.Licenses.All() {
		rows = append(rows, licenceRow(row.UserID, row.Status, row.GitHubUsername))
	}
	for _, row := range s.Subscriptions.All() {
		if row.Status != "" {
			rows = append(rows, subscriptionRow(row.SubscriptionID, row.UserID, row.ProductKey, row.Status,
				moment(row.CurrentPeriodStart),
				moment(row.CurrentPeriodEnd), moment(row.CanceledAt)))
		}
	}
	for _, row := range s.Current.All() {
		id := row.SubscriptionID
		if id == "" {
			id = implicit + row.UserID
		}
		rows = append(rows, shownRow(row.UserID, id, row.Status))
	}
	slices.Sort(rows)
	return rows
}

func paymentRow(transaction, order, checkout, subscription, user, kind, product string, amount *int64, currency string,
	credits int64, refunded *int64, start, end string,
) string {
	number := func(n *int64) string {
		if n == nil {
			return "null"
		}
		return fmt.Sprint(*n)
	}
	if strings.HasPrefix(subscription, implicit) {
		subscription = ""
	}
	return fmt.Sprintf("payment %s/%s of checkout %q of %q: sub %s, %s %s, %s %s, credits %d, refunded %s, period %s to %s",
		transaction, order, checkout, user, subscription, kind, product,
		number(amount), currency, credits, number(refunded), start, end)
}

func ledgerRow(transaction, order, user string, sum int64) string {
	return fmt.Sprintf("ledger %s/%s of %q: %d", transaction, order, user, sum)
}

func creditsRow(user string, balance int64) string {
	return fmt.Sprintf("credits of %q: %d", user, balance)
}

func licenceRow(user, status, github string) string {
	return fmt.Sprintf("licence of %q: %s, invites %s", user, status, github)
}

func subscriptionRow(id, user, product, status, start, end, canceledAt string) string {
	return fmt.Sprintf("subscription %s of %q: %s %s, %s to %s, canceled at %s", id, user, product, status, start,
		end, canceledAt)
}

func shownRow(user, id, status string) string {
	return fmt.Sprintf("shown to %q: %s %s", user, id, status)
}
