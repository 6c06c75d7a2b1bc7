package browser

import (
	"fmt"
	"strings"
	"time"
)

// Names of the shop's events. Every name of a person contains "ersonal", and no other text does.
const (
	packEvent, packPayment = "evt_pack", "pay_pack"
	buyer                  = "u_buyer"
	subscriber             = "u_subscriber"
	developer              = "u_developer"
	subscription           = "sub_monthly"
	hostileEvent           = "evt_hostile"
	hostileUser            = `"><script>document.title='taken'</script>`
	hostilePayment         = "pay_'hostile'/..?x=1#y"
	pendingPayment         = "pay_without_customer"
)

// people are values in the shop's bodies that a page without personal data has nowhere.
var people = []string{"personal.buyer@example.com", "Petra Personal", "personal-developer"}

// shop is what a small shop sells in some weeks.
func shop() []string {
	bodies := []string{
		event(packEvent, "checkout.completed", daysAgo(20), `"provider_payment_id": "`+packPayment+`", "amount_paid": 4900, "currency": "EUR",
			"customer": {"id": "cus_1", "email": "`+people[0]+`", "name": "`+people[1]+`"},
			"metadata": {"kind": "one_time", "user_id": "`+buyer+`", "credits": 200, "product_key": "pack_200"}`),
		event("evt_refund", "refund.created", daysAgo(18), `"refund_amount": 2450, "status": "succeeded",
			"transaction": {"id": "`+packPayment+`", "amount_paid": 4900, "currency": "EUR"}`),
		event("evt_licence", "checkout.completed", daysAgo(17), `"provider_payment_id": "pay_licence", "amount_paid": 19900, "currency": "EUR",
			"metadata": {"kind": "pro", "user_id": "`+developer+`", "github_username": "`+people[2]+`"}`),
		event("evt_no_kind", "checkout.completed", daysAgo(12), `"provider_payment_id": "pay_2", "metadata": {"kind": "gift", "user_id": "`+buyer+`"}`),
		event("evt_no_user", "checkout.completed", daysAgo(11), `"provider_payment_id": "`+pendingPayment+`", "metadata": {"kind": "one_time", "credits": 10}`),
		event("evt_no_credits", "checkout.completed", daysAgo(10), `"provider_payment_id": "pay_4", "metadata": {"kind": "one_time", "user_id": "`+buyer+`"}`),
		event("evt_too_many", "checkout.completed", daysAgo(9), `"provider_payment_id": "pay_5", "metadata": {"kind": "one_time", "user_id": "`+buyer+`", "credits": 123456789012345678901234567890}`),
		event("evt_other", "customer.created", daysAgo(8), `"id": "cus_1"`),
		hostileBody(),
	}
	for month := range 4 {
		bodies = append(bodies, event(fmt.Sprintf("evt_month_%d", month), "subscription.paid", daysAgo(95-30*month),
			fmt.Sprintf(`"id": %q, "last_transaction": {"id": "pay_month_%d", "amount_paid": 900, "currency": "EUR"},
			"current_period_start_date": %q, "current_period_end_date": %q,
			"metadata": {"kind": "subscription", "user_id": %q, "credits": 50, "product_key": "monthly"}`,
				subscription, month, daysAgo(95-30*month), daysAgo(65-30*month), subscriber)))
	}
	again := strings.Replace(bodies[0], packEvent, "evt_pack_again", 1) // the same payment
	return append(bodies, again, bodies[0])
}

// daysAgo is a time of the provider.
func daysAgo(days int) string { return time.Now().UTC().AddDate(0, 0, -days).Format(time.RFC3339) }

func event(id, kind, at, object string) string {
	return fmt.Sprintf(`{"id": %q, "eventType": %q, "created_at": %q, "object": {%s}}`, id, kind, at, object)
}

// pack is an event that gives credits.
func pack(id, user string, credits int) string {
	return event(id, "checkout.completed", daysAgo(1), fmt.Sprintf(`"provider_payment_id": "pay_of_%s", "metadata": {"kind": "one_time", "user_id": %q, "credits": %d}`, id, user, credits))
}

// hostileLines are lines of the hostile body, as its page must show them.
var hostileLines = []string{
	`"note": "<script>document.title='taken'</script><img src=x onerror=alert(1)>"`,
	`"number": 123456789012345678901234567890.10`,
	`"twice": 1`,
	`"twice": 2`,
	`</pre><h1>taken</h1>`,
	`\u202egnp.exe`, // as the body has it: six characters and no mark of direction
	`"O'Brien & \"Söhne\" <co>"`,
}

// turned is a mark that makes what follows read from the right to the left.
const turned = "\u202e"

// hostileBody has what an attacker, or a buyer with an odd name, may write.
func hostileBody() string {
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	return `{"id": "` + hostileEvent + `", "eventType": "checkout.completed", "created_at": "2026-03-06T09:00:00Z",
		"note": "<script>document.title='taken'</script><img src=x onerror=alert(1)>",
		"number": 123456789012345678901234567890.10, "twice": 1, "twice": 2,
		"markup": "</pre><h1>taken</h1>", "direction": "` + turned + `gnp.exe", "escaped": "\u202egnp.exe", "name": "O'Brien & \"Söhne\" <co>", "deep": ` + deep + `,
		"object": {"provider_payment_id": "` + hostilePayment + `", "metadata": {"kind": "one_time", "user_id": "\"><script>document.title='taken'</script>", "credits": 5}}}`
}
