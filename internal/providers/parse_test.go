package providers

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestParseRefusesWhatIsNotAnEvent(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty":                   ``,
		"not json":                `hello`,
		"an array":                `[]`,
		"broken off":              `{"id":"e","eventType":"t","object":{}`,
		"trailing data":           `{"id":"e","eventType":"t","object":{}} {}`,
		"invalid utf-8":           "{\"id\":\"e\xff\",\"eventType\":\"t\",\"object\":{}}",
		"no id":                   `{"eventType":"t","object":{}}`,
		"no type":                 `{"id":"e","object":{}}`,
		"no object":               `{"id":"e","eventType":"t"}`,
		"empty id":                `{"id":"","eventType":"t","object":{}}`,
		"null id":                 `{"id":null,"eventType":"t","object":{}}`,
		"numeric id":              `{"id":7,"eventType":"t","object":{}}`,
		"lone surrogate in id":    `{"id":"\ud800","eventType":"t","object":{}}`,
		"lone surrogate in type":  `{"id":"e","eventType":"\udfff","object":{}}`,
		"empty type":              `{"id":"e","eventType":"","object":{}}`,
		"object is an array":      `{"id":"e","eventType":"t","object":[]}`,
		"object is null":          `{"id":"e","eventType":"t","object":null}`,
		"id twice":                `{"id":"e","id":"e","eventType":"t","object":{}}`,
		"escaped id twice":        `{"id":"e","\u0069d":"e","eventType":"t","object":{}}`,
		"type twice":              `{"id":"e","eventType":"t","eventType":"t","object":{}}`,
		"object twice":            `{"id":"e","eventType":"t","object":{},"object":{}}`,
		"101 levels":              levels(101),
		"a hundred thousand open": strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(body))
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.NotEmpty(t, syntax.Detail)
		})
	}
}

func levels(n int) string {
	// The envelope and its object are two of them.
	return `{"id":"e","eventType":"t","object":{"x":` +
		strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`
}

func TestParseAcceptsWhatProvidersMaySend(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"plain":                         `{"id":"e","eventType":"t","object":{}}`,
		"100 levels":                    levels(100),
		"many shallow objects":          `{"id":"e","eventType":"t","object":{"x":[` + strings.Repeat("{},", 200) + `{}]}}`,
		"brackets in text":              `{"id":"e","eventType":"t","object":{"x":"` + strings.Repeat("[", 200) + `\""}}`,
		"nested duplicate keys":         `{"id":"e","eventType":"t","object":{"id":"a","id":"b"}}`,
		"lone surrogate further down":   `{"id":"e","eventType":"t","object":{"x":"\ud800"}}`,
		"1e400":                         `{"id":"e","eventType":"t","object":{"credits":1e400}}`,
		"U+0000":                        `{"id":"a\u0000b","eventType":"t\u0000","object":{}}`,
		"keys that differ only in case": `{"ID":"x","id":"e","eventType":"t","object":{}}`,
		"every field of a wrong type": `{"id":"e","eventType":"t","created_at":{},"object":{"metadata":7,
			"customer":[],"order":true,"subscription":1.5,"items":{},"credits":[1],"product":[[]]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			event, err := parse([]byte(body))
			require.NoError(t, err)
			require.Regexp(t, `^[\x21-\x7e]{1,200}$`, event.ID)
			require.Regexp(t, `^[\x21-\x7e]{1,200}$`, event.Type)
		})
	}
}

func TestTheLastOfARepeatedKeyCounts(t *testing.T) {
	t.Parallel()
	event, err := parse([]byte(`{"id":"e","eventType":"t","object":{
		"metadata":{"user_id":"first","kind":"pro"},
		"metadata":{"user_id":"a","user_id":"b"}}}`))
	require.NoError(t, err)
	require.Equal(t, "b", event.UserID)
	require.Empty(t, event.Kind, "nothing of the first object is left")
}

func TestABodyWithPlainFieldsIsRead(t *testing.T) {
	t.Parallel()
	event := Decode(events.Message{Provider: "provider", Seq: 7, ReceivedAt: at("2026-01-02T03:04:05.123456789Z"), Body: []byte(
		`{"id":"evt_1","eventType":"checkout.completed","object":{"provider_payment_id":"pay_1",
		  "metadata":{"kind":"one_time","user_id":12,"credits":"200","github":"@octo"}}}`)})
	require.Equal(t, events.Event{
		Seq: 7, ReceivedAt: at("2026-01-02T03:04:05.123456Z"), OccurredAt: at("2026-01-02T03:04:05.123456Z"),
		Provider: "provider", ID: "evt_1", Type: "checkout.completed", Action: events.Payment, Kind: "one_time", UserID: "12", Transaction: "pay_1",
		GitHubUser: "octo", Credits: events.Number{Value: 200, Present: true}, Key: "12",
	}, event)
	require.Equal(t, "pay_1", event.PaymentID())
}

