package projections_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// model says what the tables must contain at the end. It computes each fact from all events
// together, without batches and without state.
type model struct{ log []happening } // without repetitions, in the order of the log

func newModel(log []happening) model {
	seen := map[string]bool{}
	var m model
	for _, h := range log {
		if !seen[h.id] {
			seen[h.id] = true
			m.log = append(m.log, h)
		}
	}
	return m
}

func (m model) where(is func(happening) bool) []happening {
	var out []happening
	for _, h := range m.log {
		if is(h) {
			out = append(out, h)
		}
	}
	return out
}

func isClaim(h happening) bool {
	return (h.eventType == "checkout.completed" || h.eventType == "subscription.paid") && !starts(h)
}

// starts reports whether it is a checkout that starts a subscription and names no transaction.
func starts(h happening) bool {
	return h.eventType == "checkout.completed" && h.subscription != "" && h.payment == ""
}

func isReversal(h happening) bool {
	return h.eventType == "dispute.created" || h.eventType == "refund.created"
}

func (m model) payments() []string {
	names := map[string]bool{}
	for _, h := range m.where(isClaim) {
		if h.payment != "" {
			names[h.payment] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// claimsOf lists the claims of the payment, by its transaction or by its order.
func (m model) claimsOf(payment string) []happening {
	orders := map[string]bool{}
	for _, h := range m.where(isClaim) {
		if h.payment == payment && h.order != "" {
			orders[h.order] = true
		}
	}
	return m.where(func(h happening) bool {
		return isClaim(h) && (h.payment == payment || h.payment == "" && orders[h.order])
	})
}

// userOf returns the user whom any event of the payment or of its subscription names.
func (m model) userOf(payment string) string {
	for _, claim := range m.claimsOf(payment) {
		if claim.user != "" {
			return claim.user
		}
		for _, h := range m.log {
			if h.user != "" && h.subscription != "" && h.subscription == claim.subscription {
				return h.user
			}
		}
	}
	return ""
}

// claimOf merges the claims of the payment and the checkout that started its subscription.
func (m model) claimOf(payment string) happening {
	claims := m.claimsOf(payment)
	out := claims[0]
	out.user = m.userOf(payment)
	sources := append(slices.Clone(claims), m.where(func(h happening) bool { return starts(h) && h.subscription == out.subscription })...)
	for _, h := range sources {
		out.credits, out.kind = max(out.credits, h.credits), cmp.Or(out.kind, h.kind)
	}
	return out
}

// takenBack returns how much of the paid amount is reversed, at most the whole.
func (m model) takenBack(payment string) (amount int64, any bool) {
	var largest, sum int64
	for _, h := range m.where(func(h happening) bool { return isReversal(h) && h.payment == payment }) {
		if h.reversalStatus == "pending" || h.reversalStatus == "failed" {
			continue
		}
		any = true
		if h.cumulative {
			largest = max(largest, h.amount)
		} else {
			sum += h.amount
		}
	}
	return min(max(largest, sum), m.claimOf(payment).amount), any
}

func (m model) left(payment string) int64 {
	claim := m.claimOf(payment)
	taken, _ := m.takenBack(payment)
	return claim.credits - claim.credits*taken/claim.amount
}

func (m model) balances() map[string]int64 {
	out := map[string]int64{}
	for _, payment := range m.payments() {
		if user := m.userOf(payment); user != "" && m.claimOf(payment).kind == "one_time" {
			out[user] += m.left(payment)
		}
	}
	return out
}

// licenses returns for each user with a licence whether it is active.
func (m model) licenses() map[string]bool {
	out := map[string]bool{}
	for _, payment := range m.payments() {
		claim := m.claimOf(payment)
		if claim.kind == "pro" {
			taken, any := m.takenBack(payment)
			if claim.user != "" {
				out[claim.user] = out[claim.user] || !any || taken < claim.amount
			}
		}
	}
	return out
}

type modelSubscription struct {
	status, user string
	other        bool // it was sold as another kind, and is not shown
	started      time.Time
}

// subscriptions returns the state of each subscription: canceled if any event says so, otherwise
// the status of the latest event.
func (m model) subscriptions() map[string]modelSubscription {
	out := map[string]modelSubscription{}
	about := func(id string) []happening {
		return m.where(func(h happening) bool { return h.subscription == id && !isReversal(h) })
	}
	for _, h := range m.log {
		if h.subscription == "" || isReversal(h) {
			continue
		}
		s := modelSubscription{started: h.at}
		all := about(h.subscription)
		for _, one := range all {
			s.user = cmp.Or(s.user, one.user)
			s.other = s.other || one.kind == "one_time" || one.kind == "pro"
			if one.at.Before(s.started) {
				s.started = one.at
			}
		}
		latest := all[0]
		for _, one := range all {
			if !one.at.Before(latest.at) {
				latest = one
			}
		}
		s.status = statusOf(latest)
		if slices.ContainsFunc(all, func(h happening) bool { return h.eventType == "subscription.canceled" }) {
			s.status = "canceled"
		}
		out[h.subscription] = s
	}
	return out
}

func statusOf(h happening) string {
	switch {
	case isClaim(h), starts(h):
		return "active"
	case h.newStatus != "":
		return h.newStatus
	}
	return strings.TrimPrefix(h.eventType, "subscription.")
}
