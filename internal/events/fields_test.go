package events

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type field struct {
	value  func(i int) string // what stands at the i-th place
	read   func(Event) string // empty where absent
	places string             // in order, below object
}

var fields = map[string]field{
	"kind": {text, func(e Event) string { return e.Kind }, "metadata.kind"},
	"user": {text, func(e Event) string { return e.UserID }, `metadata.user_id metadata.userId
		metadata.reference_id metadata.referenceId user_id userId`},
	"subscription id": {text, func(e Event) string { return e.SubscriptionID }, `subscription_id
		subscription.id subscription id transaction.subscription.id transaction.subscription`},
	"transaction": {text, func(e Event) string { return e.Transaction }, `provider_payment_id metadata.provider_payment_id
		order.transaction last_transaction_id last_transaction.id transaction.id transaction`},
	"order": {text, func(e Event) string { return e.Order }, `order.id order
		last_transaction.order.id last_transaction.order transaction.order.id transaction.order`},
	"product key": {text, func(e Event) string { return e.ProductKey }, `metadata.product_key metadata.key
		product.id product order.product.id order.product`},
	"GitHub user": {text, func(e Event) string { return e.GitHubUser }, `metadata.github_username
		metadata.githubUsername metadata.github_login metadata.github`},
	"mode":    {text, func(e Event) string { return e.Mode }, "mode"},
	"credits": {count, func(e Event) string { return digits(e.Credits) }, "metadata.credits credits"},
	"units":   {count, func(e Event) string { return digits(e.Units) }, "units items[0].units"},
	"amount": {count, func(e Event) string { return digits(e.Amount) }, `order.amount_paid
		last_transaction.amount_paid amount_paid amount`},
	"period's start": {day, func(e Event) string { return iso(e.PeriodStart) }, `current_period_start_date
		current_period_start last_transaction.period_start`},
	"period's end": {day, func(e Event) string { return iso(e.PeriodEnd) }, `current_period_end_date
		current_period_end last_transaction.period_end`},
}

func text(i int) string  { return "v" + strconv.Itoa(i) }
func count(i int) string { return strconv.Itoa(100 + i) }
func day(i int) string   { return iso(time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)) }

func digits(n Number) string {
	if !n.Present {
		return ""
	}
	return strconv.FormatInt(n.Value, 10)
}

func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func eachField(t *testing.T, check func(t *testing.T, f field, places []string)) {
	t.Helper()
	for name, f := range fields {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, f, strings.Fields(f.places))
		})
	}
}

func TestAFieldIsFoundAtEachOfItsPlaces(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, f field, places []string) {
		for i, place := range places {
			require.Equal(t, f.value(i), f.read(parsed(t, map[string]any{place: f.value(i)})), place)
		}
	})
}

func TestTheFirstPlaceWithAValueWins(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, f field, places []string) {
		for i, first := range places {
			for j, second := range places[i+1:] {
				// An order cannot be an id and an object at once.
				if strings.HasPrefix(first, second+".") {
					continue
				}
				found := func(value any) string {
					return f.read(parsed(t, map[string]any{first: value, second: f.value(i + 1 + j)}))
				}
				require.Equal(t, f.value(i), found(f.value(i)), "%s before %s", first, second)
				require.Equal(t, f.value(i+1+j), found(nil), "null at %s is absent", first)
				require.Equal(t, f.value(i+1+j), found(""), "an empty %s is absent", first)
			}
		}
	})
}

func TestAPlaceIsNamedInExactCase(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, f field, places []string) {
		for i, place := range places {
			require.Empty(t, f.read(parsed(t, map[string]any{strings.ToUpper(place): f.value(i)})), place)
			require.Empty(t, f.read(parsed(t, map[string]any{strings.ToUpper(place[:1]) + place[1:]: f.value(i)})), place)
		}
	})
}

func parsed(t *testing.T, values map[string]any) Event {
	t.Helper()
	object := map[string]any{}
	for place, value := range values {
		put(object, strings.Split(place, "."), value)
	}
	return parsedBody(t, "subscription.paid", object)
}

func parsedBody(t *testing.T, eventType string, object any) Event {
	t.Helper()
	body, err := json.Marshal(map[string]any{"id": "e", "eventType": eventType, "object": object})
	require.NoError(t, err)
	event, err := Parse(body)
	require.NoError(t, err)
	return event
}

func put(object map[string]any, path []string, value any) {
	key, isList := strings.CutSuffix(path[0], "[0]")
	if len(path) == 1 {
		object[key] = value
		return
	}
	inner, ok := object[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
	}
	put(inner, path[1:], value)
	object[key] = inner
	if isList {
		object[key] = []any{inner}
	}
}
