package providers

import (
	"maps"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// specification is the provider of payfold's specification. Its bodies are those of Creem. A body may also be plain:
// object.provider_payment_id, and the rest in object.metadata.
//
// Creem writes 0 as what was paid both if a trial begins and if the money is still on its way. So 0 means a trial only
// beside a subscription that is in one (see soldOrPaid).
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
		"checkout.completed":            specificationCheckout,
		"subscription.paid":             specificationRenewal,
		"subscription.active":           ofSubscription(events.Active),
		"subscription.trialing":         ofSubscription(events.Trialing),
		"subscription.update":           ofSubscription(""),
		"subscription.canceled":         ofSubscription(events.Canceled),
		"subscription.scheduled_cancel": ofSubscription(events.ScheduledCancel),
		"subscription.past_due":         ofSubscription(events.PastDue),
		"subscription.paused":           ofSubscription(events.Paused),
		"subscription.unpaid":           ofSubscription(events.Unpaid),
		"subscription.expired":          ofSubscription(events.Expired),
		"refund.created":                {action: events.Reverse, cause: events.Refund, facts: facts{reversal: "object.id"}},
		"dispute.created":               {action: events.Reverse, cause: events.Chargeback, facts: facts{reversal: "object.id"}},
	},
}

// creem is Creem as it is sold: the bodies of the specification, in either of its envelopes.
var creem = func() *Provider {
	p := *specification
	p.name = "creem"
	p.schemes = []scheme{standard(base64Key), hexOfBody("Creem-Signature", "X-Creem-Signature")}
	p.retries = retries{6*time.Hour + 35*time.Minute + 30*time.Second, "after 30 seconds, 5 minutes, 30 minutes and 6 hours"}
	p.marks = "created_at"
	p.aliases = map[string]string{"type": "eventType", "data": "object"}
	p.facts = p.facts.with(facts{customer: p.facts[customer] + " object.customer_id"}) // of an event about credits

	p.events = maps.Clone(p.events)
	// Nothing says how a dispute ends.
	dispute := p.events["dispute.created"]
	dispute.reversal = events.Succeeded
	p.events["dispute.created"] = dispute
	return &p
}()

// creemSum is where an order or a transaction says what was paid. Creem writes 0 into the checkout of a recurring
// payment, where the whole amount is still due.
func creemSum(at string, ofTransaction bool) sum {
	return sum{
		amount: at + ".amount_paid", currency: at + ".currency", ofTransaction: ofTransaction,
		due: at + ".amount_due", discount: at + ".discount_amount", whole: at + ".amount",
	}
}

// ofSubscription is an event about the status of the subscription that is its object. If it names no payment, it refers to
// none, whatever its metadata says.
func ofSubscription(status string) meaning {
	return meaning{action: events.Subscription, status: status, recurring: true, facts: facts{
		subscription: specificationSubscription, writtenName: "",
	}}
}

const specificationSubscription = "object.subscription_id object.subscription.id object.subscription object.id " +
	"object.transaction.subscription.id object.transaction.subscription"

// specificationPaid says whether money has arrived, and how much.
var specificationPaid = facts{
	paid: "object.order.status object.last_transaction.status object.transaction.status",
	due:  "object.last_transaction.amount_paid object.order.amount_paid object.last_transaction.amount object.order.amount",
}

var specificationCheckout = meaning{
	action: events.Payment, decide: soldOrPaid,
	facts: specificationPaid.with(facts{status: "object.subscription.status", checkout: "object.id"}),
}

var specificationRenewal = meaning{
	action: events.Payment, recurring: true, decide: onlyInTrial,
	facts: specificationPaid.with(facts{subscription: specificationSubscription}),
}

// soldOrPaid is the rule of a checkout. One that starts a subscription and names no transaction sells it: the
// subscription.paid that follows names the transaction. The subscription can be in a trial.
func soldOrPaid(e *events.Event, b *values) {
	if e.SubscriptionID != "" && e.Transaction == "" {
		e.Action = events.Checkout
		if e.Status = b.word(status); e.Status == "" && !e.Unpaid {
			e.Status = events.Active
		}
	}
	onlyInTrial(e, b)
}

// onlyInTrial: a payment of 0 begins a trial only if its subscription is in one.
func onlyInTrial(e *events.Event, _ *values) {
	e.Trial = e.Trial && e.Action == events.Payment && e.Status == events.Trialing
}
