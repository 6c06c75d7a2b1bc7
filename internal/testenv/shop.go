package testenv

import (
	"fmt"
	"strconv"
	"time"
)

// ShopEvent returns the body of the i-th event of a shop, always the same for the same i,
// 1.5 KB on average. Of every ten events, three are about a new subscription, two are
// renewals of earlier customers, two are single purchases, one changes an older
// subscription, and one is a refund or a renewal. The last one has a type without an
// effect; every seventh of these repeats the event before it.
func ShopEvent(i int) string {
	k := i / 10
	s := sale{event: fmt.Sprintf("%020d", i*7919), number: strconv.Itoa(i), at: shopOpens.Add(time.Duration(i) * 7 * time.Second)}.of(k)
	switch i % 10 {
	case 0:
		return s.checkout("subscription", fmt.Sprintf("tran_first_%d", k), fmt.Sprintf("ord_first_%d", k))
	case 1:
		return s.subscription("subscription.active", "active", fmt.Sprintf("tran_first_%d", k))
	case 2:
		return s.subscription("subscription.paid", "active", fmt.Sprintf("tran_first_%d", k))
	case 3, 6:
		kind := "one_time"
		if k%5 == 0 && i%10 == 6 {
			kind = "pro"
		}
		return s.checkout(kind, fmt.Sprintf("tran_once_%d", i), fmt.Sprintf("ord_once_%d", i))
	case 4, 5:
		return s.of(k-k%1000/2-10*(i%10)).subscription("subscription.paid", "active", fmt.Sprintf("tran_again_%d", i))
	case 7:
		change := []string{"subscription.update", "subscription.past_due", "subscription.scheduled_cancel", "subscription.canceled"}[k%4]
		return s.of(k-700).subscription(change, change[len("subscription."):], "")
	case 8:
		if k%3 == 0 {
			return s.of(k - 300).refund(fmt.Sprintf("tran_once_%d", max(0, k-300)*10+3))
		}
		return s.of(k-400).subscription("subscription.paid", "active", fmt.Sprintf("tran_again_%d", i))
	default:
		if k%7 == 0 {
			return ShopEvent(i - 1)
		}
		return s.body("customer.updated", `"object":"customer",`+s.party())
	}
}

var shopOpens = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sale is what one event is about.
type sale struct {
	event    string // the event's id, without its prefix, as the two below
	number   string // of the checkout or refund
	customer string // of the customer, the user and the subscription
	at       time.Time
}

// of returns the same event about another customer.
func (s sale) of(customer int) sale {
	s.customer = strconv.Itoa(max(0, customer))
	return s
}

func (s sale) body(eventType, object string) string {
	return fmt.Sprintf(`{"id":"evt_%s","eventType":%q,"created_at":%d,"object":{%s,"mode":"prod"}}`, s.event, eventType, s.at.UnixMilli(), object)
}

func (s sale) checkout(kind, transaction, order string) string {
	started := ""
	if kind == "subscription" {
		started = fmt.Sprintf(`"subscription":{"id":"sub_%s","object":"subscription","product":"prod_basic","customer":"cust_%s",`+
			`"collection_method":"charge_automatically","status":"active","canceled_at":null,"created_at":%q,"updated_at":%q,"metadata":%s,"mode":"prod"},`,
			s.customer, s.customer, s.iso(0), s.iso(0), s.metadata(kind))
	}
	return s.body("checkout.completed", fmt.Sprintf(`"id":"ch_%s","object":"checkout","request_id":"r%s","order":{"id":%q,"customer":"cust_%s","product":"prod_basic",`+
		`"amount":1000,"amount_paid":1210,"currency":"EUR","status":"paid","type":"recurring","transaction":%q,"created_at":%q,"updated_at":%q,"mode":"prod"},%s%s`+
		`"custom_fields":[],"status":"completed","metadata":%s,%s`,
		s.number, s.number, order, s.customer, transaction, s.iso(0), s.iso(0), product, started, s.metadata(kind), s.party()))
}

func (s sale) subscription(eventType, status, transaction string) string {
	last := ""
	if transaction != "" {
		last = fmt.Sprintf(`"last_transaction_id":%q,"last_transaction_date":%q,`, transaction, s.iso(0))
	}
	return s.body(eventType, fmt.Sprintf(`"id":"sub_%s","object":"subscription",%s%s,"collection_method":"charge_automatically","status":%q,%s`+
		`"next_transaction_date":%q,"current_period_start_date":%q,"current_period_end_date":%q,"canceled_at":null,"created_at":%q,"updated_at":%q,"metadata":%s`,
		s.customer, product, s.party(), status, last, s.iso(30), s.iso(0), s.iso(30), s.iso(0), s.iso(0), s.metadata("subscription")))
}

func (s sale) refund(transaction string) string {
	return s.body("refund.created", fmt.Sprintf(`"id":"ref_%s","object":"refund","status":"succeeded","refund_amount":605,"refund_currency":"EUR",`+
		`"reason":"requested_by_customer","transaction":{"id":%q,"object":"transaction","amount":1000,"amount_paid":1210,"currency":"EUR","type":"invoice",`+
		`"tax_country":"NL","tax_amount":210,"status":"refunded","refunded_amount":605,"description":"Payment","created_at":%d,"mode":"prod"},%s%s`,
		s.number, transaction, s.at.UnixMilli(), product, s.party()))
}

const product = `"product":{"id":"prod_basic","name":"Basic","description":"A product with a description of some length, as shops have them","image_url":null,` +
	`"price":1000,"currency":"EUR","billing_type":"recurring","billing_period":"every-month","status":"active","tax_mode":"exclusive","tax_category":"saas",` +
	`"default_success_url":"","created_at":"2025-10-11T11:50:00.182Z","updated_at":"2025-10-11T11:50:00.182Z","mode":"prod"},`

func (s sale) party() string {
	return fmt.Sprintf(`"customer":{"id":"cust_%s","object":"customer","email":"customer%s@example.com","name":"Customer %s","country":"NL",`+
		`"address":{"line1":"Keizersgracht 123","line2":"third floor, at the back of the courtyard","city":"Amsterdam","postal_code":"1015 CJ","country":"NL"},`+
		`"phone":"+31 20 555 0123","tax_ids":[],"preferred_locales":["nl-NL","en-GB"],"created_at":%q,"updated_at":%q,"mode":"prod"}`, s.customer, s.customer, s.customer, s.iso(0), s.iso(0))
}

func (s sale) metadata(kind string) string {
	return fmt.Sprintf(`{"kind":%q,"user_id":"user_%s","key":"basic","credits":100,"github_username":"octo-%s","campaign":"autumn"}`, kind, s.customer, s.customer)
}

func (s sale) iso(days int) string {
	return s.at.AddDate(0, 0, days).Format("2006-01-02T15:04:05.000Z")
}
