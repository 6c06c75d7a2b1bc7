package payapi

import (
	"encoding/json"
	"fmt"
	"time"
)

// Made is something that happened at a provider: the object that its lists have now, and the events that it sends.
type Made struct {
	List   string // the path of the list
	Object map[string]any
	At     time.Time
	Events []Sent
}

// Sent is an event about an object. Of some providers it has another shape than the object of a list.
type Sent struct {
	Type   string
	Object map[string]any
}

// Dialect is how a provider writes its objects, as its API reference documents them. The numbers make ids and users:
// u_1 has the payment and the subscription 1.
type Dialect struct {
	// Body is that of an event with this id.
	Body func(id, eventType string, at time.Time, object map[string]any) string

	Payment      func(n int, amount int64, at time.Time) Made
	Subscription func(n int, status string, until, at time.Time) Made
	Refund       func(of Made, n int, amount int64, at time.Time) Made
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func metadata(n int) object {
	return object{"user_id": fmt.Sprintf("u_%d", n), "kind": "one_time", "credits": 10}
}

func owner(n int) object { return object{"user_id": fmt.Sprintf("u_%d", n)} }

func rfc(t time.Time) string { return t.Format(time.RFC3339) }

func uuid(kind, n int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, n) }

// Dialects are those of the providers, by name.
var Dialects = map[string]*Dialect{"stripe": stripe, "paddle": paddle, "polar": polar, "creem": creem}

var stripe = &Dialect{
	Body: func(id, kind string, at time.Time, o map[string]any) string {
		return text(object{
			"id": id, "object": "event", "type": kind, "created": at.Unix(),
			"livemode": o["livemode"] != false, "data": object{"object": o},
		})
	},
	Payment: func(n int, amount int64, at time.Time) Made {
		id, intent := fmt.Sprintf("in_%d", n), fmt.Sprintf("pi_%d", n)
		invoice := object{
			"id": id, "object": "invoice", "status": "paid", "amount_due": amount, "amount_paid": amount, "total": amount, "subtotal": amount,
			"currency": "eur", "customer": fmt.Sprintf("cus_%d", n), "created": at.Add(-time.Hour).Unix(), "livemode": true,
			"status_transitions": object{"paid_at": at.Unix()}, "metadata": metadata(n), "lines": object{
				"object": "list",
				"data":   []any{},
			},
		}
		paid := object{
			"id": "inpay_" + id, "object": "invoice_payment", "invoice": id, "customer": invoice["customer"],
			"payment": object{"type": "payment_intent", "payment_intent": intent},
		}
		return Made{"/v1/invoices", invoice, at, []Sent{{"invoice.paid", invoice}, {"invoice_payment.paid", paid}}}
	},
	Subscription: func(n int, status string, until, at time.Time) Made {
		o := object{
			"id": fmt.Sprintf("sub_%d", n), "object": "subscription", "status": status, "customer": fmt.Sprintf("cus_%d", n),
			"created": at.Unix(), "metadata": owner(n), "cancel_at_period_end": false, "canceled_at": nil, "livemode": true,
			"items": object{"object": "list", "data": []any{object{
				"id": "si_1", "quantity": 1, "price": object{"id": "price_1", "product": "prod_1"},
				"current_period_start": until.AddDate(0, -1, 0).Unix(), "current_period_end": until.Unix(),
			}}},
		}
		if status == "canceled" {
			o["canceled_at"], o["ended_at"] = at.Unix(), at.Unix()
		}
		return Made{"/v1/subscriptions", o, at, []Sent{{"customer.subscription.updated", o}}}
	},
	Refund: func(of Made, n int, amount int64, at time.Time) Made {
		intent := of.Events[1].Object["payment"].(object)["payment_intent"]
		o := object{
			"id": fmt.Sprintf("re_%d", n), "object": "refund", "amount": amount, "currency": "eur",
			"payment_intent": intent,
			"status":         "succeeded", "created": at.Unix(),
		}
		return Made{"/v1/refunds", o, at, []Sent{{"refund.created", o}}}
	},
}

var paddle = &Dialect{
	Body: func(id, kind string, at time.Time, o map[string]any) string {
		return text(object{
			"event_id": id, "event_type": kind, "occurred_at": rfc(at), "notification_id": "ntf_" + id,
			"data": o,
		})
	},
	Payment: func(n int, amount int64, at time.Time) Made {
		o := object{
			"id": fmt.Sprintf("txn_%06d", n), "status": "completed", "origin": "api", "customer_id": fmt.Sprintf("ctm_%d",
				n), "currency_code": "EUR",
			"subscription_id": nil, "custom_data": metadata(n), "items": []any{}, "created_at": rfc(at), "billed_at": rfc(at), "updated_at": rfc(at),
			"details": object{"totals": object{"grand_total": fmt.Sprint(amount), "currency_code": "EUR"}},
		}
		return Made{"/transactions", o, at, []Sent{{"transaction.completed", o}}}
	},
	Subscription: func(n int, status string, until, at time.Time) Made {
		o := object{
			"id": fmt.Sprintf("sub_%06d", n), "status": status, "customer_id": fmt.Sprintf("ctm_%d",
				n), "custom_data": owner(n), "currency_code": "EUR",
			"created_at": rfc(at), "updated_at": rfc(at), "scheduled_change": nil, "canceled_at": nil, "items": []any{},
			"current_billing_period": object{"starts_at": rfc(until.AddDate(0, -1, 0)), "ends_at": rfc(until)},
		}
		if status == "canceled" {
			o["canceled_at"], o["current_billing_period"] = rfc(at), nil
		}
		return Made{"/subscriptions", o, at, []Sent{{"subscription.updated", o}}}
	},
	Refund: func(of Made, n int, amount int64, at time.Time) Made {
		o := object{
			"id": fmt.Sprintf("adj_%06d", n), "action": "refund", "status": "approved", "transaction_id": of.Object["id"], "currency_code": "EUR",
			"customer_id": of.Object["customer_id"], "totals": object{"total": fmt.Sprint(amount)}, "created_at": rfc(at), "updated_at": rfc(at),
		}
		return Made{"/adjustments", o, at, []Sent{{"adjustment.updated", o}}}
	},
}

