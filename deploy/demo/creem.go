package main

import (
	"fmt"
	"maps"
	"time"
)

// What the shop sells with Creem: credit packs in USD and JPY, a plan, and things that grant nothing.
var (
	pack     = product{"prod_pack_500", "prod_pack_500", "500 credits", 900, "USD"}
	packYear = product{"prod_pack_2000", "prod_pack_2000", "2,000 credits for a year", 4800, "JPY"}
	soloUSD  = product{"prod_solo_usd", "prod_solo_usd", "Sketchbird Solo", 1300, "USD"}
	stickers = product{"prod_stickers", "prod_stickers", "Sticker sheet", 700, "EUR"}
	// Somebody forgot to put this one into the catalogue.
	bundle = product{"prod_black_friday", "prod_black_friday", "Black Friday bundle", 2500, "USD"}
)

// creemSale is a subscription or a single purchase with Creem.
type creemSale struct{ *sale }

// creem begins a sale so many days ago.
func (b *buyer) creem(of product, units, ago int) creemSale {
	s := creemSale{&sale{
		buyer: b, provider: "creem", product: of, units: units, begins: b.day(ago), always: values{},
		ids: map[string]string{
			"cust_": b.id("cust_"), "sub_": b.id("sub_"), "sitem_": b.id("sitem_"), "ch_": b.id("ch_"), "req_": b.id("req_"),
			"prod_": of.price, "pprice_": "pprice_" + of.id,
		},
	}}
	total := fmt.Sprint(s.total())
	s.texts = map[string]string{
		"u_1": b.user, "Buyer 1": b.name, "buyer1@example.com": b.mail(), "NL": b.land, "test": "prod",
		"Plan": of.name, "Plan of the shop": of.name, "EUR": of.currency, "1900": total, "1000": total,
	}
	s.bill()
	return s
}

// bill makes the ids of a new payment.
func (s creemSale) bill() {
	s.ids["tran_"], s.ids["ord_"] = s.id("tran_"), s.id("ord_")
}

// once is a single purchase.
func (s creemSale) once(set values) creemSale {
	all := values{
		"object.subscription": nil, "object.order.type": "onetime", "object.units": s.units,
		"object.product.billing_type": "onetime", "object.product.billing_period": "once",
		"object.product.price": s.product.amount,
	}
	maps.Copy(all, set)
	s.tell("checkout.completed", time.Time{}, all)
	return s
}

// first tells the three events with which a subscription begins: two of them are the same payment.
func (s creemSale) first() creemSale {
	s.tell("checkout.completed", time.Time{}, nil)
	s.tell("subscription.active", time.Time{}, nil)
	s.tell("subscription.paid", time.Time{}, nil)
	return s
}

// renew pays for the next month.
func (s creemSale) renew() creemSale {
	s.begins = s.begins.Add(31 * days)
	s.bill()
	s.tell("subscription.paid", time.Time{}, nil)
	return s
}

// trial begins with days that cost nothing. Creem makes no payment for them.
func (s creemSale) trial() creemSale {
	s.tell("subscription.trialing", time.Time{}, nil)
	return s
}

// leave announces the end of the subscription, and then ends it at once.
func (s creemSale) leave() creemSale {
	s.tell("subscription.scheduled_cancel", time.Time{}, nil)
	s.tell("subscription.canceled", s.begins.Add(20*days), nil)
	return s
}

// refund gives money of the newest payment back.
func (s creemSale) refund(amount int, after time.Duration) creemSale {
	s.ids["ref_"] = s.id("ref_")
	set := values{"object.refund_amount": amount, "object.transaction.refunded_amount": amount}
	s.tell("refund.created", s.begins.Add(after), set)
	return s
}

// dispute takes the newest payment back through the buyer's bank.
func (s creemSale) dispute(after time.Duration) creemSale {
	s.ids["disp_"] = s.id("disp_")
	s.tell("dispute.created", s.begins.Add(after), nil)
	return s
}
