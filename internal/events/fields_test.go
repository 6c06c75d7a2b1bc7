package events

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The places of each field below object, in order.
var places = map[string]string{
	"Kind":           `metadata.kind`,
	"UserID":         `metadata.user_id metadata.userId metadata.reference_id metadata.referenceId user_id userId customer.external_id customer.metadata.user_id customer.metadata.userId`,
	"SubscriptionID": `subscription_id subscription.id subscription id transaction.subscription.id transaction.subscription`,
	"Transaction":    `provider_payment_id order.transaction last_transaction_id last_transaction.id transaction.id transaction metadata.provider_payment_id`,
	"Order":          `order.id order last_transaction.order.id last_transaction.order transaction.order.id transaction.order`,
	"ProductKey":     `metadata.product_key metadata.key product.id product order.product.id order.product`,
	"Product":        `product.id product order.product.id order.product`,
	"GitHubUser":     `metadata.github_username metadata.githubUsername metadata.github_login metadata.github`,
	"Mode":           `mode`,
	"Credits":        `metadata.credits credits`,
	"Units":          `units items[0].units`,
	"Amount":         `last_transaction.amount_paid order.amount_paid amount_paid amount`,
	"PeriodStart":    `current_period_start_date current_period_start last_transaction.period_start`,
	"PeriodEnd":      `current_period_end_date current_period_end last_transaction.period_end`,
}

// value returns a text that is also a number and, in milliseconds, a time.
func value(i int) string { return strconv.Itoa(100 + i) }

// read returns the field as such a text; empty if it is absent.
func read(event Event, name string) string {
	switch found := reflect.ValueOf(event).FieldByName(name).Interface().(type) {
	case Number:
		if found.Present {
			return strconv.FormatInt(found.Value, 10)
		}
	case time.Time:
		if !found.IsZero() {
			return strconv.FormatInt(found.UnixMilli(), 10)
		}
	case string:
		return found
	}
	return ""
}

func eachField(t *testing.T, check func(t *testing.T, name string, places []string)) {
	t.Helper()
	for name, list := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, name, strings.Fields(list))
		})
	}
}

func TestAFieldIsFoundAtEachOfItsPlaces(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, name string, places []string) {
		for i, place := range places {
			require.Equal(t, value(i), read(with(t, map[string]any{place: value(i)}), name), place)
		}
	})
}

func TestTheFirstPlaceWithAValueWins(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, name string, places []string) {
		for i, first := range places {
			for j, second := range places[i+1:] {
				// An order cannot be an id and an object at once.
				if strings.HasPrefix(first, second+".") {
					continue
				}
				found := func(v any) string {
					return read(with(t, map[string]any{first: v, second: value(i + 1 + j)}), name)
				}
				require.Equal(t, value(i), found(value(i)), "%s before %s", first, second)
				require.Equal(t, value(i+1+j), found(nil), "null at %s is absent", first)
				require.Equal(t, value(i+1+j), found(""), "an empty %s is absent", first)
			}
		}
	})
}

func TestKeysAreMatchedInExactCase(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, name string, places []string) {
		for i, place := range places {
			require.Empty(t, read(with(t, map[string]any{strings.ToUpper(place): value(i)}), name), place)
		}
	})
}

func TestOnlyTheFirstMetadataObjectIsUsed(t *testing.T) {
	t.Parallel()
	all := []string{"metadata", "subscription.metadata", "checkout.metadata", "order.metadata"}
	for i, first := range all {
		values := map[string]any{first + ".kind": "pro", "user_id": "own"}
		for _, later := range all[i+1:] {
			values[later+".kind"], values[later+".user_id"] = "one_time", "other"
		}
		event := with(t, values)
		require.Equal(t, []string{"pro", "own"}, []string{event.Kind, event.UserID}, first)
	}
}

func TestMetadataNamesThePaymentOnlyIfNothingElseDoes(t *testing.T) {
	t.Parallel()
	event := with(t, map[string]any{"metadata.provider_payment_id": "written", "order": "o1"})
	require.Equal(t, []string{"", "o1"}, []string{event.Transaction, event.Order})
	event = with(t, map[string]any{"metadata.provider_payment_id": "written", "transaction": "t1"})
	require.Equal(t, "t1", event.Transaction)
	for eventType, want := range map[string]string{"subscription.active": "", "subscription.canceled": "", "checkout.completed": "written"} {
		event, err := Parse([]byte(`{"id":"e","eventType":"` + eventType + `","object":{"id":"s1","metadata":{"provider_payment_id":"written"}}}`))
		require.NoError(t, err)
		require.Equal(t, want, event.Transaction, eventType)
	}
}

func TestAnAmountOfZeroCountsOnlyIfNothingIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values map[string]any
		want   Number
	}{
		"all is due":                {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.amount_paid": 0}, Number{}},
		"a discount of a part":      {map[string]any{"order.amount": 1000, "order.amount_due": 600, "order.discount_amount": 400, "order.amount_paid": 0}, Number{}},
		"a discount of the whole":   {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.discount_amount": 1000, "order.amount_paid": 0}, Number{Present: true}},
		"nothing is due":            {map[string]any{"order.amount": 1000, "order.amount_due": 0, "order.amount_paid": 0}, Number{Present: true}},
		"it is unknown what is due": {map[string]any{"order.amount_paid": 0}, Number{Present: true}},
		"something is paid":         {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.amount_paid": 5}, Number{Value: 5, Present: true}},
		"the transaction says more": {map[string]any{"order.amount_due": 1000, "order.amount_paid": 0, "last_transaction.amount_paid": 1000}, Number{Value: 1000, Present: true}},
	} {
		require.Equal(t, c.want, with(t, c.values).Amount, name)
	}
}

func TestANumberInATextFieldKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	for _, literal := range []string{"7", "12345678901234567890", "1.50", "1e3", "-0"} {
		event := with(t, map[string]any{"metadata.user_id": json.Number(literal), "order": json.Number(literal)})
		require.Equal(t, []string{literal, literal}, []string{event.UserID, event.Order})
	}
}

func with(t *testing.T, values map[string]any) Event {
	t.Helper()
	object := map[string]any{}
	for place, v := range values {
		put(object, strings.Split(place, "."), v)
	}
	body, err := json.Marshal(map[string]any{"id": "e", "eventType": "subscription.paid", "object": object})
	require.NoError(t, err)
	event, err := Parse(body)
	require.NoError(t, err)
	return event
}

func put(object map[string]any, path []string, v any) {
	if len(path) == 1 {
		object[path[0]] = v
		return
	}
	inner, ok := object[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
	}
	put(inner, path[1:], v)
	object[path[0]] = inner
	if list, ok := strings.CutSuffix(path[0], "[0]"); ok {
		object[list] = []any{inner}
	}
}
