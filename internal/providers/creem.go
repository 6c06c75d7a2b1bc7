package providers

import (
	"maps"

	"github.com/payfold/payfold/internal/events"
)

// specification is the provider of payfold's specification. Its bodies are those of Creem. A body may also be plain:
// object.provider_payment_id, and the rest in object.metadata.
var specification = &Provider{
	name:    "provider",
	schemes: []scheme{hexOfBody("Provider-Signature").repeated()},

	id: "id", kind: "eventType", time: "created_at", object: "object",

	metadata: "object.metadata object.subscription.metadata object.checkout.metadata object.order.metadata",
	facts: facts{
		customer: "object.customer.id object.customer object.order.customer.id object.order.customer " +
			"object.subscription.customer.id object.subscription.customer object.transaction.customer.id object.transaction.customer",
		user: "@user_id @userId @reference_id @referenceId object.user_id object.userId " +
			"object.customer.external_id " + // only the seller can set it
			"object.customer.metadata.user_id object.customer.metadata.userId",
		kind:       "@kind",
		productKey: "@product_key @key",
		product:    "object.product.id object.product object.order.product.id object.order.product",
		credits:    "@credits object.credits",
		units:      "object.units",
		github:     "@github_username @githubUsername @github_login @github",
		mode:       "object.mode",
		transaction: "object.provider_payment_id object.order.transaction object.last_transaction_id " +
			"object.last_transaction.id object.transaction.id object.transaction",
		order: "object.order.id object.order object.last_transaction.order.id object.last_transaction.order " +
			"object.transaction.order.id object.transaction.order",
		// A buyer can write metadata, and must not choose whose payment an event refers to.
		writtenName: "@provider_payment_id",
		subscription: "object.subscription_id object.subscription.id object.subscription " +
			"object.transaction.subscription.id object.transaction.subscription",
		status:         "object.status",
		periodStart:    "object.current_period_start_date object.current_period_start object.last_transaction.period_start",
		periodEnd:      "object.current_period_end_date object.current_period_end object.last_transaction.period_end",
		canceledAt:     "object.canceled_at",
		reversalStatus: "object.status",
		reversalAmount: "object.refund_amount object.amount",
		reversalTotal:  "object.transaction.refunded_amount",
		reversalPaid:   "object.transaction.amount_paid",
	},
	sums: []sum{
		creemSum("object.last_transaction", true), creemSum("object.order", false),
		{amount: "object.amount_paid", currency: "object.currency"},
		{amount: "object.amount", currency: "object.currency"},
	},
	items:    list{path: "object.items", product: "product.id product product_id", price: "price.id price price_id", units: "units"},
	answers:  answers{path: "object.custom_fields", key: "key", value: "text.value"},
	reversed: map[string]events.ReversalStatus{"failed": events.Failed, "canceled": events.Failed},

	events: map[string]meaning{
		"checkout.completed":            {action: events.Payment, decide: soldWithoutPayment},
		"subscription.paid":             ofSubscription(events.Payment, ""),
		"subscription.active":           ofSubscription(events.Subscription, events.Active),
		"subscription.trialing":         ofSubscription(events.Subscription, events.Trialing),
		"subscription.update":           ofSubscription(events.Subscription, ""),
		"subscription.canceled":         ofSubscription(events.Subscription, events.Canceled),
		"subscription.scheduled_cancel": ofSubscription(events.Subscription, events.ScheduledCancel),
		"subscription.past_due":         ofSubscription(events.Subscription, events.PastDue),
		"subscription.paused":           ofSubscription(events.Subscription, events.Paused),
		"subscription.unpaid":           ofSubscription(events.Subscription, events.Unpaid),
		"subscription.expired":          ofSubscription(events.Subscription, events.Expired),
		"refund.created":                {action: events.Reverse, cause: events.Refund, facts: facts{reversal: "object.id"}},
		"dispute.created":               {action: events.Reverse, cause: events.Chargeback, facts: facts{reversal: "object.id"}},
	},
}

// creem is Creem as it is sold: the bodies of the specification, in either of its envelopes.
var creem = func() *Provider {
	p := *specification
	p.name = "creem"
	p.schemes = []scheme{standard(base64Key), hexOfBody("Creem-Signature", "X-Creem-Signature")}
	p.aliases = map[string]string{"type": "eventType", "data": "object"}
	p.facts = p.facts.with(facts{customer: p.facts[customer] + " object.customer_id"}) // of an event about credits

	p.events = maps.Clone(p.events)
	paidFor := facts{paid: "object.order.status object.last_transaction.status object.transaction.status"}
	p.events["checkout.completed"] = meaning{
		action: events.Payment, decide: soldByCreem, facts: paidFor.with(facts{status: "object.subscription.status"}),
	}
	renewal := p.events["subscription.paid"]
	renewal.facts = renewal.facts.with(paidFor)
	p.events["subscription.paid"] = renewal
	// Nothing says how a dispute ends.
	dispute := p.events["dispute.created"]
	dispute.reversal = events.Succeeded
	p.events["dispute.created"] = dispute
	return &p
}()

// soldByCreem is soldWithoutPayment, with the status of the subscription: it can be in a trial.
func soldByCreem(e *events.Event, b *values) {
	soldWithoutPayment(e, b)
	if said := b.word(status); e.Action == events.Checkout && (said != "" || e.Unpaid) {
		e.Status = said
	}
}

// creemSum is where an order or a transaction says what was paid. Creem writes 0 into the checkout of a recurring
// payment, where the whole amount is still due.
func creemSum(at string, ofTransaction bool) sum {
	return sum{
		amount: at + ".amount_paid", currency: at + ".currency", ofTransaction: ofTransaction,
		due: at + ".amount_due", discount: at + ".discount_amount", whole: at + ".amount",
	}
}

// ofSubscription is an event whose object is a subscription. If one about the status names no payment, it refers to
// none, whatever its metadata says.
func ofSubscription(action events.Action, status string) meaning {
	m := meaning{action: action, status: status, recurring: true, facts: facts{
		subscription: specificationSubscription,
	}}
	if action == events.Subscription {
		m.facts[writtenName] = ""
	}
	return m
}

const specificationSubscription = "object.subscription_id object.subscription.id object.subscription object.id " +
	"object.transaction.subscription.id object.transaction.subscription"

// soldWithoutPayment is the rule of a checkout that starts a subscription and names no transaction: the
// subscription.paid that follows names the transaction.
func soldWithoutPayment(e *events.Event, _ *values) {
	if e.SubscriptionID != "" && e.Transaction == "" {
		e.Action, e.Status = events.Checkout, events.Active
	}
}
