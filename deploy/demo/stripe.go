package main

import (
	"fmt"
	"maps"
	"time"
)

// What the shop sells with Stripe: plans by the month, in EUR, some for several seats.
var (
	solo   = product{"price_solo_month", "prod_solo", "Sketchbird Solo", 1200, "EUR"}
	studio = product{"price_studio_month", "prod_studio", "Sketchbird Studio", 2900, "EUR"}
)

// stripeSale is a subscription with Stripe.
type stripeSale struct{ *sale }

// stripe begins a subscription so many days ago, without telling anything of it.
func (b *buyer) stripe(plan product, seats, ago int) stripeSale {
	s := stripeSale{&sale{
		buyer: b, provider: "stripe", begins: b.day(ago), always: values{"livemode": true, "data.object.livemode": true},
		ids: map[string]string{"cus_": b.id("cus_"), "sub_": b.id("sub_"), "si_": b.id("si_"), "pm_": b.id("pm_")},
	}}
	s.is(plan, seats)
	s.bill()
	return s
}

// is makes it a subscription to a plan.
func (s stripeSale) is(plan product, seats int) {
	s.product, s.units = plan, seats
	s.ids["price_"], s.ids["prod_"] = plan.price, plan.id
	s.texts = map[string]string{
		"price_details": "price_details", // a word, and no id
		"u_1":           s.user, "Robin Example": s.name, "buyer1@example.com": s.mail(), "Utrecht": s.city, "NL": s.land,
		"Example Tools": "Sketchbird", "Pro": plan.name, "eur": "eur", "1900": fmt.Sprint(s.total()),
		"1 × Pro (at €19.00 / month)": fmt.Sprintf("%d × %s", seats, plan.name),
	}
}

// bill makes the ids of a new invoice.
func (s stripeSale) bill() {
	for _, prefix := range []string{"in_", "il_", "pi_", "ch_", "cs_"} {
		s.ids[prefix] = s.id(prefix)
	}
}

// status tells the subscription, as it is at a time.
func (s stripeSale) status(event, status string, at time.Time, set values) {
	all := values{
		"type": "customer.subscription." + event, "data.object.status": status,
		"data.object.items.data.0.quantity": s.units, "data.object.metadata": metadata{"user_id": s.user},
	}
	maps.Copy(all, set)
	s.tell("customer.subscription.created", at, all)
}

// pay tells an invoice and its names.
func (s stripeSale) pay(reason string, after time.Duration, set values) {
	all := values{"data.object.billing_reason": reason, "data.object.lines.data.0.quantity": s.units}
	maps.Copy(all, set)
	s.tell("invoice.paid", s.begins.Add(after), all)
	s.tell("invoice_payment.paid", s.begins.Add(after), nil)
}

// first tells the four events with which a subscription begins.
func (s stripeSale) first() stripeSale {
	s.status("created", "active", time.Time{}, nil)
	s.pay("subscription_create", 2*time.Second, nil)
	s.tell("checkout.session.completed", time.Time{}, values{"data.object.mode": "subscription"})
	return s
}

// trial begins with two weeks that cost nothing.
func (s stripeSale) trial() stripeSale {
	ends := s.begins.Add(14 * days)
	s.status("created", "trialing", time.Time{}, values{
		"data.object.trial_start": s.begins, "data.object.trial_end": ends,
		"data.object.items.data.0.current_period_end": ends,
	})
	s.tell("invoice.paid", time.Time{}, values{
		"data.object.amount_paid": 0, "data.object.amount_due": 0, "data.object.subtotal": 0, "data.object.total": 0,
		"data.object.lines.data.0.amount": 0, "data.object.lines.data.0.subtotal": 0,
		"data.object.lines.data.0.quantity": s.units, "data.object.lines.data.0.period.end": ends,
	})
	s.tell("checkout.session.completed", time.Time{}, values{
		"data.object.amount_total": 0, "data.object.amount_subtotal": 0, "data.object.payment_status": "no_payment_required",
	})
	s.begins = ends.Add(-31 * days) // the first paid period is the next one
	return s
}

// renew pays for the next period.
func (s stripeSale) renew() stripeSale {
	s.begins = s.begins.Add(31 * days)
	s.bill()
	s.status("updated", "active", s.begins.Add(time.Second), nil)
	s.pay("subscription_cycle", time.Hour, nil) // Stripe waits for an hour
	return s
}

// fail begins the next period without money.
func (s stripeSale) fail() stripeSale {
	s.begins = s.begins.Add(31 * days)
	s.bill()
	s.status("updated", "past_due", s.begins.Add(time.Hour), nil)
	return s
}

// recover pays some days after a failure.
func (s stripeSale) recover(after time.Duration) stripeSale {
	s.pay("subscription_cycle", after, nil)
	s.status("updated", "active", s.begins.Add(after+time.Second), nil)
	return s
}

// change changes the plan and the seats within the period. If they cost more, the difference is paid at once.
func (s stripeSale) change(plan product, seats int, after time.Duration) stripeSale {
	before := s.total()
	s.is(plan, seats)
	s.bill()
	at := s.begins.Add(after)
	s.status("updated", "active", at, nil)
	due := (s.total() - before) * int((31*days-after)/time.Hour) / int(31*days/time.Hour)
	if due <= 0 {
		return s
	}
	s.pay("subscription_update", after, values{
		"data.object.amount_paid": due, "data.object.amount_due": due, "data.object.subtotal": due, "data.object.total": due,
		"data.object.lines.data.0.amount": due, "data.object.lines.data.0.period.start": at,
		"data.object.lines.data.0.parent.subscription_item_details.proration": true,
	})
	return s
}

// cancelAtEnd announces the end of the subscription ten days after its period began.
func (s stripeSale) cancelAtEnd() stripeSale {
	s.tell("customer.subscription.updated", time.Time{}, values{"data.object.items.data.0.quantity": s.units})
	return s
}

// end tells that the announced end has come.
func (s stripeSale) end() stripeSale {
	s.tell("customer.subscription.deleted", time.Time{}, nil)
	return s
}

// cancelNow ends the subscription within its period.
func (s stripeSale) cancelNow(after time.Duration) stripeSale {
	at := s.begins.Add(after)
	s.tell("customer.subscription.deleted", at, values{
		"data.object.canceled_at": at, "data.object.ended_at": at, "data.object.cancel_at": nil,
		"data.object.cancel_at_period_end": false, "data.object.items.data.0.current_period_end": at,
	})
	return s
}

// refund gives money of the newest payment back.
func (s stripeSale) refund(amount int, after time.Duration) stripeSale {
	s.ids["re_"] = s.id("re_")
	s.tell("refund.created", s.begins.Add(after), values{"data.object.amount": amount})
	return s
}

// dispute takes the newest payment back through the buyer's bank.
func (s stripeSale) dispute(after time.Duration) stripeSale {
	s.ids["du_"] = s.id("du_")
	s.tell("charge.dispute.created", s.begins.Add(after), nil)
	return s
}

// close decides the dispute: won by the shop, or lost.
func (s stripeSale) close(status string, after time.Duration) stripeSale {
	s.tell("charge.dispute.closed", s.begins.Add(after), values{"data.object.status": status})
	return s
}
