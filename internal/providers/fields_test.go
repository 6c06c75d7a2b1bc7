package providers

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// The places of each field below object, in order.
var places = map[string]string{
	"Kind":            `metadata.kind`,
	"UserID":          `metadata.user_id metadata.userId metadata.reference_id metadata.referenceId user_id userId customer.external_id customer.metadata.user_id customer.metadata.userId`,
	"SubscriptionID":  `subscription_id subscription.id subscription id transaction.subscription.id transaction.subscription`,
	"Transaction":     `provider_payment_id order.transaction last_transaction_id last_transaction.id transaction.id transaction metadata.provider_payment_id`,
	"Order":           `order.id order last_transaction.order.id last_transaction.order transaction.order.id transaction.order`,
	"ProductKey":      `metadata.product_key metadata.key`,
	"Product":         `product.id product order.product.id order.product`,
	"GitHubUser":      `metadata.github_username metadata.githubUsername metadata.github_login metadata.github`,
	"Credits":         `metadata.credits credits`,
	"Units":           `units`,
	"Amount":          `last_transaction.amount_paid order.amount_paid amount_paid amount`,
	"PeriodStart":     `current_period_start_date current_period_start last_transaction.period_start`,
	"Reversal.Amount": `refund_amount amount`,
	"Reversal.Total":  `transaction.refunded_amount`,
	"Reversal.Paid":   `transaction.amount_paid`,
	"PeriodEnd":       `current_period_end_date current_period_end last_transaction.period_end`,
}

// value returns a text that is also a number and, in milliseconds, a time.
func value(i int) string { return strconv.Itoa(1767348000000 + i) }

// read returns the field as such a text; empty if it is absent.
func read(event events.Event, name string) string {
	field := reflect.ValueOf(event)
	for part := range strings.SplitSeq(name, ".") {
		field = field.FieldByName(part)
	}
	switch found := field.Interface().(type) {
	case events.Number:
		if found.Present {
			return strconv.FormatInt(found.Value, 10)
		}
	case time.Time:
		if !found.IsZero() {
			return strconv.FormatInt(found.UnixMilli(), 10)
		}
	case events.Mode:
		return string(found)
	case string:
		return found
	}
	return ""
}

// found reads the field of an event whose object has these values.
func found(t *testing.T, name string, values map[string]any) string {
	t.Helper()
	eventType := "subscription.paid"
	if strings.HasPrefix(name, "Reversal.") {
		eventType = "refund.created"
	}
	return read(withType(t, eventType, values), name)
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
			require.Equal(t, value(i), found(t, name, map[string]any{place: value(i)}), place)
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
				with := func(v any) string {
					return found(t, name, map[string]any{first: v, second: value(i + 1 + j)})
				}
				require.Equal(t, value(i), with(value(i)), "%s before %s", first, second)
				require.Equal(t, value(i+1+j), with(nil), "null at %s is absent", first)
				require.Equal(t, value(i+1+j), with(""), "an empty %s is absent", first)
			}
		}
	})
}

