package live_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// fieldsOfObject are the places in an event's object from which the rules take a value.
var fieldsOfObject = strings.Fields(`id mode status subscription subscription_id user_id userId provider_payment_id last_transaction_id credits units
	amount amount_paid refund_amount currency current_period_start current_period_end_date canceled_at product
	metadata.kind metadata.product_key metadata.credits metadata.user_id metadata.github metadata.provider_payment_id
	customer customer.id customer.external_id customer.name customer.email customer.metadata.user_id
	order order.id order.transaction order.amount_paid order.currency order.product
	last_transaction.id last_transaction.order last_transaction.amount_paid last_transaction.period_end
	transaction transaction.id transaction.order transaction.subscription transaction.amount_paid transaction.refunded_amount`)

// oddValues are values of a field, in JSON.
var oddValues = []string{
	`"\u0001u1"`, `"\u0000"`, `"\ud800"`, `"\ufffe\udbff\udfff"`, `"\u202eadmin\u200b"`, `"İı"`, `"` + strings.Repeat("é", 127) + `"`, `"` + strings.Repeat("İ", 128) + `"`,
	`" "`, `"'; drop table payment; --"`, `"{\"a\":null}"`, `"NULL"`, `"\\N"`, `"implicit:u1"`, `"merged"`, `"unknown"`, `"Succeeded"`, `"succeeded"`, `"SUBSCRIPTION"`, `"pro"`,
	`"github.com/%00"`, `"https://github.com/%ff%fe"`, `0`, `-1`, `-0`, `1e3`, `"1e18"`, `0.1`, `1e400`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`,
	`1000000000000`, `253402300799999`, `253402300800000`, `-62135596800000`, `"0001-01-01T00:00:01Z"`, `"9999-12-31T23:59:59.999999999Z"`, `"2026-02-30T00:00:00Z"`,
	`true`, `{}`, `[]`, `{"id":{"id":1}}`, `[null]`, `null`,
}

// A buyer writes some of the fields, and an event that the database refuses grants nothing.
func TestTheDatabaseRefusesNoValueOfAField(t *testing.T) {
	t.Parallel()
	types := []string{"checkout.completed", "subscription.paid", "subscription.update", "refund.created"}
	for i, rules := range []projections.Rules{fixture.AnyMode, fixture.Sold} {
		var bodies []string
		for _, field := range fieldsOfObject {
			for _, value := range oddValues {
				number := len(bodies)
				bodies = append(bodies, bodyWith(t, number, types[(number+number/len(types)+i)%len(types)], strings.Split(field, "."), value))
			}
		}
		ctx, s := fixture.Tables(t)
		fixture.Reset(ctx, t, s, rules)
		log, whole := fixture.OneFold(t, rules, bodies)
		for position := uint64(0); position < uint64(len(log)); {
			batch := log[position:min(position+1000, uint64(len(log)))]
			to := batch[len(batch)-1].Seq
			_, err := live.Apply(ctx, s, rules, batch, store.Advance{LogID: "log-1", From: fixture.From(0, position), To: to})
			require.NoError(t, err)
			position = to
		}
		fixture.RequireTablesOf(ctx, t, s, whole)
		fixture.RequireSound(ctx, t, s, len(log))
	}
}

// bodyWith is a body of a payment of its own, with another value in one field.
func bodyWith(t *testing.T, number int, eventType string, field []string, value string) string {
	t.Helper()
	object := map[string]any{
		"provider_payment_id": fmt.Sprintf("t%d", number),
		"metadata": map[string]any{
			"kind": []string{"one_time", "subscription", "pro"}[number%3], "key": []string{"pack", "yearly", "licence"}[number%3],
			"user_id": fmt.Sprintf("u%d", number%7), "credits": 5, "github": "ada",
		},
	}
	at := object
	for _, name := range field[:len(field)-1] {
		inner, _ := at[name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		at[name], at = inner, inner
	}
	at[field[len(field)-1]] = json.RawMessage(value)
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return fmt.Sprintf(`{"id":"e%d","eventType":%q,"object":%s}`, number, eventType, text)
}
