package providerapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/events"
)

const day = 24 * time.Hour

// dueBefore is how long before it is paid a payment may have been made: an invoice with 30 days to pay, or one whose
// charge is tried again for weeks.
const dueBefore = 35 * day

// objectsByProvider are the providers whose objects can be listed. Each is read with read-only rights.
var objectsByProvider = map[string]*objectsOf{
	// docs.stripe.com/api: lists begin with the newest. A list of subscriptions leaves out canceled ones unless it is
	// asked for them. An invoice has its payments only if they are asked for.
	"stripe": {
		lists: []objectList{
			{
				kind: Payments, path: "/v1/invoices", query: "status=paid&expand[]=data.payments", since: "created[gte]",
				seconds: true, margin: dueBefore,
			},
			{
				kind: Payments, path: "/v1/checkout/sessions", query: "status=complete", since: "created[gte]", seconds: true,
				margin: day,
			},
			{kind: Subscriptions, path: "/v1/subscriptions"},
			{kind: Refunds, path: "/v1/refunds", since: "created[gte]", seconds: true},
			{kind: Refunds, path: "/v1/disputes", since: "created[gte]", seconds: true},
		},
		finds: []objectFind{
			{kind: Payments, prefix: "in_", path: "/v1/invoices/ID", query: "expand[]=payments"},
			{kind: Payments, prefix: "cs_", path: "/v1/checkout/sessions/ID"},
			{kind: Payments, prefix: "pi_", path: "/v1/payment_intents/ID"},
			{kind: Payments, prefix: "ch_", path: "/v1/charges/ID"},
			{kind: Payments, prefix: "py_", path: "/v1/charges/ID"},
			{kind: Subscriptions, prefix: "sub_", path: "/v1/subscriptions/ID"},
			{kind: Refunds, prefix: "re_", path: "/v1/refunds/ID"},
			{kind: Refunds, prefix: "pyr_", path: "/v1/refunds/ID"},
			{kind: Refunds, prefix: "dp_", path: "/v1/disputes/ID"},
			{kind: Refunds, prefix: "du_", path: "/v1/disputes/ID"},
		},
		read: readStripe,
	},
	// developer.paddle.com/api-reference. A transaction that is completed is changed at that moment.
	"paddle": {
		lists: []objectList{
			{kind: Payments, path: "/transactions", query: "status=completed", since: "updated_at[GTE]"},
			{kind: Subscriptions, path: "/subscriptions", query: "status=active,trialing,past_due,paused"},
			{kind: Refunds, path: "/adjustments", query: "order_by=id[DESC]", newestFirst: true},
		},
		finds: []objectFind{
			{kind: Payments, prefix: "txn_", path: "/transactions", query: "id=ID", list: true},
			{kind: Subscriptions, prefix: "sub_", path: "/subscriptions", query: "id=ID", list: true},
			{kind: Refunds, prefix: "adj_", path: "/adjustments", query: "id=ID", list: true},
			{kind: Refunds, prefix: "txn_", path: "/adjustments", query: "transaction_id=ID", list: true}, // a chargeback's name
		},
		read: readPaddle,
	},
	// polarsource/polar, server/polar/{order,subscription,refund}/endpoints.py.
	"polar": {
		lists: []objectList{
			{
				kind: Payments, path: "/v1/orders/", since: "created_after", margin: dueBefore,
				query: "sorting=created_at&status=paid&status=refunded&status=partially_refunded",
			},
			{
				kind: Subscriptions, path: "/v1/subscriptions/",
				query: "sorting=started_at&status=active&status=trialing&status=past_due&status=unpaid&status=paused",
			},
			{kind: Refunds, path: "/v1/refunds/", query: "sorting=-created_at", newestFirst: true},
		},
		finds: []objectFind{
			{kind: Payments, path: "/v1/orders/ID"},
			{kind: Subscriptions, path: "/v1/subscriptions/ID"},
			{kind: Refunds, path: "/v1/refunds/", query: "id=ID", list: true},
		},
		read: readPolar,
	},
	// The npm package creem, src/funcs. Lists have neither a filter of times nor an order. A transaction says how much of
	// it was refunded, and there is no list of refunds. Only an event says that a subscription is expired.
	"creem": {
		neverSay: []string{events.Expired},
		lists: []objectList{
			{kind: Payments, path: "/v1/transactions/search"},
			{kind: Subscriptions, path: "/v1/subscriptions/search"},
		},
		finds: []objectFind{
			{kind: Payments, prefix: "tran_", path: "/v1/transactions", query: "transaction_id=ID"},
			{kind: Payments, prefix: "ord_", path: "/v1/transactions/search", query: "order_id=ID", list: true},
			{kind: Subscriptions, path: "/v1/subscriptions", query: "subscription_id=ID"},
			{kind: Refunds, prefix: "tran_", path: "/v1/transactions", query: "transaction_id=ID"},
		},
		read: readCreem,
	},
}

