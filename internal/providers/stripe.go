package providers

import (
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// stripe is Stripe. A body has the shape of the API version of its endpoint. Two shapes are read: the new one is of
// version 2025-03-31 and later. In it, an invoice does not name its payment intent, and a refund does not name the
// invoice. Only invoice_payment.paid has both names.
//
// A payment's transaction is the payment intent, or the charge if it has none. Its order is the invoice, or the
// Checkout Session if that made no invoice. The object may be absent, because a thin event has none.
var stripe = &Provider{
	name:    "stripe",
	schemes: []scheme{timed("Stripe-Signature", "t", "v1", ",", ".")},
	retries: retries{3 * 24 * time.Hour, "for up to 3 days, at growing intervals"},

	id: "id", kind: "type", time: "created", marks: "created", seconds: true,
	facts: facts{
		customer:   stripeIDs("customer"),
		user:       stripeMetadata("user_id userId reference_id referenceId"),
		kind:       stripeMetadata("kind"),
		productKey: stripeMetadata("product_key key"),
		credits:    stripeMetadata("credits"),
		github:     stripeMetadata("github_username githubUsername github_login github"),
		mode:       "livemode",
		subscription: stripeIDs("parent.subscription_details.subscription subscription " +
			"lines.data[0].parent.subscription_item_details.subscription " +
			"lines.data[0].parent.invoice_item_details.subscription lines.data[0].subscription"),
	},
	items: list{
		path:     "data.object.lines.data data.object.items.data data.object.line_items.data",
		product:  "pricing.price_details.product price.product.id price.product plan.product.id plan.product",
		price:    "pricing.price_details.price price.id plan.id",
		units:    "quantity",
		amount:   "amount",
		prorated: "parent.subscription_item_details.proration parent.invoice_item_details.proration proration",
		// Those of the invoice itself are not here: they are of the period before.
		periodStart: "period.start current_period_start",
		periodEnd:   "period.end current_period_end",
	},
	answers:  answers{path: "data.object.custom_fields", key: "key", value: "text.value"},
	statuses: map[string]string{"incomplete_expired": events.Expired},
	reversed: map[string]events.ReversalStatus{
		"failed": events.Failed, "canceled": events.Failed,
		// The money of a dispute is away from its first day, until it is won. An inquiry (warning_…) takes nothing.
		"needs_response": events.Succeeded, "under_review": events.Succeeded, "lost": events.Succeeded,
		"appeal_needs_response": events.Succeeded, "appeal_under_review": events.Succeeded,
		"won": events.Failed, "prevented": events.Failed, "warning_closed": events.Failed,
	},

	events: map[string]meaning{
		"invoice.paid":              stripeInvoicePaid,
		"invoice.payment_succeeded": stripeInvoicePaid,

		"checkout.session.completed":               stripeSession,
		"checkout.session.async_payment_succeeded": stripeSession,
		"checkout.session.async_payment_failed":    stripeSession,

		"customer.subscription.created":                stripeSubscription(""),
		"customer.subscription.updated":                stripeSubscription(""),
		"customer.subscription.deleted":                stripeSubscription(events.Canceled),
		"customer.subscription.paused":                 stripeSubscription(""),
		"customer.subscription.resumed":                stripeSubscription(""),
		"customer.subscription.trial_will_end":         stripeSubscription(""),
		"customer.subscription.pending_update_applied": stripeSubscription(""),
		"customer.subscription.pending_update_expired": stripeSubscription(""),

		"refund.created":        stripeRefund,
		"refund.updated":        stripeRefund,
		"refund.failed":         stripeRefund,
		"charge.refund.updated": stripeRefund, // its object is the refund
		"charge.refunded":       stripeChargeRefunded,

		"charge.dispute.created":          stripeDispute,
		"charge.dispute.updated":          stripeDispute,
		"charge.dispute.closed":           stripeDispute,
		"charge.dispute.funds_withdrawn":  stripeDispute,
		"charge.dispute.funds_reinstated": stripeDispute,

		// These join the names of a payment: the first in the new shape, the others in the old one. They are not
		// payments, because Stripe sends them beside each paid invoice and session.
		"invoice_payment.paid":     stripeNames("payment.payment_intent payment.charge", "invoice"),
		"charge.succeeded":         stripeNames("payment_intent id", "invoice"),
		"charge.updated":           stripeNames("payment_intent id", "invoice"),
		"charge.captured":          stripeNames("payment_intent id", "invoice"),
		"payment_intent.succeeded": stripeNames("id", "invoice"),
	},
}

var stripeInvoicePaid = meaning{
	action: events.Payment,
	facts: facts{
		transaction: stripeIDs("payment_intent charge " +
			"payments.data[0].payment.payment_intent payments.data[0].payment.charge"),
		order:   "data.object.id",
		paid:    "data.object.status",
		variant: "data.object.subtotal",
		detail:  "data.object.billing_reason",
		begin:   "data.object.created",
		cut:     "data.object.lines.has_more",
	},
	// An invoice that the seller marks as paid can have an amount_paid of 0 in the old shape, beside its amount_due.
	sums: []sum{
		{amount: "data.object.amount_paid", currency: "data.object.currency", due: "data.object.amount_due"},
		{amount: "data.object.total", currency: "data.object.currency"},
	},
	decide: stripeInvoice,
}

// stripeInvoice decides whether a paid invoice sold anything.
func stripeInvoice(e *events.Event, b *values) {
	if status := b.word(paid); status != "" && status != "paid" {
		e.Unpaid = true
		withoutNames(e)
		return
	}
	if e.SubscriptionID == "" { // what is sold once has no period
		e.PeriodStart, e.PeriodEnd = time.Time{}, time.Time{}
		for i := range e.Items {
			e.Items[i].PeriodStart, e.Items[i].PeriodEnd = time.Time{}, time.Time{}
		}
		return
	}
	markUsage(e, b)
	withoutItems(e, func(i events.Item) bool { return i.Amount.Present && !i.Amount.Bad && i.Amount.Value == 0 })
	if b.word(detail) == "subscription_threshold" && areProrated(e.Items) { // usage within a period, which the plan has paid
		e.Action = events.None
		return
	}
	isCut := b.isTrue(cut)
	if isCut {
		withoutPlan(e, b)
	}
	subtotal := b.number(variant)
	if !subtotal.Present || subtotal.Bad || subtotal.Value > 0 || e.Amount.Value != 0 {
		return // also if a coupon or the customer's balance covers it: then its subtotal is above 0
	}
	charged := false
	for _, item := range e.Items {
		if item.Amount.Value > 0 && !item.Prorated {
			return // a renewal that is covered by the credit of a change of plan
		}
		charged = charged || item.Amount.Value > 0
	}
	if isCut && !e.Prorated { // the line of a renewal can be in the other part
		e.Trial = !charged && subtotal.Value == 0
		return
	}
	if charged { // a change of plan within the period that only gives credit
		e.Action = events.None
		return
	}
	e.Trial = true
}

// withoutPlan is for an invoice of which a body has only some lines. The first ones are for changes of the plan. If there
// are no others, they are about the period before, unless the invoice is for the changes alone.
func withoutPlan(e *events.Event, b *values) {
	switch {
	case !areProrated(e.Items):
	case b.word(detail) == "subscription_update":
		e.Prorated = true
	default:
		e.PeriodStart, e.PeriodEnd = time.Time{}, time.Time{}
	}
}

// markUsage is for the lines of a metered price. They are for a period that had ended when the invoice was made, beside
// the lines for the next one. Their quantity is what was used, and not how often the product was sold: a flat fee and its
// overage are two prices of one product.
func markUsage(e *events.Event, b *values) {
	made, inAdvance := b.moment(begin), map[string]bool{"": true}
	for line := range b.elements(&b.of.items) {
		from, until := line.moment(periodStart), line.moment(periodEnd)
		if !line.isTrue(prorated) && (!from.Before(until) || until.After(made)) {
			id := line.text(price)
			inAdvance[string(id.text)] = true
		}
	}
	for i := range e.Items {
		if item := &e.Items[i]; !item.Prorated && !inAdvance[item.Price] {
			item.Prorated, item.Units = true, events.Number{}
		}
	}
}

var stripeSession = meaning{
	action: events.Payment,
	facts: facts{
		user:        stripeMetadata("user_id userId reference_id referenceId") + " data.object.client_reference_id",
		units:       stripeMetadata("units quantity"),
		transaction: stripeIDs("payment_intent"),
		order:       stripeIDs("invoice") + " data.object.id",
		checkout:    "data.object.id",
		paid:        "data.object.payment_status", variant: "data.object.mode",
	},
	sums:   []sum{{amount: "data.object.amount_total", currency: "data.object.currency"}},
	decide: decideStripeSession,
}

// decideStripeSession decides what a session means. Only a paid session of a single purchase names its payment: the
// invoice of a subscription may be a trial's, and an unpaid session may not name its invoice yet.
func decideStripeSession(e *events.Event, b *values) {
	switch {
	case b.word(variant) == "setup":
		e.Action = events.None
	case e.SubscriptionID != "":
		e.Action, e.Unpaid = events.Checkout, false
	case !e.Unpaid:
		return
	}
	withoutNames(e)
}

// withoutItems removes the items that sell nothing beside others: those whose trial begins while something else is paid.
func withoutItems(e *events.Event, free func(events.Item) bool) {
	if sold := slices.DeleteFunc(slices.Clone(e.Items), free); len(sold) > 0 {
		e.Items = sold
	}
}

func withoutNames(e *events.Event) { e.Transaction, e.Order = "", "" }

func stripeSubscription(ofType string) meaning {
	return meaning{
		action: events.Subscription, status: ofType,
		facts: facts{
			subscription: "data.object.id",
			status:       "data.object.status",
			ending:       "data.object.cancel_at_period_end",
			variant:      "data.object.cancel_at",
			periodStart:  "data.object.current_period_start", // in the old shape
			periodEnd:    "data.object.current_period_end",
			canceledAt:   "data.object.canceled_at data.object.ended_at",
			cut:          "data.object.items.has_more",
		},
		decide: decideStripeSubscription,
	}
}

// decideStripeSubscription decides the status. Stripe's billing portal can set only cancel_at. If that is after the
// period, the subscription has a fixed term, and was not cancelled. One that is incomplete has not begun.
func decideStripeSubscription(e *events.Event, b *values) {
	ends := b.moment(variant)
	switch e.Status {
	case events.Active, events.Trialing:
		if !ends.IsZero() && !ends.After(e.PeriodEnd) {
			e.Status = events.ScheduledCancel
		}
	case events.Incomplete:
		e.Status = ""
	}
}

var stripeRefund = meaning{action: events.Reverse, cause: events.Refund, facts: facts{
	transaction:    stripeIDs("payment_intent charge"),
	reversal:       "data.object.id",
	reversalStatus: "data.object.status",
	reversalAmount: "data.object.amount",
}}

// stripeDispute can have another currency than its charge.
var stripeDispute = meaning{
	action: events.Reverse, cause: events.Chargeback, facts: stripeRefund.facts.with(facts{reversalIn: "data.object.currency"}),
}

// stripeChargeRefunded has a charge as its object. It says how much of the charge is refunded so far. Only until API
// version 2022-08-01 does it list the refunds, the newest first.
var stripeChargeRefunded = meaning{action: events.Reverse, cause: events.Refund, facts: facts{
	transaction:    stripeIDs("payment_intent") + " data.object.id",
	order:          stripeIDs("invoice"),
	reversal:       "data.object.refunds.data[0].id",
	reversalStatus: "data.object.refunds.data[0].status",
	reversalAmount: "data.object.refunds.data[0].amount",
	reversalTotal:  "data.object.amount_refunded",
	reversalPaid:   "data.object.amount_captured data.object.amount",
}}

func stripeNames(ofTransaction, ofOrder string) meaning {
	return meaning{action: events.None, facts: facts{transaction: stripeIDs(ofTransaction), order: stripeIDs(ofOrder)}}
}

// stripeIDs are the paths of ids in the object. Stripe writes an object in the place of an id that is expanded.
func stripeIDs(paths string) string {
	var out []string
	for path := range strings.FieldsSeq(paths) {
		if path != "id" {
			out = append(out, "data.object."+path+".id")
		}
		out = append(out, "data.object."+path)
	}
	return strings.Join(out, " ")
}

// stripeMetadata are the paths of keys in the metadata. Each key is looked for in all of it, because the metadata of
// the invoice itself is often about something else than that of the subscription.
func stripeMetadata(keys string) string {
	var out []string
	for _, at := range []string{
		"parent.subscription_details.metadata", "subscription_details.metadata", "lines.data[0].metadata", "metadata",
	} {
		for key := range strings.FieldsSeq(keys) {
			out = append(out, "data.object."+at+"."+key)
		}
	}
	return strings.Join(out, " ")
}