var polar = &Dialect{
	Body: func(_, kind string, at time.Time, o map[string]any) string {
		return text(object{"type": kind, "timestamp": rfc(at), "data": o})
	},
	Payment: func(n int, amount int64, at time.Time) Made {
		o := object{
			"id": uuid(1, n), "status": "paid", "billing_reason": "purchase", "total_amount": amount, "applied_balance_amount": 0, "currency": "eur",
			"refunded_amount": 0, "refunded_tax_amount": 0, "created_at": rfc(at), "modified_at": nil, "metadata": metadata(n),
			"customer_id": uuid(4, n), "subscription_id": nil, "product_id": uuid(5, 1),
		}
		return Made{"/v1/orders/", o, at, []Sent{{"order.paid", o}}}
	},
	Subscription: func(n int, status string, until, at time.Time) Made {
		o := object{
			"id": uuid(2, n), "status": status, "current_period_start": rfc(until.AddDate(0, -1,
				0)), "current_period_end": rfc(until),
			"cancel_at_period_end": false, "canceled_at": nil, "created_at": rfc(at), "modified_at": rfc(at), "metadata": owner(n), "customer_id": uuid(4, n),
		}
		if status == "canceled" {
			o["canceled_at"], o["ended_at"] = rfc(at), rfc(at)
		}
		return Made{"/v1/subscriptions/", o, at, []Sent{{"subscription.updated", o}}}
	},
	Refund: func(of Made, n int, amount int64, at time.Time) Made {
		o := object{
			"id": uuid(3, n), "status": "succeeded", "amount": amount, "tax_amount": 0, "currency": "eur", "order_id": of.Object["id"],
			"customer_id": of.Object["customer_id"], "reason": "customer_request", "created_at": rfc(at), "modified_at": nil, "dispute": nil,
		}
		return Made{"/v1/refunds/", o, at, []Sent{{"refund.created", o}}}
	},
}

var creem = &Dialect{
	Body: func(id, kind string, at time.Time, o map[string]any) string {
		return text(object{"id": id, "eventType": kind, "created_at": at.UnixMilli(), "object": o})
	},
	Payment: func(n int, amount int64, at time.Time) Made {
		id, order, customer := fmt.Sprintf("tran_%d", n), fmt.Sprintf("ord_%d", n), fmt.Sprintf("cust_%d", n)
		o := object{
			"id": id, "object": "transaction", "amount": amount, "amount_paid": amount, "currency": "EUR", "type": "payment", "status": "paid",
			"refunded_amount": nil, "order": order, "customer": customer, "created_at": at.UnixMilli(), "mode": "prod",
		}
		checkout := object{
			"id": fmt.Sprintf("ch_%d", n), "object": "checkout", "status": "completed", "mode": "prod", "metadata": metadata(n),
			"order": object{
				"id": order, "customer": customer, "transaction": id, "amount": amount, "amount_paid": amount,
				"currency": "EUR", "status": "paid",
			},
		}
		return Made{"/v1/transactions/search", o, at, []Sent{{"checkout.completed", checkout}}}
	},
	Subscription: func(n int, status string, until, at time.Time) Made {
		o := object{
			"id": fmt.Sprintf("sub_%d", n), "object": "subscription", "status": status, "customer": fmt.Sprintf("cust_%d",
				n), "product": "prod_1",
			"current_period_start_date": rfc(until.AddDate(0, -1, 0)), "current_period_end_date": rfc(until), "canceled_at": nil,
			"created_at": rfc(at), "updated_at": rfc(at), "metadata": owner(n), "mode": "prod",
		}
		if status == "canceled" {
			o["canceled_at"] = rfc(at)
		}
		return Made{"/v1/subscriptions/search", o, at, []Sent{{"subscription.update", o}}}
	},
	// A refund is only in its transaction.
	Refund: func(of Made, n int, amount int64, at time.Time) Made {
		o := object{}
		for key, value := range of.Object {
			o[key] = value
		}
		o["refunded_amount"], o["status"] = amount, "partialRefund"
		refund := object{
			"id": fmt.Sprintf("ref_%d", n), "object": "refund", "status": "succeeded", "refund_amount": amount, "refund_currency": "EUR",
			"transaction": o, "customer": of.Object["customer"], "mode": "prod",
		}
		return Made{"/v1/transactions/search", o, at, []Sent{{"refund.created", refund}}}
	},
}