func TestABodyOfTheProviderIsRead(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]events.Event{
		"checkout.json": {
			Provider: "provider", ID: "evt_checkout_1", Type: "checkout.completed", Action: events.Payment, Kind: "subscription", UserID: "u_7",
			SubscriptionID: "sub_1", Transaction: "tran_1", Order: "ord_1", Checkout: "ch_1", ProductKey: "team", Product: "prod_1", Mode: "test",
			Amount: events.Number{Value: 1210, Present: true}, Currency: "EUR", Units: events.Number{Value: 2, Present: true},
			OccurredAt: at("2026-01-02T10:00:00Z"), Key: "cust_1",
		},
		"paid.json": {
			Provider: "provider", ID: "evt_paid_1", Type: "subscription.paid", Action: events.Payment, Recurring: true, SubscriptionID: "sub_1",
			Transaction: "tran_1", Order: "ord_1", Product: "prod_1", Mode: "test",
			Amount: events.Number{Value: 1210, Present: true}, Currency: "EUR", AmountOfTransaction: true,
			Items:       []events.Item{{Units: events.Number{Value: 3, Present: true}}, {Units: events.Number{Value: 9, Present: true}}},
			PeriodStart: at("2026-01-02T09:59:58Z"), PeriodEnd: at("2026-02-02T09:59:58Z"),
			OccurredAt: at("2026-01-02T10:00:01Z"), Key: "cust_1",
		},
	} {
		body, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		want.Seq, want.ReceivedAt = 1, at("2026-01-02T10:00:02Z")
		require.Equal(t, want, Decode(events.Message{Provider: "provider", Seq: 1, Body: body, ReceivedAt: want.ReceivedAt}), file)
	}
}

func TestTextThatNoTableCanStoreSetsAFlagAndIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, user := range []string{`a\u0000b`, `\ud800`, strings.Repeat("x", MaxText+1)} {
		event, err := parse([]byte(`{"id":"e","eventType":"t","object":{"metadata":{"user_id":"` + user + `"}}}`))
		require.NoError(t, err)
		require.True(t, event.InvalidText)
		require.Empty(t, event.UserID)
	}
}

// A purchase does not depend on the id of its checkout.
func TestACheckoutThatNoTableCanStoreIsOnlyLeftOut(t *testing.T) {
	t.Parallel()
	for checkout, want := range map[string]string{
		`ch_1`: "ch_1", `a\u0000b`: "", `\ud800`: "", strings.Repeat("x", MaxText+1): "",
	} {
		event, err := parse([]byte(`{"id":"e","eventType":"checkout.completed","object":{"id":"` + checkout + `","order":"o"}}`))
		require.NoError(t, err)
		require.False(t, event.InvalidText)
		require.Equal(t, want, event.Checkout)
	}
}

func TestOnlyWholeNumbersOf64BitsAreAccepted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Number{
		`200`: {Value: 200, Present: true}, `"200"`: {Value: 200, Present: true},
		`200.0`: {Value: 200, Present: true}, `2e2`: {Value: 200, Present: true}, `-5`: {Value: -5, Present: true},
		`0.5`: {Present: true, Bad: true}, `1e400`: {Present: true, Bad: true}, `"ten"`: {Present: true, Bad: true},
		`99999999999999999999`: {Present: true, Bad: true}, `"0x10"`: {Present: true, Bad: true},
		`true`: {Present: true, Bad: true}, `[1]`: {Present: true, Bad: true}, `"NaN"`: {Present: true, Bad: true},
		`null`: {}, `""`: {},
		// No float64 has these.
		`9007199254740993.0`: {Value: 9007199254740993, Present: true}, `9223372036854775807.00`: {Value: math.MaxInt64, Present: true},
		`-9.223372036854775808e18`: {Value: math.MinInt64, Present: true}, `9223372036854775808.0`: {Present: true, Bad: true},
		`1000000000000.00001`: {Present: true, Bad: true}, `"1e-400"`: {Present: true, Bad: true}, `1e99999999999999999999`: {Present: true, Bad: true},
		`2.50e1`: {Value: 25, Present: true}, `100e-2`: {Value: 1, Present: true}, `-0.0e9`: {Present: true}, `0e-999999999999999999999`: {Present: true},
	} {
		event, err := parse([]byte(`{"id":"e","eventType":"t","object":{"credits":` + text + `}}`))
		require.NoError(t, err)
		require.Equal(t, want, event.Credits, text)
	}
}

func TestAMessageWithoutAnEventIsUnreadableAndHasAnID(t *testing.T) {
	t.Parallel()
	event := Decode(events.Message{Provider: "provider", Seq: 3, ID: "evt_x", Body: []byte("garbage")})
	require.True(t, event.Unreadable)
	require.Equal(t, "evt_x", event.ID)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, Decode(events.Message{Provider: "provider", Body: []byte("garbage")}).ID)
}

func TestABodyThatIsStoredInAnotherFormIsNotRead(t *testing.T) {
	t.Parallel()
	m := events.Message{Provider: "provider", Seq: 3, ID: "evt_x", Body: []byte(`{"id":"evt_1","eventType":"order.paid","object":{}}`)}
	require.False(t, Decode(m).Unreadable)
	for _, text := range []string{"1", "255", "256", "sealed", "\x00", " "} {
		m.Form = events.NewForm(text)
		event := Decode(m)
		require.True(t, event.Unreadable, text)
		require.Equal(t, "evt_x", event.ID, "what looks like the body is not believed")
		require.Empty(t, event.Type)
		require.Equal(t, events.ErrForm.Error(), WhyUnreadable(m))
	}
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}