// kindOfObject is what a provider calls its objects, and the event that has such an object.
type kindOfObject struct {
	kind      Kind
	eventType string
}

var stripeObjects = map[string]kindOfObject{
	"invoice":          {Payments, "invoice.paid"},
	"checkout.session": {Payments, "checkout.session.completed"},
	"payment_intent":   {Payments, "payment_intent.succeeded"},
	"charge":           {Payments, "charge.succeeded"},
	"subscription":     {Subscriptions, "customer.subscription.updated"},
	"refund":           {Refunds, "refund.updated"},
	"dispute":          {Refunds, "charge.dispute.updated"},
}

func readStripe(raw json.RawMessage) []reading {
	var object struct{ Object string }
	_ = json.Unmarshal(raw, &object) // read has found an object
	of := stripeObjects[object.Object]
	return []reading{{
		kind: of.kind, body: fmt.Sprintf(`{"id":"-","type":%q,"created":0,"data":{"object":%s}}`, of.eventType, raw),
		made: "status_transitions.paid_at created", changed: "canceled_at ended_at current_period_start start_date",
	}}
}

func readPaddle(raw json.RawMessage) []reading {
	var object struct {
		Action *string // only an adjustment has one
		Origin *string // only a transaction has one
	}
	_ = json.Unmarshal(raw, &object)
	of := kindOfObject{Subscriptions, "subscription.updated"}
	switch {
	case object.Action != nil:
		of = kindOfObject{Refunds, "adjustment.updated"}
	case object.Origin != nil:
		of = kindOfObject{Payments, "transaction.completed"}
	}
	return []reading{{
		kind: of.kind, body: fmt.Sprintf(`{"event_id":"-","event_type":%q,"data":%s}`, of.eventType, raw),
		made: "billed_at created_at", changed: "updated_at",
	}}
}

func readPolar(raw json.RawMessage) []reading {
	var object struct {
		BillingReason *string `json:"billing_reason"` // only an order has one
		OrderID       *string `json:"order_id"`       // only a refund has one
	}
	_ = json.Unmarshal(raw, &object)
	of := kindOfObject{Subscriptions, "subscription.updated"}
	switch {
	case object.BillingReason != nil:
		of = kindOfObject{Payments, "order.paid"}
	case object.OrderID != nil:
		of = kindOfObject{Refunds, "refund.updated"}
	}
	return []reading{{
		kind: of.kind, body: fmt.Sprintf(`{"type":%q,"timestamp":"","data":%s}`, of.eventType, raw),
		made: "created_at", changed: "modified_at",
	}}
}

// readCreem reads a transaction as the payment of a checkout, and as all of its refunds together. What was not refunded
// has null or no amount.
func readCreem(raw json.RawMessage) []reading {
	var object struct {
		Object   string
		ID       string
		Order    any
		Amount   int64       `json:"amount"`
		Tax      int64       `json:"tax_amount"`
		Paid     json.Number `json:"amount_paid"`
		Refunded json.Number `json:"refunded_amount"`
	}
	_ = json.Unmarshal(raw, &object)
	const event = `{"id":"-","eventType":%q,"created_at":0,"object":%s}`
	if object.Object != "transaction" {
		return []reading{{
			kind: Subscriptions, body: fmt.Sprintf(event, "subscription.update", raw), made: "created_at",
			changed: "updated_at",
		}}
	}
	payment := fmt.Sprintf(`{"last_transaction":%s,"transaction":%[1]s}`, raw)
	refunds, _ := json.Marshal(map[string]any{"transaction": map[string]any{
		"id": object.ID, "order": object.Order, "amount_paid": cmp.Or(object.Paid,
			"0"), "refunded_amount": cmp.Or(object.Refunded, "0"),
	}})
	paid, _ := object.Paid.Int64()
	return []reading{
		{
			kind: Payments, body: fmt.Sprintf(event, "checkout.completed", payment), made: "created_at",
			amounts: []int64{object.Amount, paid - object.Tax}, // the order of a checkout has them without taxes
		},
		{kind: Refunds, body: fmt.Sprintf(event, "refund.created", refunds)},
	}
}