func TestKeysAreMatchedInExactCase(t *testing.T) {
	t.Parallel()
	eachField(t, func(t *testing.T, name string, places []string) {
		for i, place := range places {
			require.Empty(t, found(t, name, map[string]any{strings.ToUpper(place): value(i)}), place)
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
		event, err := parse([]byte(`{"id":"e","eventType":"` + eventType + `","object":{"id":"s1","metadata":{"provider_payment_id":"written"}}}`))
		require.NoError(t, err)
		require.Equal(t, want, event.Transaction, eventType)
	}
}

func TestAnAmountOfZeroCountsOnlyIfNothingIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values map[string]any
		want   events.Number
	}{
		"all is due":                {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.amount_paid": 0}, events.Number{}},
		"a discount of a part":      {map[string]any{"order.amount": 1000, "order.amount_due": 600, "order.discount_amount": 400, "order.amount_paid": 0}, events.Number{}},
		"a discount of the whole":   {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.discount_amount": 1000, "order.amount_paid": 0}, events.Number{Present: true}},
		"nothing is due":            {map[string]any{"order.amount": 1000, "order.amount_due": 0, "order.amount_paid": 0}, events.Number{Present: true}},
		"it is unknown what is due": {map[string]any{"order.amount_paid": 0}, events.Number{Present: true}},
		"something is paid":         {map[string]any{"order.amount": 1000, "order.amount_due": 1000, "order.amount_paid": 5}, events.Number{Value: 5, Present: true}},
		"the transaction says more": {map[string]any{"order.amount_due": 1000, "order.amount_paid": 0, "last_transaction.amount_paid": 1000}, events.Number{Value: 1000, Present: true}},
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

func TestEveryItemIsRead(t *testing.T) {
	t.Parallel()
	number := func(n int64) events.Number { return events.Number{Value: n, Present: true} }
	for items, want := range map[string][]events.Item{
		`[{"units":3},{"units":9},7]`: {{Units: number(3)}, {Units: number(9)}},
		`[{"product":"p1","price":"r1","units":2},{"product":{"id":"p2"},"price":{"id":"r2"}},{"product_id":"p3","price_id":"r3"}]`: {
			{Product: "p1", Price: "r1", Units: number(2)}, {Product: "p2", Price: "r2"}, {Product: "p3", Price: "r3"},
		},
		`[{"product":{"id":"p1"},"product_id":"p2","price":{"id":"r1"},"price_id":"r2"}]`: {{Product: "p1", Price: "r1"}},
		`[{"units":"many"}]`:                      {{Units: events.Number{Present: true, Bad: true}}},
		`[{"product":"a\u0000b","price":"r1"}]`:   {{Price: "r1"}},
		`[[{"units":1}],null,"x"]`:                nil,
		`{"units":1}`:                             nil,
		`[{}` + strings.Repeat(`,{}`, 200) + `]`:  make([]events.Item, maxElements),
		`[7` + strings.Repeat(`,{}`, 200) + `]`:   make([]events.Item, maxElements-1),
		`[{"product":"p1"},{"units":1}`:           nil, // and no event
		`[{"units":{"value":1},"product":["p"]}]`: {{Units: events.Number{Present: true, Bad: true}}},
	} {
		event, err := parse([]byte(around(`{"items":` + items + `}`)))
		if err == nil {
			require.False(t, event.InvalidText, items)
			require.True(t, event.Units == events.Number{}, items)
		}
		require.Equal(t, want, event.Items, items)
	}
}

func TestAModeIsLiveOrTest(t *testing.T) {
	t.Parallel()
	for mode, want := range map[any]events.Mode{
		"live": events.Live, "prod": events.Live, true: events.Live, "test": events.Test, "sandbox": events.Test, "LIVE": events.Test,
		"local": events.Test, 7: events.Test, false: events.Test, nil: "", "": "",
	} {
		require.Equal(t, want, with(t, map[string]any{"mode": mode}).Mode, mode)
	}
}

func with(t *testing.T, values map[string]any) events.Event {
	t.Helper()
	return withType(t, "subscription.paid", values)
}

func withType(t *testing.T, eventType string, values map[string]any) events.Event {
	t.Helper()
	object := map[string]any{}
	for place, v := range values {
		put(object, strings.Split(place, "."), v)
	}
	body, err := json.Marshal(map[string]any{"id": "e", "eventType": eventType, "object": object})
	require.NoError(t, err)
	event, err := parse(body)
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

func TestAPathCanNameTheFirstElementOfAnArray(t *testing.T) {
	t.Parallel()
	p := &Provider{
		name: "first", id: "id", kind: "type",
		facts:  facts{user: "list[0].user list", order: "list[0].order.id list[0].order"},
		items:  list{path: "list", product: "order"},
		events: map[string]meaning{"t": {action: events.Payment}},
	}
	p.compile()
	for body, want := range map[string][]string{
		`[{"user":"a","order":{"id":"o1"}},{"user":"b","order":"o2"}]`: {"a", "o1", " o2"},
		`[{"order":"o1"},{"user":"b"}]`:                                {"", "o1", "o1 "},
		`[[{"user":"a"}],{"user":"b"}]`:                                {"", "", ""},
		`["a"]`:                                                        {"", "", ""}, `[]`: {"", "", ""}, `null`: {"", "", ""}, `"text"`: {"text", "", ""},
		`{"[0]":{"user":"a"}}`:                              {"", "", ""},
		`[{"user":"a","order":"o1"}],"list":[{"user":"b"}]`: {"b", "", ""}, // the last of a repeated key
	} {
		event, err := p.Parse([]byte(`{"id":"e","type":"t","list":`+body+`}`), "")
		require.NoError(t, err, body)
		var products []string
		for _, item := range event.Items {
			products = append(products, item.Product)
		}
		require.Equal(t, want, []string{event.UserID, event.Order, strings.Join(products, " ")}, body)
	}
	_, err := p.Parse([]byte(`{"id":"e","type":"t","list":[{"user":"a"},{]}`), "")
	require.Error(t, err)
}
