package main

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// What the shop sells with Paddle: a year of the plan in GBP, and licences of the source in USD.
var (
	studioYear  = product{"pri_studio_year", "pro_studio", "Sketchbird Studio, yearly", 29000, "GBP"}
	source      = product{"pri_source", "pro_source", "Sketchbird Source", 19900, "USD"}
	sourceMonth = product{"pri_source_month", "pro_source", "Sketchbird Source, monthly", 1500, "USD"}
)

// paddleSale is a subscription or a single purchase with Paddle.
type paddleSale struct{ *sale }

// paddle begins a sale so many days ago. Prices are with a sixth of tax.
func (b *buyer) paddle(of product, ago int) paddleSale {
	s := paddleSale{&sale{
		buyer: b, provider: "paddle", product: of, units: 1, begins: b.day(ago), always: values{},
		ids: map[string]string{"ctm_": b.id("ctm_"), "sub_": b.id("sub_"), "pri_": of.price, "pro_": of.id},
		texts: map[string]string{
			"u_1": b.user, "Ada Example": b.name, "EUR": of.currency, "Starter": of.name,
			"A hundred credits a month.": of.name, "1800": fmt.Sprint(of.amount), "300": fmt.Sprint(of.amount / 6),
			"1500": fmt.Sprint(of.amount - of.amount/6),
		},
	}}
	s.bill()
	return s
}

// bill makes the ids of a new transaction.
func (s paddleSale) bill() {
	s.ids["txn_"], s.ids["inv_"] = s.id("txn_"), s.id("inv_")
}

// licensed names the GitHub user of the buyer's licence.
func (s paddleSale) licensed(github string) paddleSale {
	s.always["data.custom_data"] = metadata{"user_id": s.user, "github_username": github}
	return s
}

// once is a single purchase.
func (s paddleSale) once() paddleSale {
	s.tell("transaction.completed", time.Time{}, values{
		"data.subscription_id": nil, "data.billing_period": nil, "data.items.0.price.billing_cycle": nil,
	})
	return s
}

// first begins a subscription by the month.
func (s paddleSale) first() paddleSale {
	s.tell("subscription.created", time.Time{}, nil)
	s.tell("transaction.completed", time.Time{}, nil)
	return s
}

// firstYear begins a subscription by the year.
func (s paddleSale) firstYear() paddleSale {
	ends, cycle := s.begins.AddDate(1, 0, 0), map[string]any{"interval": "year", "frequency": 1}
	s.tell("subscription.created", time.Time{}, values{
		"data.current_billing_period.ends_at": ends, "data.next_billed_at": ends, "data.items.0.next_billed_at": ends,
		"data.billing_cycle": cycle, "data.items.0.price.billing_cycle": cycle,
	})
	s.tell("transaction.completed", time.Time{}, values{
		"data.billing_period.ends_at": ends, "data.items.0.price.billing_cycle": cycle,
	})
	return s
}

// renew pays for the next month.
func (s paddleSale) renew() paddleSale {
	s.begins = s.begins.Add(31 * days)
	s.bill()
	s.tell("transaction.completed", time.Time{}, values{"data.origin": "subscription_recurring"})
	s.tell("subscription.created", time.Time{}, values{"event_type": "subscription.updated", "data.transaction_id": nil})
	return s
}

// fail begins the next month without money.
func (s paddleSale) fail() paddleSale {
	s.tell("subscription.past_due", time.Time{}, nil)
	return s
}

// end tells that the subscription has ended with its month.
func (s paddleSale) end() paddleSale {
	s.tell("subscription.canceled", time.Time{}, nil)
	return s
}

// adjust tells a refund or a chargeback of the newest payment. Events with the same id are about one.
func (s paddleSale) adjust(id, action, status string, amount int, after time.Duration) paddleSale {
	s.ids["adj_"] = id
	total := fmt.Sprint(amount)
	set := values{"data.action": action, "data.status": status, "data.type": "partial"}
	if strings.HasPrefix(action, "chargeback") {
		set["data.reason"] = action
	}
	for _, totals := range []string{"data.totals", "data.payout_totals", "data.items.0.totals"} {
		maps.Copy(set, values{totals + ".total": total, totals + ".subtotal": total, totals + ".tax": "0"})
	}
	s.tell("adjustment.updated", s.begins.Add(after), set)
	return s
}
