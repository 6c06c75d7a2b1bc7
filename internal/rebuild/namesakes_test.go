package rebuild

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// namesakes is a log whose users, payments, orders, subscriptions and events share
// their names, with texts, times and amounts at their limits.
func namesakes(t *rapid.T) []string {
	wide := rapid.IntRange(0, 2).Draw(t, "wide")
	words := []string{"a", "b", "c", "d"}
	if wide == 1 {
		words = append(words, "e", "f", "g", "h", "i", "j", "k", "l")
	}
	if wide == 2 {
		words = words[:2]
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		w := func(label string) string {
			if rapid.IntRange(0, 2).Draw(t, label+"?") == 0 {
				return "null"
			}
			s := rapid.SampledFrom(words).Draw(t, label)
			if rapid.IntRange(0, 30).Draw(t, label+"long") == 0 {
				s = strings.Repeat(s, 255)
			}
			return `"` + s + `"`
		}
		pick := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
		id := pick("idkind", "a", "b", "c") + fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "id"))
		if rapid.IntRange(0, 9).Draw(t, "idword") == 0 {
			id = rapid.SampledFrom(words).Draw(t, "idw")
		}
		eventType := pick("type", "checkout.completed", "checkout.completed", "subscription.paid", "subscription.paid", "subscription.paid", "customer.created",
			"refund.created", "refund.created", "dispute.created", "subscription.update", "subscription.active", "subscription.canceled", "subscription.past_due")
		object := []string{
			`"metadata":{"user_id":` + w("user") + `,` + pick("kind", `"kind":"one_time"`, `"kind":"subscription"`, `"kind":"pro"`, `"kind":null`, `"kind":"pro"`) + `,` +
				pick("product", `"key":"pack"`, `"key":"yearly"`, `"key":"licence"`, `"key":"none"`, `"key":null`) + `,` +
				pick("credits", `"credits":10`, `"credits":7`, `"credits":null`, `"credits":1000000000000`, `"credits":1`) + `,"github_username":` + w("gh") + `}`,
			`"order":` + w("order"),
			`"subscription":` + w("subscription"),
			`"transaction":` + pick("txkind", w("tx"), `{"id":`+w("txid")+`,"amount_paid":`+pick("paid", "5", "0", "9223372036854775807", "null")+`,"refunded_amount":`+pick("refd", "2", "5", "null", "0")+`}`),
			pick("amount", `"refund_amount":1`, `"refund_amount":0`, `"refund_amount":null`, `"refund_amount":9223372036854775807`, `"refund_amount":100`),
			pick("status", `"status":"active"`, `"status":"pending"`, `"status":"succeeded"`, `"status":null`),
			pick("period", `"current_period_end":"2026-02-01T00:00:00.123456789Z"`, `"current_period_end":null`, `"current_period_end":"9999-12-31T23:59:59.999999999Z"`, `"current_period_start":"0001-01-01T00:00:00Z"`, `"current_period_start":"1969-12-31T23:59:59.9999999Z"`),
		}
		created := pick("created", `1767340000000`, `1767340001000`, `1767340002000`, `1767340003000`, `"2026-01-02T07:46:40.0000015Z"`, `0`, `-1`, `"0001-01-01T00:00:00Z"`)
		return fmt.Sprintf(`{"id":%q,"eventType":%q,"created_at":%s,"object":{%s}}`, id, eventType, created, strings.Join(object, ","))
	}), 1, 60).Draw(t, "bodies")
}
